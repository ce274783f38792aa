/* drift STEPS START PERCENT: so many percent more for each second since START (in seconds since 1970), twice the work at most. */
#include "work.h"

int main(int count, char **arguments) {
    uint64_t steps = number(count, arguments, 1);
    double start = (double)number(count, arguments, 2), percent = (double)number(count, arguments, 3);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double more = ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 - start) * percent / 100.0;
    more = more < 0.0 ? 0.0 : more > 1.0 ? 1.0 : more;
    work((uint64_t)((double)steps * (1.0 + more)));
    return 0;
}
