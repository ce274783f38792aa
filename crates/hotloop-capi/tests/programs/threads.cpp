// Many threads in one scope: no call is lost, no time is lost.
#include <thread>

#include "check.hpp"

static void run(unsigned threads, unsigned calls) {
    hotloop::reset();
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t) {
        pool.emplace_back([calls, t] {
            hotloop::name_thread("worker " + std::to_string(t));
            for (unsigned i = 0; i < calls; ++i) {
                PROFILE_SCOPE("outer");
                PROFILE_SCOPE("inner");
            }
        });
    }
    for (std::thread& thread : pool) thread.join();
    CHECK_EQ(hotloop::find("outer").calls, std::uint64_t(threads) * calls);
    CHECK_EQ(hotloop::find("inner").calls, std::uint64_t(threads) * calls);
}

// Two threads that hold one scope for 50 ms each were two calls and 100 ms.
static void hold() {
    hotloop::reset();
    auto work = [] {
        PROFILE_SCOPE("held");
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    };
    std::thread a(work), b(work);
    a.join();
    b.join();
    const hotloop::Entry held = hotloop::find("held");
    CHECK_EQ(held.calls, 2);
    CHECK(held.total_ns + held.waiting_ns >= 99000000u);
    CHECK(held.min_ns >= 50000000u);
}

int main() {
    hotloop::start();
    run(2, 200000);
    run(8, 50000);
    start_exact();
    run(2, 100000);
    run(8, 20000);
    hold();
}
