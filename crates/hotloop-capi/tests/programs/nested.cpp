// Nested scopes of known length: times are right, and the parts sum to the whole.
#include "check.hpp"

// For two clocks that tick apart: the profiler's is calibrated against the system's.
constexpr std::uint64_t kSlack = 200000;

int main() {
    start_exact();
    const Clock::time_point began = Clock::now();
    std::uint64_t own = 0, first = 0, second = 0, inner = 0;
    for (int i = 0; i < 3; ++i) {
        PROFILE_SCOPE("parent");
        own += busy_ms(5);
        {
            PROFILE_SCOPE("first");
            first += busy_ms(10);
            PROFILE_SCOPE("inner");
            inner += busy_ms(4);
        }
        {
            PROFILE_SCOPE("second");
            second += busy_ms(3);
        }
    }
    const std::uint64_t wall = ns_since(began);

    std::uint64_t self_sum = 0, root_total = 0;
    const std::vector<hotloop::Entry> tree = hotloop::results();
    for (std::size_t i = 0; i < tree.size(); ++i) {
        const hotloop::Entry& e = tree[i];
        std::uint64_t parts = e.self_ns;
        for (const hotloop::Entry& child : tree) {
            if (child.parent == i) parts += child.total_ns;
        }
        CHECK_EQ(e.total_ns, parts);
        CHECK_EQ(e.calls, 3);
        CHECK(e.parent == HOTLOOP_NO_PARENT || e.parent < i);
        CHECK(e.min_ns <= e.max_ns && e.max_ns <= e.total_ns);
        CHECK(e.p50_ns >= 0 && e.p50_ns <= e.p90_ns && e.p90_ns <= e.p99_ns);
        // Every call was timed: nothing is an estimate.
        CHECK_EQ(e.total_se_ns, -1);
        CHECK_EQ(e.self_se_ns, -1);
        CHECK(e.waiting_ns <= wall + kSlack);
        self_sum += e.self_ns;
        if (e.parent == HOTLOOP_NO_PARENT) root_total += e.total_ns;
    }
    CHECK_EQ(tree.size(), 4);
    CHECK_EQ(self_sum, root_total);
    CHECK(root_total <= wall + kSlack);
    // What a scope spent beyond its busy time was spent between two clock readings of ours: a bound that holds on a
    // loaded machine too.
    const std::uint64_t unknown = wall - (own + first + second + inner) + kSlack;
    // Busy is by the wall clock: what the thread waited for a CPU meanwhile is in no scope's time.
    const auto agrees = [unknown](const hotloop::Entry& e, std::uint64_t found, std::uint64_t busy) {
        return found + e.waiting_ns + kSlack >= busy && found <= busy + unknown;
    };
    const hotloop::Entry in = hotloop::find("inner");
    CHECK(agrees(hotloop::find("parent"), hotloop::find("parent").self_ns, own));
    CHECK(agrees(hotloop::find("first"), hotloop::find("first").self_ns, first));
    CHECK(agrees(in, in.self_ns, inner));
    CHECK(agrees(hotloop::find("second"), hotloop::find("second").total_ns, second));
    CHECK(agrees(in, static_cast<std::uint64_t>(in.mean_ns * 3), inner));
    CHECK(hotloop::wall_ns() + kSlack >= wall);
}
