/* A hotloop_config of an older header is shorter: nothing behind it is read, and what it lacks has its default. Each one
 * ends where its memory ends. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* The budget in force, or 0, as the JSON says it. */
static double budget(void) {
    char *json = hotloop_snapshot_json();
    const char *found = strstr(json, "\"budget\":");
    double value = found ? strtod(found + strlen("\"budget\":"), NULL) : 0;
    hotloop_free_string(json);
    return value;
}

/* Enough of them that no percentile comes from the last events, which are kept for the budget too. */
static void open_scopes(void) {
    for (int i = 0; i < 100000; i++) {
        HOTLOOP_SCOPE("scope");
    }
}

/* Starts with the first `size` bytes of a configuration, right before a page that cannot be touched. */
static void start_truncated(hotloop_config config, size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    config.size = size;
    memcpy(pages + page - size, &config, size);
    hotloop_stop();
    hotloop_reset();
    hotloop_start((const hotloop_config *)(void *)(pages + page - size));
    open_scopes();
    munmap(pages, 2 * page);
}

static int has_percentiles(void) {
    hotloop_entry *entries;
    size_t len;
    CHECK_EQ(hotloop_results(&entries, &len), 1);
    int has = entries[0].p50_ns >= 0;
    hotloop_free_results(entries);
    return has;
}

int main(void) {
    hotloop_config config = HOTLOOP_CONFIG_DEFAULT;
    config.percentiles = 0;
    config.budget = 0.25;
    start_truncated(config, sizeof config);
    CHECK(!has_percentiles() && budget() == 0.25);
    start_truncated(config, offsetof(hotloop_config, budget));
    CHECK(!has_percentiles() && budget() == 0.02);
    start_truncated(config, offsetof(hotloop_config, percentiles));
    CHECK(has_percentiles() && budget() == 0.02);
    /* From a later header, with a field that this library does not know. */
    struct {
        hotloop_config known;
        double unknown;
    } later = {config, 7};
    later.known.size = sizeof later;
    hotloop_stop();
    hotloop_reset();
    hotloop_start(&later.known);
    open_scopes();
    CHECK(!has_percentiles() && budget() == 0.25);
    return 0;
}
