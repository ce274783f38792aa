/* memory MIB PASSES: fills new memory and reads all of it so many times. */
#include "work.h"

int main(int count, char **arguments) {
    size_t words = number(count, arguments, 1) << 17;
    uint64_t passes = number(count, arguments, 2);
    uint64_t *memory = malloc(words * sizeof *memory);
    if (!memory) fail("memory");
    for (size_t place = 0; place < words; place++) memory[place] = place;
    uint64_t sum = 0;
    for (uint64_t pass = 0; pass < passes; pass++) {
        for (size_t place = 0; place < words; place++) sum += memory[place];
        __asm__ volatile("" : "+r"(sum) : : "memory");
    }
    free(memory);
    return 0;
}
