/*
 * Hotloop for C: where the time and the memory of a program go.
 *
 *     #include <hotloop.h>
 *
 *     void forward(void) {
 *         HOTLOOP_SCOPE("forward");           // closed at the end of the block (GCC, Clang)
 *         ...
 *     }
 *     int main(void) {
 *         hotloop_start(NULL);
 *         forward();
 *         hotloop_print_report(20);
 *     }
 *
 * Nothing here fails, throws or aborts: null pointers, scopes closed twice and the like are ignored. All functions may
 * be called from every thread. Scopes and attachments belong to the thread that opened them.
 *
 * A program can be measured without any call: `hotloop run -- PROGRAM` sets these variables, and so may you.
 *     HOTLOOP_SNAPSHOT_DIR  a folder. The program records from before main on, with HOTLOOP_CONFIG_DEFAULT, and writes
 *                           `<process id>.json`, as hotloop_snapshot_json gives it, when it returns from main or calls
 *                           exit. Nothing is written by abort, _exit, a signal, or a child of fork.
 *     HOTLOOP_TIMELINE      keep the last calls of each thread in their order too: so many. Kept by these means alone.
 *     HOTLOOP_BUDGET        as in hotloop_config, in percent; 0: time every call
 * hotloop_start, hotloop_stop and hotloop_reset mean what they always do. Set-user-ID and set-group-ID programs ignore the
 * variables.
 *
 * A child of fork records nothing if its parent has used the profiler before: another thread of the parent may have held
 * a lock, which nobody releases in the child. There no function waits: hotloop_start, hotloop_stop, hotloop_reset and
 * hotloop_print_report return at once, results are empty, hotloop_named_site returns NULL. The parent goes on as before. A child
 * of a parent that has not used the profiler yet may use it.
 *
 * With HOTLOOP_OFF defined the macros vanish, the functions do nothing, and the library need not be linked.
 * C++ programs include <hotloop.hpp> instead.
 */
#ifndef HOTLOOP_H
#define HOTLOOP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The place in the source where a scope is opened. Make it static; the macros do. */
typedef struct hotloop_site {
    const char *name;     /* what the report shows; NULL: named after `function` */
    const char *function; /* __PRETTY_FUNCTION__, __func__ or __FUNCSIG__; trimmed to `ns::Class::method` */
    const char *file;
    uint32_t line;
    void *handle; /* set by the library at the first use; start with NULL */
} hotloop_site;

/* An open scope; raw is 0 when nothing is being recorded. */
typedef struct hotloop_scope {
    uint64_t raw;
} hotloop_scope;

/* The scope that a thread was in, to be handed to another thread. All zero: no scope. */
typedef struct hotloop_link {
    uint64_t opaque[2];
} hotloop_link;

/* How to measure. Begin with HOTLOOP_CONFIG_DEFAULT, then change fields. */
typedef struct hotloop_config {
    size_t size;     /* sizeof(hotloop_config): no more than that is read, and fields beyond it have their defaults, so that
                        programs built with an older header go on working */
    int percentiles; /* keep p50, p90, p99 of every scope */
    int allocations; /* count allocations, if hotloop_malloc.c is part of the program */
    double budget;   /* share of a thread's CPU time that measuring may take; very frequent scopes are then timed by
                        sampling and still counted exactly. 0: time every call */
} hotloop_config;

#define HOTLOOP_CONFIG_DEFAULT {sizeof(hotloop_config), 1, 1, 0.02}

#define HOTLOOP_NO_INDEX UINT64_MAX
/* Calls whose index is negative, or beyond those that are kept apart, share one row. */
#define HOTLOOP_OTHER_INDEX (UINT64_MAX - 1)
#define HOTLOOP_NO_PARENT ((size_t)-1)

/* One scope of the results. Times are nanoseconds. */
typedef struct hotloop_entry {
    const char *name;
    const char *file;
    uint32_t line;
    uint32_t depth;       /* 0: a root */
    uint64_t index;       /* HOTLOOP_NO_INDEX: none was given; HOTLOOP_OTHER_INDEX: the row that several share */
    size_t parent;        /* position in the same array; HOTLOOP_NO_PARENT: a root */
    uint64_t calls;       /* exact, also under a budget */
    uint64_t timed_calls; /* those of them that read the clock */
    uint64_t total_ns;    /* with what it called, and with what attached threads did for it */
    uint64_t self_ns;     /* without */
    uint64_t min_ns;
    uint64_t max_ns;
    double mean_ns; /* of a call on its own thread, without what attached threads did for it */
    int64_t p50_ns; /* -1: not measured */
    int64_t p90_ns;
    int64_t p99_ns;
    uint64_t allocs; /* made by the scope itself, on the thread that was in it */
    uint64_t alloc_bytes; /* by hotloop_malloc.c: usable sizes of blocks, so that malloc(100) may count 104 */
    uint64_t frees;
    uint64_t free_bytes;
    uint64_t reallocs;
    uint64_t peak_live_bytes;
    uint64_t flops; /* work declared with hotloop_add_work */
    uint64_t bytes;
    uint64_t tokens;
    int64_t total_se_ns; /* standard error of total_ns; -1: there is no budget. The 95 % interval is +-1.96 of it */
    int64_t self_se_ns;  /* the same of self_ns; also where only scopes below were sampled */
    uint64_t waiting_ns; /* in it and all below, threads were ready to run but had no CPU: in no other time here */
} hotloop_entry;

#ifndef HOTLOOP_OFF

/* Starts to record; NULL: HOTLOOP_CONFIG_DEFAULT. Called on the main thread, it names that thread "main" in reports,
 * unless hotloop_name_thread named it before (Linux). */
void hotloop_start(const hotloop_config *config);
/* Stops recording; what was recorded stays readable. Scopes that are open are still closed and counted. */
void hotloop_stop(void);
/* Forgets what was recorded. */
void hotloop_reset(void);
/* Like hotloop_start with the configuration last used, and hotloop_stop; no effect when it is so already. */
void hotloop_set_enabled(int enabled);
int hotloop_is_enabled(void);

/* Opens a scope on this thread. */
hotloop_scope hotloop_enter(hotloop_site *site);
/* The same with a number, such as a layer: each index up to INT64_MAX is a row of its own. Larger ones, which is what negative
 * numbers become, share one; but UINT64_MAX, which is what -1 becomes, is HOTLOOP_NO_INDEX. */
hotloop_scope hotloop_enter_index(hotloop_site *site, uint64_t index);
/* The same for a scope that ends with a function: its frame and where it returns to. The macros call it, so that a scope
 * which is left by longjmp is ended when the next one is opened. */
hotloop_scope hotloop_enter_frame(hotloop_site *site, uint64_t index, const void *frame, const void *caller);
/* Closes a scope, and with it the scopes opened inside it that are still open. */
void hotloop_exit(hotloop_scope scope);
/* Declares work done in a scope that is open, so that the report can show rates. */
void hotloop_add_work(hotloop_scope scope, uint64_t flops, uint64_t bytes, uint64_t tokens);
/* A site for a name that only the running program knows; the same name gives the same site. It costs a lock and a
 * lookup and is never freed: keep the result, and keep the number of names small.
 *     hotloop_scope scope = hotloop_enter(hotloop_named_site(name));
 *     ...
 *     hotloop_exit(scope); */
hotloop_site *hotloop_named_site(const char *name);

/* Prints the n hottest scopes to standard output. */
void hotloop_print_report(size_t n);
/* The same as text; free it with hotloop_free_string. */
char *hotloop_report(size_t n);
/* All that was recorded, as JSON for other programs; free it with hotloop_free_string. */
char *hotloop_snapshot_json(void);
void hotloop_free_string(char *text);

/* The call tree, parents before children. Returns the number of entries; free with hotloop_free_results. May be called
 * while scopes are being recorded. */
size_t hotloop_results(hotloop_entry **entries, size_t *len);
/* One entry per name, summed over the tree, the hottest first; parents are not set. */
size_t hotloop_results_by_name(hotloop_entry **entries, size_t *len);
void hotloop_free_results(hotloop_entry *entries);
/* How long has been recorded. */
uint64_t hotloop_wall_ns(void);

/* Names this thread in reports. */
void hotloop_name_thread(const char *name);
/* The scope this thread is in. */
hotloop_link hotloop_current(void);
/* Lets the scopes that this thread opens from now on hang below `link`: for the workers of a pool. */
void hotloop_attach(hotloop_link link);
/* Undoes this thread's last hotloop_attach. */
void hotloop_detach(void);

/* For hotloop_malloc.c and for allocators of your own: what this thread allocated and freed. */
void hotloop_malloc_installed(void);
void hotloop_count_alloc(size_t bytes);
void hotloop_count_free(size_t bytes);
void hotloop_count_realloc(size_t old_bytes, size_t new_bytes);

/* Not 0 while scopes are recorded. Read by the macros, so that a scope costs a load and a branch when they are not. */
#if defined(__GNUC__)
extern uint32_t hotloop_active;
#define HOTLOOP_IS_ACTIVE() (__atomic_load_n(&hotloop_active, __ATOMIC_RELAXED) != 0)
#else
#define HOTLOOP_IS_ACTIVE() 1
#endif

#else
#include "hotloop_off.h"
#endif /* HOTLOOP_OFF */

#ifdef __cplusplus
}
#endif

/* Helpers of the macros. Two levels, so that __COUNTER__ is expanded before it is pasted. */
#define HOTLOOP_PASTE_(a, b) a##b
#define HOTLOOP_PASTE(a, b) HOTLOOP_PASTE_(a, b)
#ifdef __COUNTER__
#define HOTLOOP_UNIQUE __COUNTER__
#else
#define HOTLOOP_UNIQUE __LINE__
#endif

#if !defined(__cplusplus) && defined(__GNUC__)

/* All negative numbers are one index, -1 too, which would be HOTLOOP_NO_INDEX as an unsigned number. */
static inline uint64_t hotloop_index_(uint64_t number, int is_signed) {
    return is_signed && number > (uint64_t)INT64_MAX ? HOTLOOP_OTHER_INDEX : number;
}
#define HOTLOOP_INDEX_(number) hotloop_index_((uint64_t)(number), (__typeof__((number) + 0)) - 1 < 1)

static inline void hotloop_scope_cleanup(hotloop_scope *scope) {
    if (scope->raw != 0) hotloop_exit(*scope);
}

#ifndef HOTLOOP_OFF
#define HOTLOOP_OPEN_(id, scope_name, scope_function, number)                                                          \
    static hotloop_site HOTLOOP_PASTE(hotloop_site_, id) = {scope_name, scope_function, __FILE__, __LINE__, NULL};     \
    __attribute__((cleanup(hotloop_scope_cleanup), unused)) hotloop_scope HOTLOOP_PASTE(hotloop_scope_, id) = {0};     \
    if (HOTLOOP_IS_ACTIVE())                                                                                           \
        HOTLOOP_PASTE(hotloop_scope_, id) =                                                                            \
            hotloop_enter_frame(&HOTLOOP_PASTE(hotloop_site_, id), (uint64_t)(number), __builtin_frame_address(0),     \
                                __builtin_return_address(0))
#else
#define HOTLOOP_OPEN_(id, scope_name, scope_function, number) ((void)0)
#endif

/* Profiles the rest of the block. The name is a string literal; anything else does not compile ("expected '}'"). A name
 * known at run time goes through hotloop_named_site. */
#define HOTLOOP_SCOPE(name) HOTLOOP_OPEN_(HOTLOOP_UNIQUE, "" name, NULL, HOTLOOP_NO_INDEX)
/* The same with a number. Each index is a row of its own, but negative ones share one: HOTLOOP_OTHER_INDEX. */
#define HOTLOOP_SCOPE_INDEX(name, index) HOTLOOP_OPEN_(HOTLOOP_UNIQUE, "" name, NULL, HOTLOOP_INDEX_(index))
/* The same, named after the function. */
#define HOTLOOP_FUNCTION() HOTLOOP_OPEN_(HOTLOOP_UNIQUE, NULL, __func__, HOTLOOP_NO_INDEX)

#endif

#endif /* HOTLOOP_H */
