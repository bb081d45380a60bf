/* Lane functions where lanes part: what inactive lanes give, and that lanes come together again. */
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
kernel void scan(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                 uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int s = in[i];
    if (lane >= 1) s += simd_shuffle_up(s, 1);
    if (lane >= 2) s += simd_shuffle_up(s, 2);
    if (lane >= 4) s += simd_shuffle_up(s, 4);
    if (lane >= 8) s += simd_shuffle_up(s, 8);
    if (lane >= 16) s += simd_shuffle_up(s, 16);
    out[i] = s;
}
template <typename T> T scanned(T s, uint lane) {
    for (uint distance = 1; distance < 32; distance *= 2) {
        if (lane >= distance) {
            s += simd_shuffle(s, ushort(lane - distance));
        }
        s += T(0);
    }
    return s;
}
kernel void scan_in_function(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                             uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    out[i] = int(scanned(float(in[i]), lane));
}
kernel void scan_and_change(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                            uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    long s = in[i];
    if (lane >= 1) s += simd_shuffle_up(s, 1);
    s *= 2;
    if (lane >= 2) s += simd_shuffle_up(s, 2); else s += 5;
    out[i] = int(s);
}
kernel void after_loop(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                       uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int s = 0;
    for (uint n = 0; n < lane % 4; ++n)
        s += simd_sum(1);
    out[i] = s + simd_sum(1) * 1000;
}
kernel void in_branches(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                        uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    int s = in[i], t = 0;
    if (lane % 2 == 0) {
        s += 100;
        t = simd_shuffle_xor(s, 1);
    } else {
        s += 200;
        t = simd_shuffle_xor(s, 1);
    }
    out[i] = t;
}
)";

std::vector<int> run(metal_program &program, const char *name, std::vector<int> in) {
    std::vector<int> out(in.size());
    CHECK(dispatch(program.kernel(name)).buffer(0, in).buffer(1, out).run({uint32_t(in.size())}, {64}).empty());
    return out;
}

} // namespace

int main() {
    metal_program program(source);
    std::vector<int> in(128), sums(128), changed(128);
    for (uint32_t i = 0; i < 128; ++i) {
        in[i] = int(i * 7 % 13 + 1);
        sums[i] = in[i] + (i % 32 ? sums[i - 1] : 0);
    }
    CHECK(run(program, "scan", in) == sums);
    CHECK(run(program, "scan_in_function", in) == sums);
    for (uint32_t i = 0; i < 128; ++i) changed[i] = 2 * (in[i] + (i % 32 ? in[i - 1] : 0));
    for (uint32_t i = 128; i-- > 0;) changed[i] += i % 32 >= 2 ? changed[i - 2] : 5;
    CHECK(run(program, "scan_and_change", in) == changed);
    const std::vector<int> after = run(program, "after_loop", in), branches = run(program, "in_branches", in);
    for (uint32_t i = 0; i < 128; ++i) {
        int s = 0;
        for (int n = 0; n < int(i % 4); ++n) s += 8 * (3 - n);
        CHECK(after[i] == s + 32000);
        CHECK(branches[i] == in[i ^ 1] + (i % 2 ? 100 : 0));
    }
    return check::report("engine_divergence_test");
}
