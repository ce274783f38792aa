/* Scopes in a signal handler that interrupts other scopes 5,000 times a second: every call of both is counted. */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "check.h"

static volatile sig_atomic_t handled;

static void handle(int unused) {
    (void)unused;
    HOTLOOP_SCOPE("handler");
    handled++;
}

static void set_timer(long microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* Stops before it reads: a handler must not run while results are made, which allocates. */
static void run(const hotloop_config *config) {
    hotloop_reset();
    hotloop_start(config);
    handled = 0;
    unsigned long long interrupted = 0;
    set_timer(200);
    for (const time_t end = time(NULL) + 2; time(NULL) < end;) {
        for (int i = 0; i < 1000; i++) {
            HOTLOOP_SCOPE("interrupted");
            interrupted++;
        }
    }
    set_timer(0);
    hotloop_stop();
    CHECK(handled > 100);
    CHECK_EQ(calls("interrupted"), interrupted);
    CHECK_EQ(calls("handler"), handled);
    printf("%llu calls, %d handlers\n", interrupted, (int)handled);
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    /* Known beforehand: making a site allocates, which a handler must not. */
    hotloop_start(NULL);
    handle(0);
    hotloop_config exact = HOTLOOP_CONFIG_DEFAULT;
    exact.budget = 0;
    run(NULL);
    run(&exact);
    return 0;
}
