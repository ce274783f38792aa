/* sticky STEPS FILE: a fifth less to do where the process before ran the same program file, as if that had left caches warm. */
#include "work.h"

int main(int count, char **arguments) {
    uint64_t steps = number(count, arguments, 1);
    if (count < 3) fail("file missing");
    char before[4096], own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length < 0) fail("/proc/self/exe");
    own[length] = 0;
    read_text(arguments[2], before, sizeof before);
    write_text(arguments[2], own);
    work(strcmp(before, own) ? steps : steps - steps / 5);
    return 0;
}
