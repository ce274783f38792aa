/* What the programs of the trials share: work that takes time in proportion to its steps, arguments, files, chance. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A chain in which every step waits for the one before, about 1 ns each. */
static inline void work(uint64_t steps) {
    uint64_t state = 1;
    for (uint64_t step = 0; step < steps; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        /* Keeps the compiler from computing several steps at once. */
        __asm__ volatile("" : "+r"(state));
    }
}

static inline void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : "wrong argument");
    exit(1);
}

/* The argument at a place, as a whole number. */
static inline uint64_t number(int count, char **arguments, int place) {
    char *end = NULL;
    errno = 0;
    if (place >= count) fail("argument missing");
    uint64_t value = strtoull(arguments[place], &end, 10);
    if (errno || end == arguments[place] || *end) fail(arguments[place]);
    return value;
}

/* Reads the file as text. It has to be there: an empty one is the start. */
static inline void read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    size_t length = fread(text, 1, size - 1, file);
    text[length] = 0;
    fclose(file);
}

static inline void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) fail(path);
}

/* Another number in every process: from the clock and the process id, mixed by multiplications and shifts. */
static inline uint64_t random_number(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t mixed = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)getpid() << 17;
    for (int turn = 0; turn < 3; turn++) {
        mixed ^= mixed >> 31;
        mixed *= 0x9e3779b97f4a7c15u;
    }
    return mixed >> 16;
}

static inline void sleep_us(uint64_t us) {
    struct timespec left = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
    while (nanosleep(&left, &left) && errno == EINTR) {}
}
