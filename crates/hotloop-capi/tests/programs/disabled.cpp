// Nothing is recorded before start, after stop and between set_enabled(false) and set_enabled(true).
#include "check.hpp"

static int evaluated = 0;
static int work() { return ++evaluated; }

static void scopes() {
    PROFILE_SCOPE("a");
    PROFILE_SCOPE_INDEX("b", 1);
    PROFILE_SCOPE_WORK("c", work(), work(), work());
    PROFILE_FUNCTION();
}

int main() {
    scopes();
    CHECK(!hotloop::is_enabled());
    CHECK_EQ(hotloop::results().size(), 0);
    CHECK_EQ(evaluated, 0);

    hotloop::set_enabled(true);
    CHECK(hotloop::is_enabled());
    scopes();
    hotloop::set_enabled(false);
    scopes();
    CHECK(!hotloop::is_enabled());
    CHECK_EQ(hotloop::find("a").calls, 1);
    CHECK_EQ(evaluated, 3);

    hotloop::set_enabled(true);
    hotloop::set_enabled(true);
    scopes();
    CHECK_EQ(hotloop::find("a").calls, 2);
    CHECK_EQ(hotloop::find("scopes").calls, 2);

    // A scope that is open when recording stops is closed all the same; one opened while stopped is not recorded.
    {
        PROFILE_SCOPE("across stop");
        hotloop::stop();
    }
    {
        PROFILE_SCOPE("across start");
        hotloop::start();
        PROFILE_SCOPE("inside");
    }
    CHECK_EQ(hotloop::find("across stop").calls, 1);
    CHECK_EQ(hotloop::find("across start").calls, 0);
    CHECK_EQ(hotloop::find("inside").calls, 1);

    hotloop::reset();
    CHECK_EQ(hotloop::find("a").calls, 0);
    scopes();
    CHECK_EQ(hotloop::find("a").calls, 1);
}
