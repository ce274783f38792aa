// Results read while threads record: counts only rise, parts sum to wholes, and at the end nothing is missing.
#include <atomic>
#include <thread>

#include "check.hpp"

int main() {
    hotloop::start();
    std::atomic<bool> stop(false);
    std::atomic<std::uint64_t> done(0);
    std::vector<std::thread> pool;
    for (int t = 0; t < 3; ++t) {
        pool.emplace_back([&] {
            while (!stop.load()) {
                PROFILE_SCOPE("turn");
                for (int i = 0; i < 100; ++i) {
                    PROFILE_SCOPE("step");
                }
                done.fetch_add(1);
            }
        });
    }
    std::uint64_t last = 0;
    for (int i = 0; i < 200 || done.load() < 100; ++i) {
        const std::vector<hotloop::Entry> tree = hotloop::results();
        std::uint64_t turns = 0;
        for (std::size_t n = 0; n < tree.size(); ++n) {
            std::uint64_t parts = tree[n].self_ns;
            for (const hotloop::Entry& child : tree) {
                if (child.parent == n) parts += child.total_ns;
            }
            CHECK_EQ(tree[n].total_ns, parts);
            if (tree[n].name == "turn") turns += tree[n].calls;
        }
        CHECK(turns >= last);
        last = turns;
        CHECK(hotloop::report(5).size() > 0);
    }
    stop = true;
    for (std::thread& thread : pool) thread.join();
    CHECK_EQ(hotloop::find("turn").calls, done.load());
    CHECK_EQ(hotloop::find("step").calls, 100 * done.load());
}
