// Allocations, counted by hotloop_malloc.c: exact, and charged to the thread and scope that made them.
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include <malloc.h>

#include "check.hpp"

// Through a volatile pointer, so that no allocation is optimised away.
static void* volatile kept;
static void* keep(void* block) {
    kept = block;
    return block;
}

static void exact_counts() {
    std::uint64_t usable = 0;
    {
        PROFILE_SCOPE("exact");
        for (int i = 0; i < 1000; ++i) {
            void* block = keep(std::malloc(static_cast<std::size_t>(i % 100 + 1)));
            usable += malloc_usable_size(block);
            std::free(block);
        }
    }
    const hotloop::Entry e = hotloop::find("exact");
    CHECK_EQ(e.allocs, 1000);
    CHECK_EQ(e.frees, 1000);
    CHECK_EQ(e.alloc_bytes, usable);
    CHECK_EQ(e.free_bytes, usable);
    CHECK(e.peak_live_bytes >= 100 && e.peak_live_bytes < 256);
}

static void every_function() {
    {
        PROFILE_SCOPE("every function");
        void* aligned = nullptr;
        void* blocks[] = {
            keep(std::malloc(0)), keep(std::calloc(3, 5)), keep(memalign(64, 10)), keep(aligned_alloc(32, 64)),
            keep(valloc(1)),      keep(strdup("text")),    keep(realloc(nullptr, 9)),
        };
        CHECK_EQ(posix_memalign(&aligned, 128, 100), 0);
        CHECK_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 128, 0);
        CHECK_EQ(posix_memalign(&aligned, 3, 100), EINVAL);
        std::free(aligned);
        for (void* block : blocks) std::free(block);
        std::unique_ptr<int[]> array(new int[10]);
        keep(array.get());
        std::free(nullptr);
    }
    CHECK_EQ(hotloop::find("every function").allocs, 9);
    CHECK_EQ(hotloop::find("every function").frees, 9);
}

static void reallocations() {
    {
        PROFILE_SCOPE("realloc");
        void* block = keep(std::malloc(100));
        for (std::size_t size : {1000u, 100000u, 10000000u, 50u}) block = keep(std::realloc(block, size));
        std::free(block);
    }
    const hotloop::Entry e = hotloop::find("realloc");
    CHECK_EQ(e.allocs, 1);
    CHECK_EQ(e.reallocs, 4);
    CHECK_EQ(e.frees, 1);
    CHECK_EQ(e.alloc_bytes, e.free_bytes);
    CHECK(e.alloc_bytes >= 10000000u && e.alloc_bytes < 10100000u);
    CHECK(e.peak_live_bytes >= 10000000u && e.peak_live_bytes < 10100000u);
}

// An idle scope of one thread is charged nothing while another thread allocates 100 MB.
static void other_threads() {
    std::atomic<int> phase(0);
    std::thread idle([&] {
        PROFILE_SCOPE("idle");
        phase = 1;
        while (phase != 2) std::this_thread::yield();
    });
    while (phase != 1) std::this_thread::yield();
    {
        PROFILE_SCOPE("allocating");
        for (int i = 0; i < 100; ++i) std::free(keep(std::malloc(1 << 20)));
    }
    phase = 2;
    idle.join();
    CHECK_EQ(hotloop::find("idle").allocs, 0);
    CHECK_EQ(hotloop::find("idle").alloc_bytes, 0);
    CHECK_EQ(hotloop::find("allocating").allocs, 100);
}

static void many_threads() {
    std::vector<std::thread> pool;
    for (int t = 0; t < 200; ++t) {
        pool.emplace_back([] {
            std::free(keep(std::malloc(10)));
            PROFILE_SCOPE("pool");
            for (int i = 0; i < 20; ++i) {
                PROFILE_SCOPE_INDEX("task", i % 3);
                std::free(keep(std::malloc(33)));
            }
        });
    }
    for (std::thread& thread : pool) thread.join();
    CHECK_EQ(hotloop::find("task").allocs, 4000);
    CHECK_EQ(hotloop::find("task").frees, 4000);
    CHECK_EQ(hotloop::find("pool").allocs, 0);
}

// What the profiler allocates for itself belongs to no scope.
static void own_allocations() {
    {
        PROFILE_SCOPE("reading");
        hotloop_entry* entries = nullptr;
        std::size_t len = 0;
        CHECK(hotloop_results(&entries, &len) > 0);
        hotloop_free_results(entries);
        hotloop_free_string(hotloop_report(10));
        hotloop_name_thread("reader");
        hotloop_exit(hotloop_enter(hotloop_named_site("new name")));
        for (int i = 0; i < 500; ++i) {
            PROFILE_SCOPE_INDEX("new node", i);
        }
    }
    CHECK_EQ(hotloop::find("reading").allocs, 0);
    CHECK_EQ(hotloop::find("reading").frees, 0);
    CHECK_EQ(hotloop::find("new node").allocs, 0);
}

int main() {
    std::free(keep(std::malloc(10)));
    start_exact();
    exact_counts();
    every_function();
    reallocations();
    other_threads();
    many_threads();
    own_allocations();
    hotloop::Config without;
    without.allocations = false;
    hotloop::stop();
    hotloop::reset();
    hotloop::start(without);
    {
        PROFILE_SCOPE("uncounted");
        std::free(keep(std::malloc(10)));
    }
    CHECK_EQ(hotloop::find("uncounted").calls, 1);
    CHECK_EQ(hotloop::find("uncounted").allocs, 0);
}
