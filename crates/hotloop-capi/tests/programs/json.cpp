// Prints all that was recorded, as JSON.
#include <cstdio>

#include "hotloop.hpp"

int main() {
    hotloop::start();
    for (int i = 0; i < 4; i++) {
        PROFILE_SCOPE("say \"hi\" to C:\\ and\ttab");
    }
    std::puts(hotloop::snapshot_json().c_str());
}
