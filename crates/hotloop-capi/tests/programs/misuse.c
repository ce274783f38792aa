/* The C interface used as it should be, and in every way it should not: nothing crashes. */
#include <pthread.h>
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

static uint64_t calls(const char *name) {
    hotloop_entry *entries = NULL;
    size_t len = 0;
    uint64_t found = 0;
    CHECK(hotloop_results_by_name(&entries, &len) == len);
    for (size_t i = 0; i < len; ++i) {
        if (strcmp(entries[i].name, name) == 0) found += entries[i].calls;
        /* An error, or -1 where there is none; nobody waits longer than was recorded on all threads. */
        CHECK(entries[i].total_se_ns >= -1 && entries[i].self_se_ns >= -1);
        CHECK(entries[i].waiting_ns < UINT64_MAX / 2);
    }
    hotloop_free_results(entries);
    return found;
}

static void proper_use(void) {
    HOTLOOP_FUNCTION();
    for (int i = 0; i < 10; ++i) {
        HOTLOOP_SCOPE("left");
        HOTLOOP_SCOPE("right");
        HOTLOOP_SCOPE_INDEX("index", i % 2);
        if (i == 5) continue;
        HOTLOOP_SCOPE("late");
    }
    static hotloop_site site = {"by hand", NULL, __FILE__, __LINE__, NULL};
    hotloop_scope scope = hotloop_enter(&site);
    hotloop_add_work(scope, 1, 2, 3);
    hotloop_exit(scope);
}

static void *other_thread(void *scope) {
    hotloop_name_thread("other");
    hotloop_add_work(*(hotloop_scope *)scope, 1, 1, 1);
    hotloop_exit(*(hotloop_scope *)scope);
    hotloop_detach();
    return NULL;
}

static void null_pointers(void) {
    hotloop_scope none = {0};
    hotloop_site empty = {NULL, NULL, NULL, 0, NULL};
    hotloop_link nowhere = {{0, 0}};
    CHECK(hotloop_enter(NULL).raw == 0);
    CHECK(hotloop_enter_index(NULL, 3).raw == 0);
    hotloop_exit(none);
    hotloop_add_work(none, 1, 1, 1);
    hotloop_exit(hotloop_enter(&empty));
    hotloop_free_string(NULL);
    hotloop_free_results(NULL);
    hotloop_name_thread(NULL);
    CHECK(hotloop_named_site(NULL) == NULL);
    hotloop_attach(nowhere);
    hotloop_detach();
    hotloop_detach();
    size_t len = 7;
    hotloop_entry *entries = NULL;
    CHECK(hotloop_results(NULL, NULL) == 0);
    CHECK(hotloop_results(NULL, &len) == 0 && len == 0);
    CHECK(hotloop_results(&entries, NULL) > 0 && entries != NULL);
    hotloop_free_results(entries);
    hotloop_free_results(entries); /* freed already */
    char *text = hotloop_report(5);
    CHECK(text != NULL && strlen(text) > 0);
    hotloop_free_string(text);
    hotloop_free_string(text);
    char mine[8] = "mine";
    hotloop_free_string(mine); /* not ours */
}

static void wrong_order(void) {
    static hotloop_site outer = {"outer", NULL, __FILE__, __LINE__, NULL};
    static hotloop_site inner = {"inner", NULL, __FILE__, __LINE__, NULL};
    hotloop_scope a = hotloop_enter(&outer), b = hotloop_enter(&inner);
    hotloop_exit(a); /* closes both */
    hotloop_exit(b);
    hotloop_exit(b);
    hotloop_scope c = hotloop_enter(&outer);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other_thread, &c) == 0);
    pthread_join(thread, NULL);
    hotloop_exit(c);
    CHECK(calls("outer") == 2 && calls("inner") == 1);
    static hotloop_site bytes = {"not \xff utf-8", NULL, "\xfe.c", __LINE__, NULL};
    hotloop_exit(hotloop_enter(&bytes));
    CHECK(hotloop_named_site("named") == hotloop_named_site("named"));
    hotloop_exit(hotloop_enter(hotloop_named_site("named")));
    CHECK(calls("named") == 1);
    CHECK(calls("not \xef\xbf\xbd utf-8") == 1);
}

int main(void) {
    hotloop_config config = HOTLOOP_CONFIG_DEFAULT;
    hotloop_stop();
    hotloop_reset();
    CHECK(!hotloop_is_enabled());
    config.percentiles = 0;
    config.budget = 0;
    hotloop_start(&config);
    hotloop_start(&config);
    CHECK(hotloop_is_enabled());
    for (int i = 0; i < 3; ++i) proper_use();
    CHECK(calls("proper_use") == 3 && calls("left") == 30 && calls("right") == 30);
    CHECK(calls("index") == 30 && calls("late") == 27 && calls("by hand") == 3);
    null_pointers();
    wrong_order();
    hotloop_entry *entries = NULL;
    size_t len = 0;
    hotloop_results(&entries, &len);
    for (size_t i = 0; i < len; ++i) CHECK(entries[i].p50_ns == -1);
    hotloop_free_results(entries);
    config.size = 0; /* from a program that forgot it: the defaults are used */
    hotloop_start(&config);
    config.size = sizeof config;
    config.budget = -1.0 / 0.0;
    hotloop_start(&config);
    hotloop_set_enabled(0);
    hotloop_set_enabled(7);
    CHECK(hotloop_is_enabled());
    hotloop_print_report(SIZE_MAX);
    hotloop_print_report(0);
    return 0;
}
