// Recursion: every call is counted, and the time is counted once.
#include "check.hpp"

static int fib(int n) {
    PROFILE_FUNCTION();
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void outer(int depth) {
    PROFILE_SCOPE("outer");
    busy_ms(depth == 0 ? 2 : 10);
    if (depth > 0) outer(depth - 1);
}

static void deep(int depth) {
    PROFILE_SCOPE("deep");
    if (depth > 0) deep(depth - 1);
}

int main() {
    start_exact();
    const Clock::time_point began = Clock::now();
    CHECK_EQ(fib(20), 6765);
    CHECK_EQ(hotloop::find("fib").calls, 21891);
    CHECK(hotloop::find("fib").total_ns <= ns_since(began) + 200000u);

    outer(1);
    const hotloop::Entry e = hotloop::find("outer");
    CHECK_EQ(e.calls, 2);
    // It spins by the clock, also while it waits for a CPU.
    CHECK(e.total_ns + e.waiting_ns >= 11500000u && e.total_ns <= ns_since(began));
    CHECK(e.self_ns + e.waiting_ns >= 11500000u);

    // Deeper than any tree should be: still exact.
    deep(5000);
    CHECK_EQ(hotloop::find("deep").calls, 5001);
    CHECK(hotloop::find("deep").total_ns <= ns_since(began));
    CHECK(hotloop::wall_ns() <= ns_since(began) + 1000000000u);
}
