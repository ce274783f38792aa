/* sleep US SLOW_US PERCENT: waits so many microseconds; in so many percent of the processes, by chance, SLOW_US instead. */
#include "work.h"

int main(int count, char **arguments) {
    uint64_t usual = number(count, arguments, 1), slow = number(count, arguments, 2);
    sleep_us(random_number() % 100 < number(count, arguments, 3) ? slow : usual);
    return 0;
}
