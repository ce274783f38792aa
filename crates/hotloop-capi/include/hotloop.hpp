// Hotloop for C++ (C++11 and later): where the time and the memory of a program go.
//
//     #include <hotloop.hpp>
//
//     void Layer::forward(int layer) {
//         PROFILE_FUNCTION();                                  // "ns::Layer::forward"
//         PROFILE_SCOPE_INDEX("layer", layer);                 // one row per layer
//         PROFILE_SCOPE_WORK("matmul", 2 * m * n * k, 4 * n * k, 0);
//     }
//     int main() {
//         hotloop::start();
//         train();
//         hotloop::print_report(15);
//     }
//
// A scope ends with its block, also when an exception leaves it. With HOTLOOP_OFF defined the macros vanish and the
// library need not be linked. There is no timeline yet; see hotloop.h.
#ifndef HOTLOOP_HPP
#define HOTLOOP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hotloop.h"

namespace hotloop {
// Files compiled with and without HOTLOOP_OFF may be linked together: their inline functions have different names.
#ifdef HOTLOOP_OFF
inline namespace off {
#else
inline namespace on {
#endif

// Whether this build records at all.
#ifdef HOTLOOP_OFF
constexpr bool compiled_in = false;
#else
constexpr bool compiled_in = true;
#endif

// How to measure.
struct Config {
    bool percentiles = true;   // keep p50, p90, p99 of every scope
    bool allocations = true;   // count allocations, if hotloop_malloc.c is part of the program
    double budget = 0.02;      // share of a thread's CPU time that measuring may take; 0: time every call
};

inline void start(const Config& config = Config()) {
    hotloop_config c = HOTLOOP_CONFIG_DEFAULT;
    c.percentiles = config.percentiles;
    c.allocations = config.allocations;
    c.budget = config.budget;
    hotloop_start(&c);
}
inline void stop() { hotloop_stop(); }
inline void reset() { hotloop_reset(); }
inline void set_enabled(bool enabled) { hotloop_set_enabled(enabled); }
inline bool is_enabled() { return hotloop_is_enabled() != 0; }
inline void name_thread(const std::string& name) { hotloop_name_thread(name.c_str()); }
inline std::uint64_t wall_ns() { return hotloop_wall_ns(); }

namespace detail {
// A text of the library's, copied and given back.
inline std::string owned(char* text) {
    std::string copy = text ? text : "";
    hotloop_free_string(text);
    return copy;
}
}  // namespace detail

// Prints the n hottest scopes to standard output.
inline void print_report(std::size_t n = 20) { hotloop_print_report(n); }
// The same as text.
inline std::string report(std::size_t n = 20) { return detail::owned(hotloop_report(n)); }
// All that was recorded, as JSON for other programs.
inline std::string snapshot_json() { return detail::owned(hotloop_snapshot_json()); }

// One scope of the results; the fields are those of hotloop_entry, with the texts owned.
struct Entry {
    std::string name;
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t depth = 0;
    std::uint64_t index = HOTLOOP_NO_INDEX;
    std::size_t parent = HOTLOOP_NO_PARENT;
    std::uint64_t calls = 0;
    std::uint64_t timed_calls = 0;
    std::uint64_t total_ns = 0;
    std::uint64_t self_ns = 0;
    std::uint64_t min_ns = 0;
    std::uint64_t max_ns = 0;
    double mean_ns = 0;
    std::int64_t p50_ns = -1;  // -1: not measured
    std::int64_t p90_ns = -1;
    std::int64_t p99_ns = -1;
    std::uint64_t allocs = 0;
    std::uint64_t alloc_bytes = 0;
    std::uint64_t frees = 0;
    std::uint64_t free_bytes = 0;
    std::uint64_t reallocs = 0;
    std::uint64_t peak_live_bytes = 0;
    std::uint64_t flops = 0;
    std::uint64_t bytes = 0;
    std::uint64_t tokens = 0;
    std::int64_t total_se_ns = -1;  // standard error of total_ns; -1: there is no budget
    std::int64_t self_se_ns = -1;   // the same of self_ns
    std::uint64_t waiting_ns = 0;   // ready to run but without a CPU: in no other time here

    Entry() = default;
    explicit Entry(const hotloop_entry& e)
        : name(e.name ? e.name : ""), file(e.file ? e.file : ""), line(e.line), depth(e.depth), index(e.index),
          parent(e.parent), calls(e.calls), timed_calls(e.timed_calls), total_ns(e.total_ns), self_ns(e.self_ns),
          min_ns(e.min_ns), max_ns(e.max_ns), mean_ns(e.mean_ns), p50_ns(e.p50_ns), p90_ns(e.p90_ns),
          p99_ns(e.p99_ns), allocs(e.allocs), alloc_bytes(e.alloc_bytes), frees(e.frees), free_bytes(e.free_bytes),
          reallocs(e.reallocs), peak_live_bytes(e.peak_live_bytes), flops(e.flops), bytes(e.bytes), tokens(e.tokens),
          total_se_ns(e.total_se_ns), self_se_ns(e.self_se_ns), waiting_ns(e.waiting_ns) {}

    double total_ms() const { return static_cast<double>(total_ns) / 1e6; }
    double self_ms() const { return static_cast<double>(self_ns) / 1e6; }
    double mean_ms() const { return mean_ns / 1e6; }
    double min_ms() const { return static_cast<double>(min_ns) / 1e6; }
    double max_ms() const { return static_cast<double>(max_ns) / 1e6; }
};

namespace detail {
// The C results are freed even when copying them runs out of memory.
struct Results {
    hotloop_entry* entries = nullptr;
    std::size_t len = 0;
    Results() = default;
    Results(const Results&) = delete;
    Results& operator=(const Results&) = delete;
    ~Results() { hotloop_free_results(entries); }
    std::vector<Entry> copy() const {
        std::vector<Entry> owned;
        owned.reserve(len);
        for (std::size_t i = 0; i < len; ++i) owned.emplace_back(entries[i]);
        return owned;
    }
};
}  // namespace detail

// The call tree, parents before children. May be called while scopes are being recorded.
inline std::vector<Entry> results() {
    detail::Results raw;
    hotloop_results(&raw.entries, &raw.len);
    return raw.copy();
}

// One entry per name, summed over the tree: the hottest first, or in the order of their names.
inline std::vector<Entry> results(bool sort_by_time) {
    detail::Results raw;
    hotloop_results_by_name(&raw.entries, &raw.len);
    std::vector<Entry> owned = raw.copy();
    if (!sort_by_time) {
        std::sort(owned.begin(), owned.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    }
    return owned;
}

// What is known of a name, summed over the tree; no calls if there were none.
inline Entry find(const std::string& name) {
    for (Entry& entry : results(true)) {
        if (entry.name == name) return std::move(entry);
    }
    Entry none;
    none.name = name;
    return none;
}

namespace detail {
// All negative numbers are one index, -1 too, which would be HOTLOOP_NO_INDEX as an unsigned number.
template <class Number>
inline std::uint64_t as_index(Number number) noexcept {
    return number < Number() ? HOTLOOP_OTHER_INDEX : static_cast<std::uint64_t>(number);
}
}  // namespace detail

// An open scope. It stays on the thread and in the block that opened it.
class Scope {
public:
    explicit Scope(hotloop_site* site, std::uint64_t index = HOTLOOP_NO_INDEX) noexcept {
        if (HOTLOOP_IS_ACTIVE()) scope_ = hotloop_enter_index(site, index);
    }
    ~Scope() {
        if (scope_.raw != 0) hotloop_exit(scope_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    bool active() const noexcept { return scope_.raw != 0; }
    // Declares work done in this scope, so that the report can show rates.
    void add_work(std::uint64_t flops, std::uint64_t bytes, std::uint64_t tokens) noexcept {
        hotloop_add_work(scope_, flops, bytes, tokens);
    }

private:
    hotloop_scope scope_ = {0};
};

// While it lives, the scopes of this thread hang below the link it was made from.
class Attachment {
public:
    explicit Attachment(hotloop_link link) noexcept { hotloop_attach(link); }
    Attachment(Attachment&& other) noexcept : attached_(other.attached_) { other.attached_ = false; }
    ~Attachment() {
        if (attached_) hotloop_detach();
    }
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

private:
    bool attached_ = true;
};

// The scope that a thread was in; may be copied and handed to the threads that work for it.
class Link {
public:
    explicit Link(hotloop_link raw) noexcept : raw_(raw) {}
    Attachment attach() const noexcept { return Attachment(raw_); }

private:
    hotloop_link raw_;
};

inline Link current() { return Link(hotloop_current()); }

// The interface of the LoopOS profiler, for programs that move from it: use `hotloop::Profiler` in place of `Profiler`.
struct Profiler {
    static void set_enabled(bool enabled) { hotloop::set_enabled(enabled); }
    static bool is_enabled() { return hotloop::is_enabled(); }
    static void reset() { hotloop::reset(); }
    static void print_report(std::size_t top_n = 20) { hotloop::print_report(top_n); }
    static std::vector<Entry> get_results(bool sort_by_time = true) { return hotloop::results(sort_by_time); }
    static Entry get_entry(const std::string& name) { return hotloop::find(name); }

    // Prefer PROFILE_SCOPE: these look their name up at every call.
    static void start(const std::string& name) {
        if (HOTLOOP_IS_ACTIVE()) open().emplace_back(name, hotloop_enter(hotloop_named_site(name.c_str())));
    }
    // Ends the last scope of this name that this thread started; a name that was not started is ignored.
    static void end(const std::string& name) {
        Open& scopes = open();
        for (std::size_t i = scopes.size(); i-- > 0;) {
            if (scopes[i].first != name) continue;
            hotloop_exit(scopes[i].second);
            scopes.erase(scopes.begin() + static_cast<std::ptrdiff_t>(i), scopes.end());
            return;
        }
    }

private:
    using Open = std::vector<std::pair<std::string, hotloop_scope>>;
    static Open& open() {
        static thread_local Open scopes;
        return scopes;
    }
};

}  // inline namespace on, off
}  // namespace hotloop

#if defined(__GNUC__)
#define HOTLOOP_PRETTY_FUNCTION __PRETTY_FUNCTION__
#elif defined(_MSC_VER)
#define HOTLOOP_PRETTY_FUNCTION __FUNCSIG__
#else
#define HOTLOOP_PRETTY_FUNCTION __func__
#endif

#ifndef HOTLOOP_OFF
#define HOTLOOP_GUARD_(id, scope_name, scope_function, ...)                                                            \
    static hotloop_site HOTLOOP_PASTE(hotloop_site_, id) = {scope_name, scope_function, __FILE__, __LINE__, nullptr};  \
    ::hotloop::Scope HOTLOOP_PASTE(hotloop_scope_, id)(&HOTLOOP_PASTE(hotloop_site_, id), __VA_ARGS__)
#define HOTLOOP_GUARD_WORK_(id, scope_name, ...)                                                                       \
    HOTLOOP_GUARD_(id, scope_name, nullptr, HOTLOOP_NO_INDEX);                                                         \
    if (HOTLOOP_PASTE(hotloop_scope_, id).active()) HOTLOOP_PASTE(hotloop_scope_, id).add_work(__VA_ARGS__)

// Profiles the rest of the block. The name is a string literal; anything else does not compile ("expected '}'"). A name
// known at run time goes through hotloop_named_site:
//     hotloop::Scope scope(hotloop_named_site(name.c_str()));
#define PROFILE_SCOPE(name) HOTLOOP_GUARD_(HOTLOOP_UNIQUE, "" name, nullptr, HOTLOOP_NO_INDEX)
// The same with a number, such as a layer. Each index is a row of its own, but negative ones share one:
// HOTLOOP_OTHER_INDEX.
#define PROFILE_SCOPE_INDEX(name, index)                                                                               \
    HOTLOOP_GUARD_(HOTLOOP_UNIQUE, "" name, nullptr, ::hotloop::detail::as_index(index))
// The same with the work it does; the numbers are computed only while recording.
#define PROFILE_SCOPE_WORK(name, flops, bytes, tokens)                                                                 \
    HOTLOOP_GUARD_WORK_(HOTLOOP_UNIQUE, "" name, static_cast<std::uint64_t>(flops), static_cast<std::uint64_t>(bytes), \
                        static_cast<std::uint64_t>(tokens))
// Profiles the rest of the function, named after it with its namespace and class.
#define PROFILE_FUNCTION() HOTLOOP_GUARD_(HOTLOOP_UNIQUE, nullptr, HOTLOOP_PRETTY_FUNCTION, HOTLOOP_NO_INDEX)
#else
#define PROFILE_SCOPE(name) static_cast<void>(0)
// sizeof: variables that exist for these numbers alone stay used, and are not evaluated.
#define PROFILE_SCOPE_INDEX(name, index) static_cast<void>(sizeof(index))
#define PROFILE_SCOPE_WORK(name, flops, bytes, tokens)                                                                 \
    static_cast<void>(sizeof(flops) + sizeof(bytes) + sizeof(tokens))
#define PROFILE_FUNCTION() static_cast<void>(0)
#endif

#endif  // HOTLOOP_HPP
