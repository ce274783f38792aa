/* Scopes in a library that is loaded and unloaded again and again are one row, and can be read when it is gone. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "check.h"

enum { LOADS = 20, CALLS = 100 };

int main(int argc, char **argv) {
    CHECK(argc == 2);
    hotloop_start(NULL);
    for (int load = 0; load < LOADS; load++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (library == NULL) fprintf(stderr, "%s\n", dlerror());
        CHECK(library != NULL);
        void (*plugin)(void);
        *(void **)&plugin = dlsym(library, "plugin");
        CHECK(plugin != NULL);
        for (int i = 0; i < CALLS; i++) plugin();
        CHECK(dlclose(library) == 0);
    }
    CHECK(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) == NULL); /* really gone */
    hotloop_entry *entries;
    size_t len;
    CHECK_EQ(hotloop_results(&entries, &len), 1);
    CHECK_EQ(entries[0].calls, LOADS * CALLS);
    CHECK(strcmp(entries[0].name, "in the plugin") == 0 && strstr(entries[0].file, "plugin.c") != NULL);
    hotloop_free_results(entries);
    char *report = hotloop_report(5);
    CHECK(strstr(report, "in the plugin") != NULL);
    hotloop_free_string(report);
    return 0;
}
