/* Calls nothing to be measured: the environment asks for it. Its child of fork must not write what the parent did. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hotloop.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin(void) {
    HOTLOOP_SCOPE("spin");
    double start = now();
    while (now() - start < 0.05) {
    }
}

int main(void) {
    for (int i = 0; i < 3; i++) spin();
    pid_t child = fork();
    if (child == 0) exit(0);
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
