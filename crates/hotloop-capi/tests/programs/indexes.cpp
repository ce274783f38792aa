// Indexes from 0 on are rows of their own; negative ones share one, of any type and width.
#include "check.hpp"

enum class Layer { none = -1, first };
enum Plain { plain_first, plain_second };

// The calls of the row with this name and index.
static std::uint64_t calls_at(const std::string& name, std::uint64_t index) {
    std::uint64_t calls = 0;
    for (const hotloop::Entry& e : hotloop::results()) {
        if (e.name == name && e.index == index) calls += e.calls;
    }
    return calls;
}

int main() {
    hotloop::start();
    for (int i = -2; i < 2; ++i) {
        PROFILE_SCOPE_INDEX("int", i);
        PROFILE_SCOPE_INDEX("others", static_cast<signed char>(i));
        PROFILE_SCOPE_INDEX("others", static_cast<long long>(i));
        PROFILE_SCOPE_INDEX("others", static_cast<float>(i));
        PROFILE_SCOPE_INDEX("unsigned", std::size_t(7));
        PROFILE_SCOPE_INDEX("unsigned", HOTLOOP_NO_INDEX);
    }
    for (const Layer layer : {Layer::none, Layer::first}) {
        PROFILE_SCOPE_INDEX("enum class", layer);
    }
    for (const Plain plain : {plain_first, plain_second}) {
        PROFILE_SCOPE_INDEX("enum", plain);
    }
    for (const bool b : {false, true}) {
        PROFILE_SCOPE_INDEX("bool", b);
    }
    CHECK_EQ(calls_at("int", HOTLOOP_OTHER_INDEX), 2);
    CHECK_EQ(calls_at("int", HOTLOOP_NO_INDEX), 0);
    CHECK_EQ(calls_at("int", 1), 1);
    CHECK_EQ(calls_at("others", HOTLOOP_OTHER_INDEX), 6);
    CHECK_EQ(calls_at("others", 0), 3);
    CHECK_EQ(calls_at("unsigned", 7), 4);
    CHECK_EQ(calls_at("unsigned", HOTLOOP_NO_INDEX), 4);
    CHECK_EQ(calls_at("enum class", HOTLOOP_OTHER_INDEX), 1);
    CHECK_EQ(calls_at("enum class", 0), 1);
    CHECK_EQ(calls_at("enum", 1), 1);
    CHECK_EQ(calls_at("bool", 1), 1);
}
