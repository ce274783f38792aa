/* Indexes from 0 on are rows of their own; negative ones share one, of any type and width. */
#include "check.h"

/* The calls of the row with this name and index. */
static uint64_t calls_at(const char *name, uint64_t index) {
    hotloop_entry *entries = NULL;
    size_t len = 0;
    uint64_t found = 0;
    hotloop_results(&entries, &len);
    for (size_t i = 0; i < len; i++) {
        if (strcmp(entries[i].name, name) == 0 && entries[i].index == index) found += entries[i].calls;
    }
    hotloop_free_results(entries);
    return found;
}

struct bits {
    int small : 3;
    unsigned char byte;
};

int main(void) {
    hotloop_start(NULL);
    for (int i = -2; i < 2; i++) {
        HOTLOOP_SCOPE_INDEX("int", i);
    }
    for (long long i = -2; i < 2; i++) {
        struct bits bits = {(int)i, 255};
        HOTLOOP_SCOPE_INDEX("others", i);
        HOTLOOP_SCOPE_INDEX("others", (signed char)i);
        HOTLOOP_SCOPE_INDEX("others", bits.small);
        HOTLOOP_SCOPE_INDEX("unsigned", bits.byte);
        HOTLOOP_SCOPE_INDEX("unsigned", (size_t)7);
        HOTLOOP_SCOPE_INDEX("unsigned", HOTLOOP_NO_INDEX);
    }
    CHECK(calls_at("int", HOTLOOP_OTHER_INDEX) == 2 && calls_at("int", 0) == 1 && calls_at("int", 1) == 1);
    CHECK_EQ(calls_at("int", HOTLOOP_NO_INDEX), 0);
    CHECK_EQ(calls_at("others", HOTLOOP_OTHER_INDEX), 6);
    CHECK(calls_at("others", 0) == 3 && calls_at("others", 1) == 3);
    CHECK(calls_at("unsigned", 255) == 4 && calls_at("unsigned", 7) == 4);
    CHECK_EQ(calls_at("unsigned", HOTLOOP_NO_INDEX), 4);
    static hotloop_site site = {"by hand", NULL, __FILE__, __LINE__, NULL};
    hotloop_exit(hotloop_enter_index(&site, (uint64_t)-2));
    hotloop_exit(hotloop_enter_index(&site, (uint64_t)INT64_MAX + 1));
    hotloop_exit(hotloop_enter_index(&site, INT64_MAX));
    CHECK_EQ(calls_at("by hand", HOTLOOP_OTHER_INDEX), 2);
    CHECK_EQ(calls_at("by hand", INT64_MAX), 1);
    char *json = hotloop_snapshot_json();
    CHECK(strstr(json, "\"calls_with_other_index\":10,") != NULL);
    hotloop_free_string(json);
    return 0;
}
