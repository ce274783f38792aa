/* Built with HOTLOOP_OFF and without the library. */
#include <hotloop.h>

static int work(int n) {
    HOTLOOP_FUNCTION();
    HOTLOOP_SCOPE("a");
    HOTLOOP_SCOPE_INDEX("b", n);
    return n;
}

int main(void) {
    hotloop_entry *entries = NULL;
    size_t len = 1;
    hotloop_start(NULL);
    hotloop_results(&entries, &len);
    hotloop_free_results(entries);
    hotloop_print_report(10);
    return (int)len + work(0);
}
