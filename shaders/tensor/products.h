// Products of small matrices on arrays of one thread, as loops that become vector loops where lanes run in turn.
#ifndef METAL_BRIDGE_PRODUCTS_H
#define METAL_BRIDGE_PRODUCTS_H

#include "tensor.h"

// So many terms are added, and so many rows are computed, while a sum is in a register.
constant constexpr uint unrolled = 4;

// sums[row][i] += weights[row][k] * panel[k][i] for `unrolled` k and `width` i. Rows of sums are `sums_stride` apart,
// those of the panel `panel_stride`.
template <uint rows, typename Panel>
inline void multiply(thread float *sums, uint sums_stride, Panel panel, uint panel_stride, thread const float *weights,
                     uint width) {
    for (uint i = 0; i < width; i++) {
#pragma clang loop unroll(full)
        for (uint row = 0; row < rows; row++) {
            float sum = sums[row * sums_stride + i];
#pragma clang loop unroll(full)
            for (uint k = 0; k < unrolled; k++)
                sum = fma(weights[row * unrolled + k], panel[k * panel_stride + i], sum);
            sums[row * sums_stride + i] = sum;
        }
    }
}

#endif
