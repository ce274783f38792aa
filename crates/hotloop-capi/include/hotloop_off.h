/* The functions of hotloop.h when HOTLOOP_OFF is defined: they do nothing. Included by hotloop.h alone. */
#ifndef HOTLOOP_OFF_H
#define HOTLOOP_OFF_H

#define HOTLOOP_IS_ACTIVE() 0

static inline void hotloop_start(const hotloop_config *config) { (void)config; }
static inline void hotloop_stop(void) {}
static inline void hotloop_reset(void) {}
static inline void hotloop_set_enabled(int enabled) { (void)enabled; }
static inline int hotloop_is_enabled(void) { return 0; }

static inline hotloop_scope hotloop_enter(hotloop_site *site) {
    hotloop_scope none = {0};
    (void)site;
    return none;
}
static inline hotloop_scope hotloop_enter_index(hotloop_site *site, uint64_t index) {
    (void)index;
    return hotloop_enter(site);
}
static inline hotloop_scope hotloop_enter_frame(hotloop_site *site, uint64_t index, const void *frame,
                                                const void *caller) {
    (void)frame, (void)caller;
    return hotloop_enter_index(site, index);
}
static inline void hotloop_exit(hotloop_scope scope) { (void)scope; }
static inline void hotloop_add_work(hotloop_scope scope, uint64_t flops, uint64_t bytes, uint64_t tokens) {
    (void)scope, (void)flops, (void)bytes, (void)tokens;
}
static inline hotloop_site *hotloop_named_site(const char *name) {
    (void)name;
    return NULL;
}

static inline void hotloop_print_report(size_t n) { (void)n; }
static inline char *hotloop_report(size_t n) {
    (void)n;
    return NULL;
}
static inline char *hotloop_snapshot_json(void) { return NULL; }
static inline void hotloop_free_string(char *text) { (void)text; }

static inline size_t hotloop_results(hotloop_entry **entries, size_t *len) {
    if (entries) *entries = NULL;
    if (len) *len = 0;
    return 0;
}
static inline size_t hotloop_results_by_name(hotloop_entry **entries, size_t *len) {
    return hotloop_results(entries, len);
}
static inline void hotloop_free_results(hotloop_entry *entries) { (void)entries; }
static inline uint64_t hotloop_wall_ns(void) { return 0; }

static inline void hotloop_name_thread(const char *name) { (void)name; }
static inline hotloop_link hotloop_current(void) {
    hotloop_link none = {{0, 0}};
    return none;
}
static inline void hotloop_attach(hotloop_link link) { (void)link; }
static inline void hotloop_detach(void) {}

static inline void hotloop_malloc_installed(void) {}
static inline void hotloop_count_alloc(size_t bytes) { (void)bytes; }
static inline void hotloop_count_free(size_t bytes) { (void)bytes; }
static inline void hotloop_count_realloc(size_t old_bytes, size_t new_bytes) { (void)old_bytes, (void)new_bytes; }

#endif
