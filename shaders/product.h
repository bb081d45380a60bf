// What the products with weights have in common: their arguments, and what becomes of a sum.
#ifndef METAL_BRIDGE_PRODUCT_H
#define METAL_BRIDGE_PRODUCT_H

#include <metal_stdlib>

using namespace metal;

// Adds what y holds already.
constant bool accumulate [[function_constant(1)]];
// Adds an element of `bias` to each column of y.
constant bool has_bias [[function_constant(2)]];

struct ProductArguments {
    uint m;
    uint n;
    uint k;
    float scale;
};

// What goes to *y, an element of the column `column`: [*y +] scale * (sum [+ bias]).
inline float finished(constant ProductArguments &arguments, float sum, device const float *bias, uint column,
                      device const float *y) {
    const float scaled = (has_bias ? sum + bias[column] : sum) * arguments.scale;
    return accumulate ? *y + scaled : scaled;
}

#endif
