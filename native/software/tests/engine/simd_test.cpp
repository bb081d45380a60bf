/* SIMD-group and quad-group functions against scalar references, for full and partial simdgroups and for lanes that
 * diverge. */
#include <algorithm>
#include <cmath>
#include <functional>

#include "check.h"
#include "metal_program.h"

namespace {

/* One kernel for each function: `f(x, lane)` of each lane's value. */
std::string unary_kernel(const std::string &name, const std::string &type, const std::string &expression) {
    return "kernel void test_" + name + "(device " + type + " *x [[buffer(0)]], device " + type +
           " *y [[buffer(1)]], constant ushort &n [[buffer(2)]], uint i [[thread_position_in_grid]],"
           " uint lane [[thread_index_in_simdgroup]]) { const " +
           type + " v = x[i]; y[i] = " + type + "(" + expression + "); }\n";
}

struct lanes {
    const std::vector<float> &values; /* of one simdgroup; fewer than 32 at a ragged end */
    uint32_t n;                       /* the constant argument */
    uint32_t count() const { return uint32_t(values.size()); }
};
using reference = std::function<float(const lanes &, uint32_t lane)>;

struct function_test {
    const char *name, *expression;
    reference expected;
    uint32_t n = 0;
    bool full_only = false; /* reads lanes that partial simdgroups lack */
};

reference fold(float (*combine)(float, float)) {
    return [combine](const lanes &l, uint32_t) {
        float result = l.values[0];
        for (uint32_t i = 1; i < l.count(); ++i) result = combine(result, l.values[i]);
        return result;
    };
}

reference fold_quad(float (*combine)(float, float)) {
    return [combine](const lanes &l, uint32_t lane) {
        const uint32_t first = lane / 4 * 4;
        float result = l.values[first];
        for (uint32_t i = first + 1; i < std::min(first + 4, l.count()); ++i) result = combine(result, l.values[i]);
        return result;
    };
}

reference scan(bool inclusive, float identity, float (*combine)(float, float), uint32_t width) {
    return [=](const lanes &l, uint32_t lane) {
        float result = identity;
        for (uint32_t i = lane / width * width; i < lane + inclusive; ++i) result = combine(result, l.values[i]);
        return result;
    };
}

/* The value of the lane that `source` names. */
reference from_lane(std::function<uint32_t(uint32_t lane, uint32_t n)> source) {
    return [source](const lanes &l, uint32_t lane) { return l.values[source(lane, l.n)]; };
}

float add(float a, float b) { return a + b; }
float multiply(float a, float b) { return a * b; }
float smaller(float a, float b) { return std::min(a, b); }
float larger(float a, float b) { return std::max(a, b); }
uint32_t in_quad(uint32_t lane, uint32_t other) { return lane / 4 * 4 + other % 4; }

const std::vector<function_test> float_functions = {
    {"sum", "simd_sum(v)", fold(add)},
    {"product", "simd_product(v)", fold(multiply)},
    {"minimum", "simd_min(v)", fold(smaller)},
    {"maximum", "simd_max(v)", fold(larger)},
    {"inclusive_sum", "simd_prefix_inclusive_sum(v)", scan(true, 0, add, 32)},
    {"exclusive_sum", "simd_prefix_exclusive_sum(v)", scan(false, 0, add, 32)},
    {"inclusive_product", "simd_prefix_inclusive_product(v)", scan(true, 1, multiply, 32)},
    {"exclusive_product", "simd_prefix_exclusive_product(v)", scan(false, 1, multiply, 32)},
    {"shuffle", "simd_shuffle(v, ushort((lane * 5 + n) % 32))",
     from_lane([](uint32_t l, uint32_t n) { return (l * 5 + n) % 32; }), 3, true},
    {"broadcast", "simd_broadcast(v, n)", from_lane([](uint32_t, uint32_t n) { return n; }), 2},
    {"first", "simd_broadcast_first(v)", from_lane([](uint32_t, uint32_t) { return 0; })},
    {"exchange", "simd_shuffle_xor(v, n)", from_lane([](uint32_t l, uint32_t n) { return l ^ n; }), 5, true},
    {"up", "simd_shuffle_up(v, n)", from_lane([](uint32_t l, uint32_t n) { return l < n ? l : l - n; }), 3},
    {"down", "simd_shuffle_down(v, n)", from_lane([](uint32_t l, uint32_t n) { return l + n < 32 ? l + n : l; }), 7,
     true},
    {"rotate_up", "simd_shuffle_rotate_up(v, n)", from_lane([](uint32_t l, uint32_t n) { return (l - n) % 32; }), 9,
     true},
    {"rotate_down", "simd_shuffle_rotate_down(v, n)", from_lane([](uint32_t l, uint32_t n) { return (l + n) % 32; }), 9,
     true},
    {"fill_up", "simd_shuffle_and_fill_up(v, -v, n)",
     [](const lanes &l, uint32_t lane) { return lane < l.n ? -l.values[lane + 32 - l.n] : l.values[lane - l.n]; }, 4,
     true},
    {"fill_down", "simd_shuffle_and_fill_down(v, -v, n)",
     [](const lanes &l, uint32_t lane) { return lane + l.n >= 32 ? -l.values[lane + l.n - 32] : l.values[lane + l.n]; },
     4, true},
    {"fill_up_in_8", "simd_shuffle_and_fill_up(v, -v, n, 8)",
     [](const lanes &l, uint32_t lane) { return lane % 8 < l.n ? -l.values[lane + 8 - l.n] : l.values[lane - l.n]; }, 3,
     true},
    {"fill_down_in_8", "simd_shuffle_and_fill_down(v, -v, n, 8)",
     [](const lanes &l, uint32_t lane) {
         return lane % 8 + l.n >= 8 ? -l.values[lane + l.n - 8] : l.values[lane + l.n];
     },
     3, true},
    {"any", "simd_any(v > 1.5f)",
     [](const lanes &l, uint32_t) { return float(*std::max_element(l.values.begin(), l.values.end()) > 1.5f); }},
    {"every", "simd_all(v > 0.6f)",
     [](const lanes &l, uint32_t) { return float(*std::min_element(l.values.begin(), l.values.end()) > 0.6f); }},
    {"is_first", "simd_is_first()", [](const lanes &, uint32_t lane) { return float(lane == 0); }},
    {"ballot", "popcount(uint((simd_vote::vote_t)simd_ballot(v > 1.0f)))",
     [](const lanes &l, uint32_t) {
         return float(std::count_if(l.values.begin(), l.values.end(), [](float v) { return v > 1.0f; }));
     }},
    {"active", "popcount(uint((simd_vote::vote_t)simd_active_threads_mask()))",
     [](const lanes &l, uint32_t) { return float(l.count()); }},
    {"quad_total", "quad_sum(v)", fold_quad(add)},
    {"quad_times", "quad_product(v)", fold_quad(multiply)},
    {"quad_least", "quad_min(v)", fold_quad(smaller)},
    {"quad_most", "quad_max(v)", fold_quad(larger)},
    {"quad_inclusive", "quad_prefix_inclusive_sum(v)", scan(true, 0, add, 4)},
    {"quad_exclusive", "quad_prefix_exclusive_sum(v)", scan(false, 0, add, 4)},
    {"quad_shuffled", "quad_shuffle(v, ushort((lane + n) % 4))",
     from_lane([](uint32_t l, uint32_t n) { return in_quad(l, l + n); }), 1, true},
    {"quad_broadcasted", "quad_broadcast(v, n)", from_lane([](uint32_t l, uint32_t n) { return in_quad(l, n); }), 2,
     true},
    {"quad_first", "quad_broadcast_first(v)", from_lane([](uint32_t l, uint32_t) { return in_quad(l, 0); })},
    {"quad_exchange", "quad_shuffle_xor(v, n)", from_lane([](uint32_t l, uint32_t n) { return in_quad(l, l ^ n); }), 2,
     true},
    {"quad_up", "quad_shuffle_up(v, n)", from_lane([](uint32_t l, uint32_t n) { return l % 4 < n ? l : l - n; }), 1},
    {"quad_down", "quad_shuffle_down(v, n)",
     from_lane([](uint32_t l, uint32_t n) { return l % 4 + n < 4 ? l + n : l; }), 1, true},
    {"quad_rotate_up", "quad_shuffle_rotate_up(v, n)",
     from_lane([](uint32_t l, uint32_t n) { return in_quad(l, l - n); }), 1, true},
    {"quad_rotate_down", "quad_shuffle_rotate_down(v, n)",
     from_lane([](uint32_t l, uint32_t n) { return in_quad(l, l + n); }), 1, true},
    {"quad_some", "quad_any(v > 1.8f)",
     [](const lanes &l, uint32_t lane) { return float(fold_quad(larger)(l, lane) > 1.8f); }},
    {"quad_each", "quad_all(v > 0.7f)",
     [](const lanes &l, uint32_t lane) { return float(fold_quad(smaller)(l, lane) > 0.7f); }},
};

void compare(metal_program &program, const function_test &test, uint32_t threads, uint32_t threadgroup) {
    std::vector<float> x(threads), y(threads);
    for (uint32_t i = 0; i < threads; ++i) x[i] = 0.5f + float(i * 7919 % 97) / 64.0f;
    uint16_t n = uint16_t(test.n);
    CHECK(launch(program.kernel(std::string("test_") + test.name))
              .buffer(0, x)
              .buffer(1, y)
              .constant(2, n)
              .run({threads}, {threadgroup})
              .empty());
    unsigned wrong = 0;
    for (uint32_t i = 0; i < threads; ++i) {
        const uint32_t group = i / threadgroup * threadgroup, local = i - group, lane = local % 32;
        const uint32_t first = group + local / 32 * 32, last = std::min({first + 32, group + threadgroup, threads});
        const std::vector<float> values(x.begin() + first, x.begin() + last);
        const float expected = test.expected({values, test.n}, lane);
        if (!(std::fabs(y[i] - expected) <= 1e-4f * std::fabs(expected) + 1e-6f) && wrong++ == 0)
            std::fprintf(stderr, "%s, thread %u: %g, expected %g\n", test.name, i, double(y[i]), double(expected));
    }
    CHECK(wrong == 0);
}

const char *const other_kernels = R"(
// Sums with shuffles, as PyTorch's of 64-bit integers: of what the last simdgroup lacks, the lanes are 0.
kernel void reach_beyond(device long *x [[buffer(0)]], device long *y [[buffer(1)]], uint i [[thread_position_in_threadgroup]]) {
    long v = x[i];
    for (ushort d = 16; d > 0; d /= 2) v += as_type<long>(simd_shuffle_and_fill_down(as_type<int2>(v), int2(0), d));
    y[2 * i] = v;
    y[2 * i + 1] = simd_shuffle(int(x[i]), 31) + 10 * simd_broadcast(int(x[i]), 30) + 100 * simd_shuffle_xor(int(x[i]), 16) +
                   1000 * quad_shuffle(int(x[i]), 3);
}

// The first lane writes what all lanes read after it, with nothing but the meeting in between: a solver by substitution.
kernel void keep_pace(device volatile uint *x [[buffer(0)]], device volatile uint *y [[buffer(1)]],
                      uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    device volatile uint *mine = x + i / 32 * 32;
    for (uint row = 1; row < 32; ++row) {
        const uint sum = simd_sum(lane < row ? mine[lane] : 0u);
        if (lane == 0) mine[row] = sum + 1;
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (lane == 0) y[i] = 7;
    // All lanes load before one of them stores.
    y[i] += y[i / 32 * 32];
}
template <typename T> kernel void total(device const T *x [[buffer(0)]], device T *y [[buffer(1)]],
                                        uint i [[thread_position_in_grid]]) {
    y[i] = simd_sum(x[i]);
}
template [[host_name("total_half")]] kernel void total<half>(device const half *, device half *, uint);
template [[host_name("total_int")]] kernel void total<int>(device const int *, device int *, uint);
template [[host_name("total_uchar")]] kernel void total<uchar>(device const uchar *, device uchar *, uint);
template [[host_name("total_float3")]] kernel void total<float3>(device const float3 *, device float3 *, uint);
template [[host_name("total_half4")]] kernel void total<half4>(device const half4 *, device half4 *, uint);
template [[host_name("total_bfloat")]] kernel void total<bfloat>(device const bfloat *, device bfloat *, uint);

kernel void bitwise(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[3 * i] = simd_and(x[i]);
    y[3 * i + 1] = simd_or(x[i]);
    y[3 * i + 2] = simd_xor(x[i]);
}

kernel void largest_pair(device const int2 *x [[buffer(0)]], device int2 *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = int2(simd_max(x[i]).x, simd_min(x[i]).y);
}

/* Lanes that meet in different branches, join, and leave a loop one after the other. */
kernel void diverge(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint lane [[thread_index_in_simdgroup]],
                    uint i [[thread_position_in_grid]]) {
    uint total = 0;
    if (lane % 3 == 0)
        total += 1000000 * simd_sum(x[i]);
    else if (lane % 3 == 1)
        total += 1000000 * simd_max(x[i]);
    total += simd_sum(1u);
    for (uint round = 0; round < lane; ++round)
        total += 100 * simd_sum(1u);
    y[i] = total;
}

/* Branches inside of a loop: lanes must join again in each round. */
kernel void join(device uint *y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]], uint i [[thread_position_in_grid]]) {
    uint wrong = 0;
    for (uint round = 0; round < 50; ++round) {
        if ((lane + round) % 4 == 0)
            wrong += simd_sum(1u) != 8;
        wrong += simd_sum(1u) != 32;
        if ((lane ^ round) & 1)
            wrong += simd_broadcast_first(round) != round;
    }
    y[i] = wrong;
}

/* Half of the lanes return; the others go on without them. */
kernel void halve(device uint *y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]], uint i [[thread_position_in_grid]]) {
    y[i] = simd_sum(1u);
    if (lane & 1)
        return;
    y[i] += 100 * simd_sum(1u);
    threadgroup_barrier(mem_flags::mem_none);
    y[i] += 10000 * simd_sum(lane);
}

/* Some lanes of a simdgroup wait in a barrier while others still talk. */
kernel void mixed_waits(device uint *y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]], uint i [[thread_position_in_grid]]) {
    uint total = 0;
    if (lane < 5)
        for (uint round = 0; round < 10; ++round)
            total += simd_sum(1u);
    threadgroup_barrier(mem_flags::mem_none);
    y[i] = total + 1000 * simd_sum(1u);
}

/* What one lane writes before simdgroup_barrier the others read after it. */
kernel void pass_on(device uint *y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]], uint i [[thread_position_in_grid]]) {
    threadgroup uint shared[8][32];
    uint value = lane;
    for (uint round = 0; round < 32; ++round) {
        shared[simdgroup][lane] = value;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        value = shared[simdgroup][(lane + 1) % 32] + 1;
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[i] = value;
}
)";

/* The bits of a small whole number as a half. */
uint16_t half_bits(uint32_t number) {
    uint32_t bits;
    const auto value = float(number);
    std::memcpy(&bits, &value, sizeof bits);
    return number == 0 ? 0 : uint16_t(((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff));
}

template <class T>
std::vector<T> run_on(metal_program &program, const char *name, std::vector<T> x, size_t results, uint32_t threads) {
    std::vector<T> y(results);
    CHECK(launch(program.kernel(name)).buffer(0, x).buffer(1, y).run({threads}, {threads}).empty());
    return y;
}

void types(metal_program &program) {
    std::vector<uint16_t> halves(32);
    std::vector<int> ints(32);
    std::vector<uint8_t> bytes(32);
    std::vector<float> triples(128);
    std::vector<uint16_t> fours(128);
    std::vector<uint16_t> bfloats(32, 0x3f80); /* 1.0 */
    uint32_t all = ~0u, any = 0, odd = 0, byte_sum = 0;
    std::vector<uint32_t> words(32);
    for (uint32_t i = 0; i < 32; ++i) {
        halves[i] = half_bits(i + 64);
        ints[i] = int(i) * 100000 - 500000;
        bytes[i] = uint8_t(i * 37);
        byte_sum += bytes[i];
        for (uint32_t c = 0; c < 4; ++c) {
            triples[4 * i + c] = float(i * c);
            fours[4 * i + c] = half_bits(i + c);
        }
        words[i] = 0xf00f0000u | i * 2654435761u;
        all &= words[i];
        any |= words[i];
        odd ^= words[i];
    }
    CHECK(run_on(program, "total_half", halves, 32, 32)[7] == half_bits(2544));
    CHECK(run_on(program, "total_int", ints, 32, 32)[31] == 33600000);
    CHECK(run_on(program, "total_uchar", bytes, 32, 32)[3] == uint8_t(byte_sum));
    const std::vector<float> triple = run_on(program, "total_float3", triples, 128, 32);
    CHECK(triple[20] == 0.0f && triple[21] == 496.0f && triple[22] == 992.0f);
    const std::vector<uint16_t> four = run_on(program, "total_half4", fours, 128, 32);
    CHECK(four[0] == half_bits(496) && four[3] == half_bits(592));
    CHECK(run_on(program, "total_bfloat", bfloats, 32, 32)[9] == 0x4200); /* 32.0 */
    const std::vector<uint32_t> bits = run_on(program, "bitwise", words, 96, 32);
    CHECK(bits[0] == all && bits[1] == any && bits[2] == odd && bits[95] == odd);
    std::vector<int> pairs(64);
    for (int i = 0; i < 32; ++i) {
        pairs[2 * i] = (i * 13) % 32;
        pairs[2 * i + 1] = -i;
    }
    const std::vector<int> extremes = run_on(program, "largest_pair", pairs, 64, 32);
    CHECK(extremes[10] == 31 && extremes[11] == -31);
}

void pace(metal_program &program) {
    std::vector<uint32_t> x(64), y(64);
    x[0] = x[32] = 1;
    CHECK(launch(program.kernel("keep_pace")).buffer(0, x).buffer(1, y).run({64}, {64}).empty());
    for (uint32_t i = 0; i < 64; ++i) {
        CHECK(x[i] == 1u << i % 32);
        CHECK(y[i] == (i % 32 == 0 ? 14 : 7));
    }
}

void divergence(metal_program &program) {
    std::vector<uint32_t> x(64), y(64);
    for (uint32_t i = 0; i < 64; ++i) x[i] = i % 32 + 1;
    CHECK(launch(program.kernel("diverge")).buffer(0, x).buffer(1, y).run({64}, {64}).empty());
    for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t lane = i % 32;
        /* 1 + 4 + ... + 31, and the largest of 2, 5, ..., 32. */
        uint32_t expected = (lane % 3 == 0 ? 176000000 : lane % 3 == 1 ? 32000000 : 0) + 32;
        for (uint32_t round = 0; round < lane; ++round) expected += 100 * (31 - round);
        CHECK(y[i] == expected);
    }
    const auto run = [&](const char *name) {
        std::fill(y.begin(), y.end(), 0);
        CHECK(launch(program.kernel(name)).buffer(0, y).run({64}, {64}).empty());
    };
    run("join");
    CHECK(std::count(y.begin(), y.end(), 0u) == 64);
    run("halve");
    for (uint32_t i = 0; i < 64; ++i) CHECK(y[i] == (i % 2 ? 32u : 32u + 1600u + 2400000u));
    run("mixed_waits");
    for (uint32_t i = 0; i < 64; ++i) CHECK(y[i] == 32000u + (i % 32 < 5 ? 50u : 0u));
    run("pass_on");
    for (uint32_t i = 0; i < 64; ++i) CHECK(y[i] == i % 32 + 32);
}

void missing_lanes(metal_program &program) {
    std::vector<int64_t> x(50, 1), y(100);
    CHECK(launch(program.kernel("reach_beyond")).buffer(0, x).buffer(1, y).run({50}, {50}).empty());
    CHECK(y[0] == 32 && y[64] == 18);
    for (uint32_t i = 0; i < 50; ++i) {
        const uint32_t first = i / 32 * 32;
        const auto has = [&](uint32_t lane) { return int64_t(first + lane < 50); };
        CHECK(y[2 * i + 1] == has(31) + 10 * has(30) + 100 * has((i - first) ^ 16) + 1000 * has((i - first) | 3));
    }
}

}  // namespace

int main() {
    std::string source = other_kernels;
    for (const function_test &test : float_functions) source += unary_kernel(test.name, "float", test.expression);
    metal_program program(source);
    for (const function_test &test : float_functions) {
        compare(program, test, 256, 128);
        if (!test.full_only) compare(program, test, 1000, 72);
    }
    types(program);
    divergence(program);
    pace(program);
    missing_lanes(program);
    return check::report("engine/simd_test");
}
