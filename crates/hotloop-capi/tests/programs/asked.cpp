// Calls nothing to be measured: the environment asks for it. One thread goes on when the program ends.
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "hotloop.hpp"

static void spin() {
    PROFILE_FUNCTION();
    const auto start = std::chrono::steady_clock::now();
    void* volatile block = std::malloc(5000); // volatile: it is not left out
    std::free(block);
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(50)) {
    }
}

static void go_on() {
    hotloop_name_thread("detached");
    for (;;) {
        PROFILE_SCOPE("for ever");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

int main() {
    std::thread(go_on).detach();
    for (int i = 0; i < 3; i++) spin();
}
