/* Atomics, with all threads of all threadgroups at the same few words. */
#include <numeric>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
kernel void contend(device atomic_uint *words [[buffer(0)]], device atomic_int *numbers [[buffer(1)]],
                    device atomic_float *reals [[buffer(2)]], device atomic_bool *flags [[buffer(3)]],
                    device atomic_ulong *longs [[buffer(4)]], device atomic_uint *seen [[buffer(5)]],
                    uint i [[thread_position_in_grid]]) {
    const uint ticket = atomic_fetch_add_explicit(&words[0], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&seen[ticket], 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&words[1], 3, memory_order_relaxed);
    atomic_fetch_or_explicit(&words[2], 1u << (i % 32), memory_order_relaxed);
    atomic_fetch_and_explicit(&words[3], ~(1u << (i % 31)), memory_order_relaxed);
    atomic_fetch_xor_explicit(&words[4], i, memory_order_relaxed);
    uint before = atomic_load_explicit(&words[5], memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&words[5], &before, before + 2, memory_order_relaxed, memory_order_relaxed))
        ;
    atomic_fetch_min_explicit(&numbers[0], 1000 - int(i), memory_order_relaxed);
    atomic_fetch_max_explicit(&numbers[1], int(i) - 1000, memory_order_relaxed);
    atomic_fetch_add_explicit(&reals[0], 0.5f, memory_order_relaxed);
    atomic_store_explicit(&flags[0], true, memory_order_relaxed);
    atomic_max_explicit(&longs[0], (ulong(i) << 32) + 7, memory_order_relaxed);
    atomic_min_explicit(&longs[1], ulong(i) + (ulong(1) << 40), memory_order_relaxed);
}

/* Threadgroup memory is shared by the threads of one threadgroup alone. */
kernel void count_in_group(device uint *counts [[buffer(0)]], uint local [[thread_index_in_threadgroup]],
                           uint group [[threadgroup_position_in_grid]]) {
    threadgroup atomic_uint count;
    if (local == 0)
        atomic_store_explicit(&count, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint before = atomic_exchange_explicit(&count, atomic_load_explicit(&count, memory_order_relaxed) + 1, memory_order_relaxed);
    atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (before == 0)
        counts[group] = atomic_load_explicit(&count, memory_order_relaxed);
}
)";

}  // namespace

int main() {
    constexpr uint32_t threads = 40000;
    metal_program program(source);
    std::vector<uint32_t> words = {0, 0, 0, ~0u, 0, 0}, seen(threads), once(threads, 1);
    std::vector<int32_t> numbers = {5, -5};
    std::vector<float> reals = {0, 0};
    std::vector<uint8_t> flags = {0};
    std::vector<uint64_t> longs = {0, ~uint64_t(0)};
    CHECK(launch(program.kernel("contend"))
              .buffer(0, words)
              .buffer(1, numbers)
              .buffer(2, reals)
              .buffer(3, flags)
              .buffer(4, longs)
              .buffer(5, seen)
              .run({threads}, {128})
              .empty());
    uint32_t exclusive = 0;
    for (uint32_t i = 0; i < threads; ++i) exclusive ^= i;
    CHECK(words[0] == threads);
    CHECK(seen == once);
    CHECK(words[1] == 0u - 3 * threads);
    CHECK(words[2] == ~0u);
    CHECK(words[3] == 0x80000000u);
    CHECK(words[4] == exclusive);
    CHECK(words[5] == 2 * threads);
    CHECK(numbers[0] == 1001 - int32_t(threads) && numbers[1] == int32_t(threads) - 1001);
    CHECK(reals[0] == 0.5f * threads);
    CHECK(flags[0] == 1);
    CHECK(longs[0] == (uint64_t(threads - 1) << 32) + 7 && longs[1] == uint64_t(1) << 40);

    std::vector<uint32_t> counts(100), expected(100, 256);
    CHECK(launch(program.kernel("count_in_group")).buffer(0, counts).run({25600}, {256}).empty());
    CHECK(counts == expected);
    return check::report("engine/atomics_test");
}
