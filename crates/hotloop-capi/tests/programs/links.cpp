// Work handed to other threads hangs below the scope it was handed out in.
#include <thread>

#include "check.hpp"

int main() {
    start_exact();
    hotloop_detach();  // was never attached: ignored
    {
        PROFILE_SCOPE("batch");
        const hotloop::Link link = hotloop::current();
        std::vector<std::thread> pool;
        for (int t = 0; t < 4; ++t) {
            pool.emplace_back([link] {
                { PROFILE_SCOPE("alone"); }
                {
                    auto attached = link.attach();
                    PROFILE_SCOPE("sample");
                    busy_ms(1);
                }
                PROFILE_SCOPE("alone");
            });
        }
        for (std::thread& thread : pool) thread.join();
    }
    {
        // No scope is open: attaching to that is attaching to the root.
        auto attached = hotloop::current().attach();
        PROFILE_SCOPE("alone");
    }
    int below = 0;
    const std::vector<hotloop::Entry> tree = hotloop::results();
    for (const hotloop::Entry& e : tree) {
        if (e.name == "alone") CHECK_EQ(e.depth, 0);
        if (e.name != "sample") continue;
        ++below;
        CHECK_EQ(e.calls, 4);
        CHECK(e.parent != HOTLOOP_NO_PARENT);
        CHECK(tree[e.parent].name == "batch");
    }
    CHECK_EQ(below, 1);
    CHECK_EQ(hotloop::find("alone").calls, 9);
}
