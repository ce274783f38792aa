/* One of the eight units, by UNIT. Short loops with branches that repeat: their speed depends on where the code lies, because
   the CPU keeps decoded instructions and predictions by address. */
#include <stdint.h>

#define JOIN(a, b) a##b
#define NAME(unit) JOIN(unit_, unit)

static uint64_t mixed(uint64_t state, uint8_t value) {
    state ^= state >> (7 + UNIT);
    return state * 0x9e3779b97f4a7c15u + value;
}

uint64_t NAME(UNIT)(uint64_t state, const uint8_t *table) {
    for (int place = UNIT; place < 96; place += 1) {
        uint8_t value = table[(place * (2 * UNIT + 1)) & 255];
        if (value & 1) state += value * 3u;
        if (value & 4) state = state << 5 | state >> 59;
        if (value % (UNIT + 3) == 0) state = mixed(state, value);
        __asm__ volatile("" : "+r"(state));
    }
    return state;
}
