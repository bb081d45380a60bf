/* Kernels that count on the lanes of a simdgroup keeping pace, with no simdgroup_barrier where Metal asks for one. */
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

/* Each kernel takes its input from `in`, and stores one result for each thread. Threads come in groups of 64. */
const char *const source = R"(
#define KERNEL(name) kernel void name(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],                  \
                                      device int *shared_out [[buffer(2)]], threadgroup int *scratch [[threadgroup(0)]], \
                                      uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]],       \
                                      uint simdgroup [[simdgroup_index_in_threadgroup]],                                 \
                                      uint local [[thread_index_in_threadgroup]])

/* One lane replaces what all have read, again and again. */
KERNEL(one_lane_stores) {
    threadgroup int *s = scratch + simdgroup * 32;
    s[lane] = in[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    int sum = 0;
    for (int round = 0; round < 5; ++round) {
        const int a = s[0];
        const int b = s[1];
        if (lane == 0) {
            s[0] = a + 1;
            s[1] = b + 2;
        }
        sum += a * 100 + b;
    }
    out[i] = sum;
}

/* The same through names of types. */
typedef threadgroup int *shared_ptr_t;
using cell = threadgroup int;
static int stored_by_one(shared_ptr_t s, uint lane) {
    const int a = s[0];
    if (lane == 0) s[0] = a + 1;
    return a;
}
KERNEL(one_lane_stores_by_aliases) {
    shared_ptr_t s = scratch + simdgroup * 32;
    s[lane] = in[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    int sum = 0;
    for (int round = 0; round < 5; ++round) {
        cell *second = s + 1;
        const int a = stored_by_one(s, lane);
        const int b = second[0];
        if (lane == 0) second[0] = b + 2;
        sum += a * 100 + b;
    }
    out[i] = sum;
}

/* The last lane stores, all read. */
KERNEL(last_lane_stores) {
    threadgroup int total[2];
    const int sum = simd_prefix_inclusive_sum(in[i]);
    if (lane == 31) total[simdgroup] = sum;
    out[i] = total[simdgroup];
}

/* A tree without barriers, and without anything else that blocks. */
KERNEL(tree) {
    scratch[local] = in[i];
    if (lane < 16) scratch[local] += scratch[local + 16];
    if (lane < 8) scratch[local] += scratch[local + 8];
    if (lane < 4) scratch[local] += scratch[local + 4];
    if (lane < 2) scratch[local] += scratch[local + 2];
    if (lane < 1) scratch[local] += scratch[local + 1];
    out[i] = scratch[local - lane];
}

/* The same with every lane adding; and with a maximum by comparison. */
KERNEL(tree_of_all) {
    volatile threadgroup int *s = scratch + simdgroup * 48;
    s[lane] = in[i];
    if (lane < 16) s[lane + 32] = 0;
    for (int distance = 16; distance > 0; distance /= 2) s[lane] += s[lane + distance];
    out[i] = s[0];
}
KERNEL(tree_of_maxima) {
    threadgroup int *s = scratch + simdgroup * 32;
    s[lane] = in[i];
    for (uint distance = 16; distance > 0; distance /= 2) {
        if (lane < distance)
            if (s[lane] < s[lane + distance])
                s[lane] = s[lane + distance];
    }
    out[i] = s[0];
}

/* A scan in which a lane overwrites what a higher one reads. */
KERNEL(scan) {
    threadgroup int *s = scratch + simdgroup * 32;
    s[lane] = in[i];
    for (uint distance = 1; distance < 32; distance *= 2)
        if (lane >= distance) s[lane] += s[lane - distance];
    out[i] = s[lane];
}

/* Neighbours swap values, by pointers and casts. */
KERNEL(exchange) {
    threadgroup int *s = scratch + simdgroup * 32;
    *(s + lane) = in[i];
    const int right = *(s + (lane + 1) % 32);
    ((threadgroup uint *)s)[lane] = uint(right);
    const int far = int(((threadgroup uint *)s)[(lane + 7) % 32]);
    out[i] = right * 1000 + far;
}

/* In a function of its own, which takes the lane as an argument and knows nothing of what was read before. */
template <typename T> void replace(threadgroup T *s, uint lane, T value) {
    if (lane == 0) s[0] = value;
}
template <typename T> T replaced(threadgroup T *s, uint lane, T value) {
    const T before = s[0];
    if (lane == 31) {
        s[0] = value;
    }
    return before * 10 + s[0];
}
KERNEL(in_functions) {
    threadgroup int *s = scratch + simdgroup;
    if (lane == 0) s[0] = in[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const int first = s[0];
    replace(s, lane, first + 1);
    const int second = s[0];
    out[i] = first * 10000 + second * 100 + replaced<int>(s, lane, second + 1);
}

/* A variable, an increment, a member; in a condition without braces, before an else. */
struct counts { int a; int b[2]; };
KERNEL(forms) {
    threadgroup int counter;
    threadgroup counts both[2];
    if (local == 0) counter = 0;
    if (lane == 0) both[simdgroup] = {in[i], {0, 0}};
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const int a = both[simdgroup].a + both[simdgroup].b[1];
    if (lane == 3) both[simdgroup].b[1]++; else if (lane == 5) both[simdgroup] = {a + 1, {0, 7}};
    int n = both[simdgroup].a * 10 + both[simdgroup].b[1];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    n += counter;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (local == 63) ++counter;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = n * 10 + counter;
}

/* Device memory, where lanes wait for each other anyway. */
KERNEL(device_memory) {
    device int *row = shared_out + i / 32 * 32;
    row[lane] = simd_sum(in[i]) + int(lane);
    int sum = 0;
    for (uint k = 0; k < 32; ++k) {
        const int x = row[k];
        if (lane == 31) row[(k + 1) % 32] += x % 1000;
        sum += x;
    }
    out[i] = sum;
}

/* Lanes that go around a loop more often than others keep step among themselves, and meet these after it. */
KERNEL(divergent) {
    threadgroup int *s = scratch + simdgroup * 32;
    s[lane] = int(lane);
    for (uint round = 0; round < lane; ++round) {
        const int x = s[(lane + 1) % 32];
        s[lane] = x;
    }
    out[i] = simd_sum(1) * 1000 + simd_sum(s[lane]);
}

/* Some have left, some wait for the whole threadgroup. */
KERNEL(left_behind) {
    threadgroup int *s = scratch + simdgroup * 32;
    s[lane] = in[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (lane > 20) {
        out[i] = -1;
        return;
    }
    if (lane > 10) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[i] = s[0];
        return;
    }
    const int x = s[0];
    if (lane == 0) s[0] = x + 1;
    const int y = s[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = y;
}
)";

constexpr uint32_t threads = 256, group = 64;
using lanes = std::vector<int>; /* of one simdgroup */

void check_kernel(metal_program &program, const char *name, const std::function<lanes(const lanes &)> &expected) {
    std::vector<int> in(threads), out(threads, -7), shared_out(threads);
    for (uint32_t i = 0; i < threads; ++i) in[i] = int(i * 2654435761u >> 24) % 90 + 1;
    const std::string error = launch(program.kernel(name))
                                  .buffer(0, in)
                                  .buffer(1, out)
                                  .buffer(2, shared_out)
                                  .threadgroup_memory(0, 4 * 2 * group)
                                  .run({threads}, {group});
    CHECK(error.empty());
    unsigned wrong = 0;
    for (uint32_t first = 0; first < threads; first += 32) {
        const lanes results = expected(lanes(in.begin() + first, in.begin() + first + 32));
        for (uint32_t lane = 0; lane < 32; ++lane) wrong += out[first + lane] != results[lane];
    }
    if (!CHECK(wrong == 0))
        std::fprintf(stderr, "%s: %u results of %u are wrong, the last is %d\n", name, wrong, threads, out.back());
}

lanes all(int value) { return lanes(32, value); }

int sum_of(const lanes &values) {
    int sum = 0;
    for (int value : values) sum += value;
    return sum;
}

lanes scanned(const lanes &in) {
    lanes sums = in;
    for (uint32_t lane = 1; lane < 32; ++lane) sums[lane] += sums[lane - 1];
    return sums;
}

}  // namespace

int main() {
    metal_program program(source);
    check_kernel(program, "one_lane_stores", [](const lanes &in) {
        int sum = 0;
        for (int round = 0; round < 5; ++round) sum += (in[0] + round) * 100 + in[1] + 2 * round;
        return all(sum);
    });
    check_kernel(program, "one_lane_stores_by_aliases", [](const lanes &in) {
        int sum = 0;
        for (int round = 0; round < 5; ++round) sum += (in[0] + round) * 100 + in[1] + 2 * round;
        return all(sum);
    });
    check_kernel(program, "last_lane_stores", [](const lanes &in) { return all(sum_of(in)); });
    check_kernel(program, "tree", [](const lanes &in) { return all(sum_of(in)); });
    check_kernel(program, "tree_of_all", [](const lanes &in) { return all(sum_of(in)); });
    check_kernel(program, "tree_of_maxima", [](const lanes &in) {
        int greatest = 0;
        for (int value : in) greatest = value > greatest ? value : greatest;
        return all(greatest);
    });
    check_kernel(program, "scan", scanned);
    check_kernel(program, "exchange", [](const lanes &in) {
        lanes results(32);
        for (uint32_t lane = 0; lane < 32; ++lane) results[lane] = in[(lane + 1) % 32] * 1000 + in[(lane + 8) % 32];
        return results;
    });
    check_kernel(program, "in_functions", [](const lanes &in) {
        const int first = in[0], second = first + 1;
        return all(first * 10000 + second * 100 + second * 10 + second + 1);
    });
    check_kernel(program, "forms", [](const lanes &in) { return all(((in[0] + 1) * 10 + 7) * 10 + 1); });
    check_kernel(program, "device_memory", [](const lanes &in) {
        lanes row(32);
        int sum = 0;
        for (int lane = 0; lane < 32; ++lane) row[size_t(lane)] = sum_of(in) + lane;
        for (size_t k = 0; k < 32; ++k) {
            const int x = row[k];
            row[(k + 1) % 32] += x % 1000;
            sum += x;
        }
        return all(sum);
    });
    check_kernel(program, "divergent", [](const lanes &) {
        lanes s(32);
        for (int lane = 0; lane < 32; ++lane) s[size_t(lane)] = lane;
        for (size_t round = 0; round < 32; ++round) {
            const lanes before = s;
            for (size_t lane = 0; lane < 32; ++lane)
                if (round < lane) s[lane] = before[(lane + 1) % 32];
        }
        return all(32 * 1000 + sum_of(s));
    });
    check_kernel(program, "left_behind", [](const lanes &in) {
        lanes results = all(in[0] + 1);
        for (size_t lane = 21; lane < 32; ++lane) results[lane] = -1;
        return results;
    });
    return check::report("engine/simd_sync_test");
}
