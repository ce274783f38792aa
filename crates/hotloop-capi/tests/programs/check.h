/* What the C test programs share: expectations that say what was found, and the calls of a scope. */
#ifndef HOTLOOP_CHECK_H
#define HOTLOOP_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hotloop.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_EQ(found, expected)                                                                                      \
    do {                                                                                                               \
        unsigned long long found_ = (unsigned long long)(found), expected_ = (unsigned long long)(expected);           \
        if (found_ != expected_) {                                                                                     \
            fprintf(stderr, "%s:%d: %s is %llu, expected %llu\n", __FILE__, __LINE__, #found, found_, expected_);      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The calls of all scopes of this name. */
static inline uint64_t calls(const char *name) {
    hotloop_entry *entries = NULL;
    size_t len = 0;
    uint64_t found = 0;
    hotloop_results(&entries, &len);
    for (size_t i = 0; i < len; i++) {
        if (strcmp(entries[i].name, name) == 0) found += entries[i].calls;
        /* An error, or -1 where there is none; nobody waits longer than was recorded on all threads. */
        CHECK(entries[i].total_se_ns >= -1 && entries[i].self_se_ns >= -1);
        CHECK(entries[i].waiting_ns < UINT64_MAX / 2);
    }
    hotloop_free_results(entries);
    return found;
}

#endif
