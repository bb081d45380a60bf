// As many multiply-adds as a device does: what the metrics of operations are measured against.

#include <metal_stdlib>
using namespace metal;

// Sums of a thread that do not wait for one another; src/ops/peak.rs has the same number.
constant constexpr int sums_of_a_thread = 64;

// y[i] is a sum of what thread i has computed in `steps` steps, so that no compiler leaves a step out.
kernel void multiply_add(constant uint &steps [[buffer(0)]], device float *y [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    float sums[sums_of_a_thread];
    for (int j = 0; j < sums_of_a_thread; j++) sums[j] = float(j);
    const float factor = 1.0f - float(i) * 0x1p-30f, term = float(i) * 0x1p-30f;
    for (uint step = 0; step < steps; step++) {
        for (int j = 0; j < sums_of_a_thread; j++) sums[j] = fma(sums[j], factor, term);
    }
    float all = 0.0f;
    for (int j = 0; j < sums_of_a_thread; j++) all += sums[j];
    y[i] = all;
}
