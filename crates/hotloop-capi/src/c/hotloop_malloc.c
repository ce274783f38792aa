/*
 * Counts the allocations of a program, per scope. Compile this file into the program (not into a shared library):
 *
 *     g++ -O2 main.cpp hotloop_malloc.c -lhotloop
 *
 * It takes the place of malloc, free and their kin, hands every call on to glibc, and tells Hotloop the usable size of
 * the block; operator new, strdup and the like go through malloc and are seen as well. What Hotloop allocates for
 * itself is not counted. It does not go together with -static: glibc's own malloc cannot be left out there.
 *
 * Three things could go wrong in a malloc hook, and why they do not here:
 * - recursion: `inside` is set while a size is reported, so an allocation made by the reporting is only passed on;
 * - no thread-local storage yet: nothing is reported, and no thread-local variable touched, before the constructor ran;
 * - deadlock: no lock is taken here, and Hotloop's counters are thread-local.
 */
#ifndef HOTLOOP_OFF

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

#include "hotloop.h"

#ifndef __GLIBC__
#error "hotloop_malloc.c needs glibc"
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void *__libc_valloc(size_t size);
extern void *__libc_pvalloc(size_t size);
extern void __libc_free(void *block);

static int ready;
static __thread int inside __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void install(void) {
    hotloop_malloc_installed();
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

/* Whether this call is to be reported: recording, set up, and not made by a report. */
static inline int counts(void) { return HOTLOOP_IS_ACTIVE() && __atomic_load_n(&ready, __ATOMIC_ACQUIRE) && !inside; }

static inline void *allocated(void *block) {
    if (block != NULL && counts()) {
        inside = 1;
        hotloop_count_alloc(malloc_usable_size(block));
        inside = 0;
    }
    return block;
}

void *malloc(size_t size) { return allocated(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return allocated(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return allocated(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return allocated(__libc_memalign(alignment, size)); }
void *valloc(size_t size) { return allocated(__libc_valloc(size)); }
void *pvalloc(size_t size) { return allocated(__libc_pvalloc(size)); }

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    int before = errno; /* POSIX reports by the result alone */
    void *block = allocated(__libc_memalign(alignment, size));
    errno = before;
    if (block == NULL) return ENOMEM;
    *out = block;
    return 0;
}

void free(void *block) {
    if (block != NULL && counts()) {
        inside = 1;
        hotloop_count_free(malloc_usable_size(block));
        inside = 0;
    }
    __libc_free(block);
}

void *realloc(void *block, size_t size) {
    if (block == NULL) return malloc(size);
    if (!counts()) return __libc_realloc(block, size);
    size_t before = malloc_usable_size(block);
    void *moved = __libc_realloc(block, size);
    inside = 1;
    if (moved != NULL)
        hotloop_count_realloc(before, malloc_usable_size(moved));
    else if (size == 0) /* glibc: realloc to nothing is free */
        hotloop_count_free(before);
    inside = 0;
    return moved;
}

#ifdef __cplusplus
}
#endif

#endif /* HOTLOOP_OFF */
