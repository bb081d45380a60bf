/* Barriers: loops, threads that leave early, and threadgroups of every shape. */
#include <algorithm>
#include <numeric>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
/* Reverses each block of values, again and again, through threadgroup memory. */
kernel void reverse(device uint *x [[buffer(0)]], constant uint &rounds [[buffer(1)]],
                    threadgroup uint *shared [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                    uint local [[thread_index_in_threadgroup]], uint size [[threads_per_threadgroup]]) {
    for (uint round = 0; round < rounds; ++round) {
        shared[local] = x[i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        x[i] = shared[size - 1 - local] + 1;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

/* The sum of a block by a tree, in which ever fewer threads add. */
kernel void tree_sum(device const uint *x [[buffer(0)]], device uint *sums [[buffer(1)]],
                     uint i [[thread_position_in_grid]], uint local [[thread_index_in_threadgroup]],
                     uint size [[dispatch_threads_per_threadgroup]], uint present [[threads_per_threadgroup]],
                     uint group [[threadgroup_position_in_grid]]) {
    threadgroup uint shared[1024];
    shared[local] = x[i];
    for (uint distance = size / 2; distance > 0; distance /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (local < distance && local + distance < present)
            shared[local] += shared[local + distance];
    }
    if (local == 0)
        sums[group] = shared[0];
}

/* Thread k leaves in round k: barriers go on among the others. */
kernel void leave_one_by_one(device uint *rounds [[buffer(0)]], device atomic_uint *together [[buffer(1)]],
                             uint local [[thread_index_in_threadgroup]]) {
    for (uint round = 0;; ++round) {
        if (round == local) {
            rounds[local] = round;
            return;
        }
        atomic_fetch_add_explicit(&together[round], 1u, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_device);
        if (atomic_load_explicit(&together[round], memory_order_relaxed) == 0)
            return;
    }
}

/* Barriers at different points of a branch: every thread meets one. */
kernel void two_points(device uint *x [[buffer(0)]], uint local [[thread_index_in_threadgroup]]) {
    threadgroup uint shared[256];
    shared[local] = local;
    uint other;
    if (local % 2 == 0) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        other = shared[local + 1];
    } else {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        other = shared[local - 1];
    }
    x[local] = other;
}

/* Locals of each thread survive the others. */
kernel void private_memory(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint mine[64];
    for (uint k = 0; k < 64; ++k)
        mine[k] = i * 64 + k;
    for (uint k = 0; k < 64; ++k) {
        threadgroup_barrier(mem_flags::mem_none);
        mine[(k * 7 + i) % 64] += k;
    }
    uint sum = 0;
    for (uint k = 0; k < 64; ++k)
        sum += mine[k];
    x[i] = sum;
}
)";

void reverse(metal_program &program, uint32_t n, uint32_t size, uint32_t rounds) {
    std::vector<uint32_t> x(n);
    std::iota(x.begin(), x.end(), 0u);
    std::vector<uint32_t> expected = x;
    for (uint32_t r = 0; r < rounds; ++r)
        for (uint32_t first = 0; first < n; first += size) {
            std::reverse(expected.begin() + first, expected.begin() + std::min(n, first + size));
            for (uint32_t i = first; i < std::min(n, first + size); ++i) ++expected[i];
        }
    CHECK(launch(program.kernel("reverse"))
              .buffer(0, x)
              .constant(1, rounds)
              .threadgroup_memory(0, 4 * size)
              .run({n}, {size})
              .empty());
    CHECK(x == expected);
}

void tree_sum(metal_program &program, uint32_t n, uint32_t size) {
    std::vector<uint32_t> x(n), sums((n + size - 1) / size), expected(sums.size());
    for (uint32_t i = 0; i < n; ++i) {
        x[i] = i * 2654435761u;
        expected[i / size] += x[i];
    }
    CHECK(launch(program.kernel("tree_sum")).buffer(0, x).buffer(1, sums).run({n}, {size}).empty());
    CHECK(sums == expected);
}

void leave_one_by_one(metal_program &program, uint32_t size) {
    std::vector<uint32_t> rounds(size, 12345), together(size), expected(size);
    std::iota(expected.begin(), expected.end(), 0u);
    CHECK(launch(program.kernel("leave_one_by_one")).buffer(0, rounds).buffer(1, together).run({size}, {size}).empty());
    CHECK(rounds == expected);
    for (uint32_t round = 0; round < size; ++round) CHECK(together[round] == size - 1 - round);
}

void private_memory(metal_program &program) {
    std::vector<uint32_t> x(2000), expected(2000, 0);
    for (uint32_t i = 0; i < x.size(); ++i)
        for (uint32_t k = 0; k < 64; ++k) expected[i] += i * 64 + k + k;
    CHECK(launch(program.kernel("private_memory")).buffer(0, x).run({uint32_t(x.size())}, {512}).empty());
    CHECK(x == expected);
}

}  // namespace

int main() {
    metal_program program(source);
    for (uint32_t size : {1u, 2u, 31u, 32u, 33u, 128u, 1000u, 1024u}) {
        reverse(program, 3000, size, 5);
        leave_one_by_one(program, size);
    }
    reverse(program, 64, 64, 10000);
    for (uint32_t size : {1u, 64u, 256u, 1024u}) {
        tree_sum(program, 100000, size);
        tree_sum(program, size, size);
    }
    std::vector<uint32_t> x(256), expected(256);
    for (uint32_t i = 0; i < 256; ++i) expected[i] = i ^ 1;
    CHECK(launch(program.kernel("two_points")).buffer(0, x).run({256}, {256}).empty());
    CHECK(x == expected);
    private_memory(program);
    return check::report("engine/barrier_test");
}
