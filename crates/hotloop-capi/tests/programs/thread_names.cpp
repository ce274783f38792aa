// The thread that runs main is called so, unless it was given a name; no other thread is.
#include <thread>

#include "check.hpp"

// Whether the report has a thread of that name.
static bool shows(const std::string& name) {
    const std::string report = hotloop::report(30);
    const std::size_t threads = report.find("\nTHREADS");
    return threads != std::string::npos && report.find("\n  " + name + " ", threads) != std::string::npos;
}

static void work() { PROFILE_FUNCTION(); }

// Recording switched on and off again on another thread says nothing about that thread's name.
static void start_elsewhere() {
    std::thread([] {
        hotloop::stop();
        hotloop::start();
        work();
        CHECK(!shows("main"));
    }).join();
}

int main() {
    if (std::getenv("HOTLOOP_TEST") != nullptr) {
        hotloop::name_thread("mine");
        hotloop::start();
        work();
    } else {
        hotloop::set_enabled(true);
        work();
        CHECK(shows("main"));
        hotloop::name_thread("mine");
        CHECK(!shows("main"));
    }
    CHECK(shows("mine"));
    hotloop::stop();
    hotloop::start();
    work();
    CHECK(shows("mine"));
    start_elsewhere();
}
