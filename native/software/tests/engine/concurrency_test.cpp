/* Many launches at once, small and large, from many threads. */
#include <atomic>
#include <thread>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
kernel void add_plain(device uint *x [[buffer(0)]], constant uint &value [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    x[i] += value;
}
kernel void add_through_group(device uint *x [[buffer(0)]], constant uint &value [[buffer(1)]],
                              threadgroup uint *shared [[threadgroup(0)]], uint local [[thread_index_in_threadgroup]],
                              uint i [[thread_position_in_grid]]) {
    threadgroup uint copy[256];
    shared[local] = x[i];
    copy[local] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = shared[local] + copy[local ^ 1];
}
)";

}  // namespace

int main() {
    metal_program program(source);
    const smtl_kernel *const plain = program.kernel("add_plain");
    const smtl_kernel *const through_group = program.kernel("add_through_group");
    std::atomic<unsigned> wrong{0};
    for (int generation = 0; generation < 3; ++generation) { /* threads end and others take over their cores */
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 12; ++t)
            threads.emplace_back([&, t] {
                std::vector<uint32_t> x(64 * (1 + t * t * 4));
                const auto n = uint32_t(x.size());
                uint32_t expected = 0;
                for (uint32_t round = 0; round < 60; ++round) {
                    uint32_t value = round * 31 + t;
                    expected += 2 * value;
                    wrong += !launch(plain).buffer(0, x).constant(1, value).run({n}, {64}).empty();
                    wrong += !launch(through_group)
                                  .buffer(0, x)
                                  .constant(1, value)
                                  .threadgroup_memory(0, 256)
                                  .run({n}, {64})
                                  .empty();
                }
                for (uint32_t value : x) wrong += value != expected;
            });
        for (std::thread &thread : threads) thread.join();
    }
    CHECK(wrong == 0);

    /* Very many threadgroups, and very many launches. */
    std::vector<uint32_t> x(1 << 20);
    uint32_t value = 3;
    CHECK(launch(plain).buffer(0, x).constant(1, value).run({1 << 20}, {1}).empty());
    CHECK(std::vector<uint32_t>(1 << 20, 3) == x);
    for (uint32_t i = 0; i < 20000; ++i)
        wrong += !launch(plain).buffer(0, x).constant(1, value).run({32}, {32}).empty();
    CHECK(wrong == 0 && x[31] == 60003 && x[32] == 3);
    return check::report("engine/concurrency_test");
}
