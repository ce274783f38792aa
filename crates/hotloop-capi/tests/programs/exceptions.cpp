// An exception that leaves scopes closes them.
#include <stdexcept>

#include "check.hpp"

static void throwing(int depth) {
    PROFILE_SCOPE("throwing");
    if (depth == 0) throw std::runtime_error("expected");
    PROFILE_SCOPE("below");
    throwing(depth - 1);
}

int main() {
    start_exact();
    for (int i = 0; i < 100; ++i) {
        try {
            PROFILE_SCOPE("try");
            throwing(3);
        } catch (const std::runtime_error&) {
            PROFILE_SCOPE("caught");
        }
    }
    {
        PROFILE_SCOPE("after");
        busy_ms(1);
    }
    CHECK_EQ(hotloop::find("try").calls, 100);
    CHECK_EQ(hotloop::find("throwing").calls, 400);
    CHECK_EQ(hotloop::find("below").calls, 300);
    for (const hotloop::Entry& e : hotloop::results()) {
        if (e.name == "caught" || e.name == "after" || e.name == "try") CHECK_EQ(e.depth, 0);
    }
}
