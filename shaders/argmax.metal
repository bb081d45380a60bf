// The index of each row's largest element, the first one where several are equal. NaN counts as the smallest.
#include "order.h"
#include "reduce.h"

struct ArgmaxArguments {
    uint columns;
};

struct Candidate {
    uint key;
    uint index;
};

inline Candidate simdgroup_best(Candidate mine) {
    const uint key = simd_max(mine.key);
    return {key, simd_min(mine.key == key ? mine.index : 0xffffffffu)};
}

kernel void argmax(constant ArgmaxArguments &arguments [[buffer(0)]],
                   device const float *x [[buffer(1)]],
                   device uint *y [[buffer(2)]],
                   uint row [[threadgroup_position_in_grid]],
                   uint thread_index [[thread_index_in_threadgroup]],
                   uint threads [[threads_per_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]],
                   uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup uint keys[max_simdgroups];
    threadgroup uint indices[max_simdgroups];
    device const float *source = x + ulong(row) * arguments.columns;
    Candidate best = {0, thread_index < arguments.columns ? thread_index : 0xffffffffu};
    for (uint i = thread_index; i < arguments.columns; i += threads) {
        const uint key = ordered(source[i]);
        if (key > best.key) {
            best = {key, i};
        }
    }
    best = simdgroup_best(best);
    if (lane == 0) {
        keys[simdgroup] = best.key;
        indices[simdgroup] = best.index;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
        best = {0, 0xffffffffu};
        if (lane < simdgroups) {
            best = {keys[lane], indices[lane]};
        }
        best = simdgroup_best(best);
        if (lane == 0) {
            y[row] = best.index;
        }
    }
}
