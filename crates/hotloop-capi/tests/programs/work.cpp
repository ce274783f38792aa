// Indexes are rows of their own, and declared work is summed.
#include "check.hpp"

int main() {
    hotloop::start();
    for (int token = 0; token < 10; ++token) {
        for (int layer = 0; layer < 4; ++layer) {
            PROFILE_SCOPE_INDEX("layer", layer);
            PROFILE_SCOPE_WORK("matmul", 2 * 8 * 8 * 8, 4 * 8 * 8, 1);
        }
    }
    int layers = 0;
    std::uint64_t indexes = 0;
    for (const hotloop::Entry& e : hotloop::results()) {
        if (e.name == "layer") {
            CHECK_EQ(e.calls, 10);
            CHECK(e.index < 4);
            indexes |= 1u << e.index;
            ++layers;
        } else {
            CHECK(e.name == "matmul");
            CHECK_EQ(e.index, HOTLOOP_NO_INDEX);
            CHECK_EQ(e.depth, 1);
            CHECK_EQ(e.flops, 10240);
            CHECK_EQ(e.bytes, 2560);
            CHECK_EQ(e.tokens, 10);
        }
    }
    CHECK_EQ(layers, 4);
    CHECK_EQ(indexes, 15);
    CHECK_EQ(hotloop::find("matmul").flops, 40960);
    CHECK_EQ(hotloop::find("matmul").calls, 40);
}
