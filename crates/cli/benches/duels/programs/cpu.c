/* cpu STEPS: always the same work. */
#include "work.h"

int main(int count, char **arguments) {
    work(number(count, arguments, 1));
    return 0;
}
