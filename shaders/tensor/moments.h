// The mean of floats with twice the digits of one, and how far elements are from it: what variances are made of.
#ifndef METAL_BRIDGE_MOMENTS_H
#define METAL_BRIDGE_MOMENTS_H

#include "partials.h"

// A number as the sum of two: the mean of large elements lies between two floats.
struct Shift {
    float value;
    float rest;
};

inline Shift mean_of(Partial<float> sum, ulong count) {
    const float whole = float(count);
    const float missing = float(long(count) - long(whole));
    const float mean = total(sum) / whole;
    return {mean, ((fma(-mean, whole, sum.value) - mean * missing) + sum.rest) / whole};
}

inline float distance(float x, Shift shift) { return (x - shift.value) - shift.rest; }

#endif
