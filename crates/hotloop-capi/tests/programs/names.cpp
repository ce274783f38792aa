// PROFILE_FUNCTION tells functions of one name apart, and PROFILE_SCOPE may stand twice in a block.
#include <functional>

#include "check.hpp"

namespace llm {
struct Layer {
    void forward(int) { PROFILE_FUNCTION(); }
    void forward(double) { PROFILE_FUNCTION(); }
    virtual ~Layer() { PROFILE_FUNCTION(); }
    Layer() { PROFILE_FUNCTION(); }
    bool operator()(int) const {
        PROFILE_FUNCTION();
        return true;
    }
    bool operator<(const Layer&) const {
        PROFILE_FUNCTION();
        return false;
    }
    operator bool() const {
        PROFILE_FUNCTION();
        return true;
    }
};
struct Transformer {
    static std::vector<std::pair<int, int>> forward(const std::function<void(int)>& each) {
        PROFILE_FUNCTION();
        each(1);
        return {};
    }
};
template <class T, int N>
struct Box {
    T get(T value) const {
        PROFILE_FUNCTION();
        return value;
    }
    template <class U>
    auto add(T a, U b) const -> decltype(a + b) {
        PROFILE_FUNCTION();
        return a + b;
    }
};
}  // namespace llm

namespace {
void hidden() { PROFILE_FUNCTION(); }
}  // namespace

void twice() {
    PROFILE_SCOPE("left");
    PROFILE_SCOPE("right");
    { PROFILE_SCOPE("left"); PROFILE_SCOPE("right"); }
}

static std::uint64_t calls(const char* name) { return hotloop::find(name).calls; }

int main() {
    hotloop::start();
    {
        llm::Layer layer;
        layer.forward(1);
        layer.forward(2.0);
        CHECK(layer(1) && !(layer < layer) && static_cast<bool>(layer));
        llm::Transformer::forward([](int) { PROFILE_FUNCTION(); });
    }
    CHECK_EQ((llm::Box<int, 1>().get(7)), 7);
    CHECK_EQ((llm::Box<float, 2>().get(7)), 7);
    CHECK_EQ((llm::Box<int, 1>().add(1, 2.0)), 3);
    hidden();
    twice();

    CHECK_EQ(calls("llm::Layer::forward"), 2);
    CHECK_EQ(calls("llm::Transformer::forward"), 1);
    CHECK_EQ(calls("llm::Layer::Layer"), 1);
    CHECK_EQ(calls("llm::Layer::~Layer"), 1);
    CHECK_EQ(calls("llm::Layer::operator()"), 1);
    CHECK_EQ(calls("llm::Layer::operator<"), 1);
    CHECK_EQ(calls("llm::Layer::operator bool"), 1);
    CHECK_EQ(calls("llm::Box::get"), 2);
    CHECK_EQ(calls("llm::Box::add"), 1);
    CHECK_EQ(calls("main::lambda"), 1);
    CHECK_EQ(calls("(anonymous)::hidden"), 1);
    CHECK_EQ(calls("left"), 2);
    CHECK_EQ(calls("right"), 2);
}
