// Built with HOTLOOP_OFF and without the library: nothing remains, and everything still compiles.
#include "check.hpp"

static int evaluated = 0;

int main() {
    hotloop::start();
    {
        PROFILE_FUNCTION();
        PROFILE_SCOPE("a");
        const int layer = 3, flops = 7;
        PROFILE_SCOPE_INDEX("layer", layer);
        PROFILE_SCOPE_WORK("work", flops, ++evaluated, 0);
        hotloop::Profiler::start("named");
        hotloop::Profiler::end("named");
        auto attached = hotloop::current().attach();
    }
    CHECK_EQ(evaluated, 0);
    CHECK(!hotloop::compiled_in && !hotloop::is_enabled());
    CHECK_EQ(hotloop::results().size(), 0);
    CHECK_EQ(hotloop::Profiler::get_results().size(), 0);
    CHECK_EQ(hotloop::wall_ns(), 0);
    CHECK(hotloop::report(10).empty());
    hotloop::print_report(10);
    hotloop::reset();
    hotloop::stop();
}
