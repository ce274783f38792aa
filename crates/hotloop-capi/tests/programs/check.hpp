// What the test programs share: expectations that say what was found, and known amounts of work.
#ifndef HOTLOOP_CHECK_HPP
#define HOTLOOP_CHECK_HPP

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <hotloop.hpp>

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(found, expected) check_eq((found), (expected), #found, __FILE__, __LINE__)

inline void check(bool holds, const char* condition, const char* file, int line) {
    if (holds) return;
    std::fprintf(stderr, "%s:%d: does not hold: %s\n%s", file, line, condition, hotloop::report(30).c_str());
    std::exit(1);
}

template <class A, class B>
void check_eq(const A& found, const B& expected, const char* what, const char* file, int line) {
    if (found == static_cast<A>(expected)) return;
    std::fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n%s", file, line, what, static_cast<long long>(found),
                 static_cast<long long>(expected), hotloop::report(30).c_str());
    std::exit(1);
}

using Clock = std::chrono::steady_clock;

inline std::uint64_t ns_since(Clock::time_point start) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// Keeps the thread busy for so many milliseconds of wall time, and says how many nanoseconds it really was.
inline std::uint64_t busy_ms(int ms) {
    const Clock::time_point start = Clock::now();
    while (ns_since(start) < static_cast<std::uint64_t>(ms) * 1000000u) {
    }
    return ns_since(start);
}

// Every call timed: for programs that compare times and not only counts.
inline void start_exact() {
    hotloop::Config config;
    config.budget = 0;
    hotloop::start(config);
}

#endif
