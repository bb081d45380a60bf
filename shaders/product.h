// What the products with weights have in common: their arguments, and what becomes of a sum.
#ifndef METAL_BRIDGE_PRODUCT_H
#define METAL_BRIDGE_PRODUCT_H

#include <metal_stdlib>

using namespace metal;

// Adds what y holds already.
constant bool accumulate [[function_constant(1)]];
// Adds an element of `bias` to each column of y.
constant bool has_bias [[function_constant(2)]];
// Each row of y takes the matrix of one expert.
constant bool is_chosen [[function_constant(3)]];

struct ProductArguments {
    uint m;
    uint n;
    uint k;
    float scale;
    // Matrices in the weights, and rows of y that one row of x makes.
    uint experts;
    uint products_of_x;
};

// The first row of the matrix that the row `m` of y takes.
inline uint first_row(constant ProductArguments &arguments, device const uint *chosen, uint m) {
    return is_chosen ? min(chosen[m], arguments.experts - 1) * arguments.n : 0;
}

// The row of x that makes the row `m` of y.
inline uint row_of_x(constant ProductArguments &arguments, uint m) {
    return is_chosen ? m / arguments.products_of_x : m;
}

// What goes to *y, an element of the column `column`: [*y +] scale * (sum [+ bias]).
inline float finished(constant ProductArguments &arguments, float sum, device const float *bias, uint column,
                      device const float *y) {
    const float scaled = (has_bias ? sum + bias[column] : sum) * arguments.scale;
    return accumulate ? *y + scaled : scaled;
}

#endif
