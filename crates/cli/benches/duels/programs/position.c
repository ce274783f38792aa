/* position STEPS FILE: every third process has 30 % more to do, whichever side it is of. FILE counts the processes. */
#include "work.h"

int main(int count, char **arguments) {
    uint64_t steps = number(count, arguments, 1);
    if (count < 3) fail("file missing");
    char text[32];
    read_text(arguments[2], text, sizeof text);
    uint64_t before = strtoull(text, NULL, 10);
    snprintf(text, sizeof text, "%llu", (unsigned long long)before + 1);
    write_text(arguments[2], text);
    work(before % 3 ? steps : steps + steps * 3 / 10);
    return 0;
}
