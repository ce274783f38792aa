/* Children of fork end, whatever they call, though other threads of the parent hold the profiler's locks all the time; and
 * the parent counts on as if nothing had happened. With HOTLOOP_SNAPSHOT_DIR set it calls no function of the profiler. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { THREADS = 3, CALLS_PER_THREAD = 100, EXITS = 300, OTHERS = 60 };

static int stop;
static unsigned long long short_threads;

static void nap(void) {
    struct timespec ms = {0, 1000000};
    nanosleep(&ms, NULL);
}

static void *short_thread(void *unused) {
    for (int i = 0; i < CALLS_PER_THREAD; i++) {
        HOTLOOP_SCOPE("churn");
    }
    return unused;
}

/* Threads that begin and end: each takes the lock twice. */
static void *churn(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, short_thread, NULL) == 0);
        pthread_join(thread, NULL);
        __atomic_add_fetch(&short_threads, 1, __ATOMIC_RELAXED);
    }
    return unused;
}

/* Reads all the time, which holds the lock for long. */
static void *reads(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        hotloop_entry *entries;
        size_t len;
        hotloop_results(&entries, &len);
        hotloop_free_results(entries);
    }
    return unused;
}

static void nothing(void) {}

static void opens_scopes(void) {
    HOTLOOP_SCOPE("known to the parent");
    HOTLOOP_SCOPE("only in the child");
}

static void calls_everything(void) {
    hotloop_config config = HOTLOOP_CONFIG_DEFAULT;
    hotloop_start(&config);
    CHECK(!hotloop_is_enabled());
    opens_scopes();
    hotloop_name_thread("child");
    hotloop_exit(hotloop_enter(hotloop_named_site("named in the child")));
    hotloop_attach(hotloop_current());
    hotloop_detach();
    hotloop_entry *entries;
    size_t len;
    CHECK_EQ(hotloop_results(&entries, &len), 0);
    hotloop_free_results(entries);
    char *texts[] = {hotloop_report(5), hotloop_snapshot_json()};
    CHECK(strlen(texts[0]) > 0 && strlen(texts[1]) > 0);
    hotloop_free_string(texts[0]);
    hotloop_free_string(texts[1]);
    hotloop_print_report(5);
    CHECK_EQ(hotloop_wall_ns(), 0);
    hotloop_reset();
    hotloop_set_enabled(1);
    hotloop_set_enabled(0);
    hotloop_stop();
}

static void *in_new_thread(void *unused) {
    calls_everything();
    return unused;
}

static void starts_a_thread(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, in_new_thread, NULL) == 0);
    pthread_join(thread, NULL);
}

/* Forks so many children that do this and exit; a child that is not done after ten seconds hangs,
 * and three of them are enough. */
static void children(const char *what, int count, void (*work)(void)) {
    int hung = 0, failed = 0;
    for (int i = 0; i < count && hung < 3; i++) {
        int status = 0, naps = 0;
        pid_t child;
        {
            HOTLOOP_SCOPE("around fork"); /* open in the child too, and closed there */
            child = fork();
        }
        CHECK(child >= 0);
        if (child == 0) {
            work();
            exit(0);
        }
        while (waitpid(child, &status, WNOHANG) == 0) {
            nap();
            if (++naps == 10000) {
                hung++;
                kill(child, SIGKILL);
            }
        }
        failed += status != 0;
    }
    printf("%s: %d of %d hung, %d failed\n", what, hung, count, failed);
    fflush(stdout); /* children would print it again */
    CHECK(hung == 0 && failed == 0);
}

/* Before the profiler is used there is no lock to be held: such a child may use it. */
static void records_in_the_child(void) {
    hotloop_start(NULL);
    { HOTLOOP_SCOPE("daemon"); }
    CHECK_EQ(calls("daemon"), 1);
}

int main(void) {
    const int from_outside = getenv("HOTLOOP_SNAPSHOT_DIR") != NULL;
    if (!from_outside) {
        children("forked before the first use", 3, records_in_the_child);
        hotloop_start(NULL);
    }
    { HOTLOOP_SCOPE("known to the parent"); }
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        CHECK(pthread_create(&threads[t], NULL, t == 0 && !from_outside ? reads : churn, NULL) == 0);
    }
    children("exit only", EXITS, nothing);
    children("scopes", OTHERS, opens_scopes);
    if (!from_outside) {
        children("all functions", OTHERS, calls_everything);
        children("all functions on a new thread", OTHERS, starts_a_thread);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    if (!from_outside) {
        CHECK(hotloop_is_enabled());
        CHECK_EQ(calls("churn"), short_threads * CALLS_PER_THREAD);
        CHECK_EQ(calls("known to the parent"), 1);
        CHECK_EQ(calls("around fork"), EXITS + 3 * OTHERS);
        CHECK_EQ(calls("only in the child"), 0);
    }
    return 0;
}
