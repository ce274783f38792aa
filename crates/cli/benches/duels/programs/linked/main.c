/* linked ROUNDS: calls the eight units in turns. Only where each of them lies in the program differs from link to link. */
#include "../work.h"

enum { TABLE = 256 };

#define UNIT(k) uint64_t unit_##k(uint64_t state, const uint8_t *table);
UNIT(0) UNIT(1) UNIT(2) UNIT(3) UNIT(4) UNIT(5) UNIT(6) UNIT(7)

static uint8_t table[TABLE];

int main(int count, char **arguments) {
    uint64_t rounds = number(count, arguments, 1);
    for (int place = 0; place < TABLE; place++) table[place] = (uint8_t)(place * 167 + 13);
    uint64_t state = 1;
    for (uint64_t round = 0; round < rounds; round++) {
        state = unit_0(state, table);
        state = unit_1(state, table);
        state = unit_2(state, table);
        state = unit_3(state, table);
        state = unit_4(state, table);
        state = unit_5(state, table);
        state = unit_6(state, table);
        state = unit_7(state, table);
    }
    __asm__ volatile("" : "+r"(state));
    return 0;
}
