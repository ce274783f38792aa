// What a scope costs: nanoseconds for one PROFILE_SCOPE, best and median of many rounds. Not a test of anything.
#include <algorithm>
#include <thread>

#include "check.hpp"

constexpr int kRounds = 200, kCalls = 10000;

__attribute__((noinline)) static void bare() { asm volatile("" ::: "memory"); }
__attribute__((noinline)) static void scoped() {
    PROFILE_SCOPE("scoped");
    asm volatile("" ::: "memory");
}

static std::vector<double> rounds(void (*body)()) {
    std::vector<double> ns;
    for (int r = 0; r < kRounds; ++r) {
        const Clock::time_point start = Clock::now();
        for (int i = 0; i < kCalls; ++i) body();
        ns.push_back(static_cast<double>(ns_since(start)) / kCalls);
    }
    std::sort(ns.begin(), ns.end());
    return ns;
}

static void show(const char* what, const std::vector<double>& ns) {
    std::printf("%-28s best %6.2f  median %6.2f ns\n", what, ns.front(), ns[ns.size() / 2]);
}

int main() {
    show("bare call", rounds(bare));
    show("not started", rounds(scoped));
    hotloop::Config config;
    config.budget = 0;
    config.percentiles = false;
    hotloop::start(config);
    show("started, tree only", rounds(scoped));
    hotloop::stop();
    config.percentiles = true;
    hotloop::start(config);
    show("started, percentiles", rounds(scoped));
    std::vector<double> other;
    std::thread thread([&] { other = rounds(scoped); });
    const std::vector<double> here = rounds(scoped);
    thread.join();
    show("two threads, percentiles", here);
    hotloop::stop();
    hotloop::start();
    rounds(scoped);
    show("started, 2 % budget", rounds(scoped));
    hotloop::stop();
    show("stopped", rounds(scoped));
}
