// The calls of a program written for the LoopOS profiler, moved by one using-declaration.
#include "check.hpp"

using hotloop::Profiler;

static void step() {
    PROFILE_FUNCTION();
    Profiler::start("read_batch");
    busy_ms(1);
    Profiler::end("read_batch");
}

int main() {
    Profiler::start("ignored: not enabled");
    Profiler::end("ignored: not enabled");
    Profiler::set_enabled(true);
    CHECK(Profiler::is_enabled());
    for (int i = 0; i < 5; ++i) step();
    Profiler::start("outer");
    Profiler::start("forgotten");
    Profiler::end("never started");
    Profiler::end("outer");
    step();

    const std::vector<hotloop::Entry> hottest = Profiler::get_results(true);
    CHECK_EQ(hottest.size(), 4);
    for (std::size_t i = 1; i < hottest.size(); ++i) CHECK(hottest[i - 1].total_ns >= hottest[i].total_ns);
    const std::vector<hotloop::Entry> named = Profiler::get_results(false);
    for (std::size_t i = 1; i < named.size(); ++i) CHECK(named[i - 1].name < named[i].name);
    CHECK_EQ(Profiler::get_entry("step").calls, 6);
    CHECK_EQ(Profiler::get_entry("read_batch").calls, 6);
    CHECK_EQ(Profiler::get_entry("outer").calls, 1);
    // Six spins of 1 ms by the clock, also while the thread waits for a CPU.
    const hotloop::Entry read = Profiler::get_entry("read_batch");
    CHECK(read.total_ns + read.waiting_ns >= 5600000u);
    for (const hotloop::Entry& e : hotloop::results()) {
        if (e.name == "step") CHECK_EQ(e.depth, 0);
    }
    Profiler::print_report(15);
    Profiler::reset();
    CHECK_EQ(Profiler::get_results().size(), 0);
}
