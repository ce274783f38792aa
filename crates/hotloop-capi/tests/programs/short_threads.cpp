// Two thousand threads that live for a moment: what they did is kept, and memory does not grow with them.
#include <thread>

#include <malloc.h>

#include "check.hpp"

static std::size_t heap_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void run(int threads) {
    for (int i = 0; i < threads; i += 4) {
        std::vector<std::thread> some;
        for (int k = 0; k < 4; ++k) {
            some.emplace_back([] {
                PROFILE_SCOPE("short");
                for (int n = 0; n < 5; ++n) {
                    PROFILE_SCOPE_INDEX("step", n);
                }
            });
        }
        for (std::thread& thread : some) thread.join();
    }
}

int main() {
    hotloop::start();
    run(200);
    const std::size_t before = heap_bytes();
    run(1800);
    CHECK_EQ(hotloop::find("short").calls, 2000);
    CHECK_EQ(hotloop::find("step").calls, 10000);
    CHECK(heap_bytes() < before + 4 * 1024 * 1024);
}
