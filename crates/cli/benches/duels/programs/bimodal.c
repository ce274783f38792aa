/* bimodal STEPS: in half of the processes half as much again, by chance. */
#include "work.h"

int main(int count, char **arguments) {
    uint64_t steps = number(count, arguments, 1);
    if (random_number() & 1) steps += steps / 2;
    work(steps);
    return 0;
}
