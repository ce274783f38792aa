/* Scopes that are never ended: left by longjmp, entered without an exit. Nothing else is lost or put in a wrong place. */
#include <setjmp.h>

#include "check.h"

/* Frames of their own, whatever the compiler would do. */
#define APART __attribute__((noinline))

static jmp_buf back;
static volatile int jumping = 1;

APART static void jumps(int i) {
    HOTLOOP_SCOPE("jumper");
    if (i % 2) longjmp(back, 1);
}

APART static void innocent(void) { HOTLOOP_SCOPE("innocent"); }

APART static void deep(int levels) {
    HOTLOOP_SCOPE("deep");
    if (levels == 0 && jumping) longjmp(back, 1);
    if (levels > 0) deep(levels - 1);
}

/* Calls it, and comes back also where it jumps. */
APART static void attempt(void (*function)(int), int argument) {
    if (!setjmp(back)) function(argument);
}

APART static void fresh(void) { HOTLOOP_SCOPE("fresh"); }

/* The depth of the only row of this name. */
static unsigned depth_of(const char *name) {
    hotloop_entry *entries = NULL;
    size_t len = 0;
    unsigned depth = UINT32_MAX, rows = 0;
    hotloop_results(&entries, &len);
    for (size_t i = 0; i < len; i++) {
        if (strcmp(entries[i].name, name) == 0) {
            depth = entries[i].depth;
            rows++;
        }
    }
    hotloop_free_results(entries);
    CHECK_EQ(rows, 1);
    return depth;
}

static void left_by_longjmp(void) {
    hotloop_reset();
    {
        HOTLOOP_SCOPE("loop");
        for (int i = 0; i < 2000; i++) {
            attempt(jumps, i);
            innocent();
        }
        for (int i = 0; i < 100; i++) {
            attempt(deep, 40);
            innocent();
        }
        fresh();
    }
    CHECK_EQ(calls("jumper"), 2000);
    CHECK_EQ(calls("innocent"), 2100);
    CHECK_EQ(calls("deep"), 4100);
    CHECK_EQ(calls("loop"), 1);
    CHECK_EQ(depth_of("innocent"), 1);
    CHECK_EQ(depth_of("fresh"), 1);
}

static void entered_without_exit(void) {
    static hotloop_site leaky = {"leaky", NULL, "leaks.c", 1, NULL};
    hotloop_reset();
    {
        HOTLOOP_SCOPE("loop");
        for (int i = 0; i < 5000; i++) {
            hotloop_enter(&leaky);
            innocent();
        }
        fresh();
    }
    CHECK_EQ(calls("leaky"), 5000);
    CHECK_EQ(calls("innocent"), 5000);
    CHECK_EQ(calls("fresh"), 1);
    char *report = hotloop_report(3);
    CHECK(strstr(report, "never ended") != NULL);
    hotloop_free_string(report);
}

/* Scopes in one frame, and calls that a compiler may put into it, are no leaks. */
static int recursive(int n) {
    HOTLOOP_SCOPE("recursive");
    return n < 2 ? n : recursive(n - 1) + recursive(n - 2);
}

static void nested_as_usual(void) {
    hotloop_reset();
    {
        HOTLOOP_SCOPE("outer");
        HOTLOOP_SCOPE("same frame");
        CHECK_EQ(recursive(16), 987);
        innocent();
    }
    CHECK_EQ(calls("recursive"), 3193);
    CHECK_EQ(depth_of("innocent"), 2);
    char *json = hotloop_snapshot_json();
    CHECK(strstr(json, "leaked_scopes") == NULL);
    hotloop_free_string(json);
}

int main(void) {
    hotloop_start(NULL);
    left_by_longjmp();
    entered_without_exit();
    nested_as_usual();
    hotloop_config exact = HOTLOOP_CONFIG_DEFAULT;
    exact.budget = 0;
    hotloop_start(&exact);
    left_by_longjmp();
    entered_without_exit();
    nested_as_usual();
    puts("ok");
    return 0;
}
