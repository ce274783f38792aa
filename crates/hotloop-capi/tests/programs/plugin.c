/* A library that plugins.c loads and unloads. */
#include <hotloop.h>

void plugin(void);

void plugin(void) {
    HOTLOOP_SCOPE("in the plugin");
}
