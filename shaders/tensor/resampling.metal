// x in another size: the nearest element, or what lies on a line between the nearest two of each axis.
#include "images.h"

// In the order of `Interpolation` in src/ops/tensor/pooling.rs.
enum Interpolation : uint { Nearest, Linear, LinearAlignedCorners };
constant uint operation [[function_constant(1)]];

// A position along an axis of x: an element, and how far the next is approached, in parts of `whole`. All is exact.
struct Source {
    long at;
    long part;
    long whole;
};

inline Source source_of(constant Images &images, uint axis, int at) {
    const long from = images.x_size[axis];
    const long to = images.y_size[axis];
    long numerator = at * from;
    long whole = to;
    if (operation == Linear) {
        // (at + 1/2) from / to - 1/2, and not before the first element.
        numerator = max(long(0), (2 * long(at) + 1) * from - to);
        whole = 2 * to;
    } else if (operation == LinearAlignedCorners) {
        numerator = at * (from - 1);
        whole = max(long(1), to - 1);
    }
    return {numerator / whole, numerator % whole, whole};
}

// The two elements and the weight of the second.
struct Pair {
    ulong first;
    ulong second;
    float weight;
};

inline Pair pair_of(constant Images &images, uint axis, int at) {
    const Source source = source_of(images, axis, at);
    const ulong stride = images.x_strides[2 + axis];
    const ulong next = ulong(min(source.at + 1, long(images.x_size[axis]) - 1));
    return {ulong(source.at) * stride, next * stride, float(source.part) / float(source.whole)};
}

// An element that has no part in the result may be infinite.
inline float between(float a, float b, float weight) {
    return weight == 0.0f ? a : (1.0f - weight) * a + weight * b;
}

template <typename T>
inline float interpolated(device const T *x, Pair row, Pair column) {
    if (operation == Nearest) {
        return Element<T>::get(x[row.first + column.first]);
    }
    const float above = between(Element<T>::get(x[row.first + column.first]),
                                Element<T>::get(x[row.first + column.second]), column.weight);
    const float below = between(Element<T>::get(x[row.second + column.first]),
                                Element<T>::get(x[row.second + column.second]), column.weight);
    return between(above, below, row.weight);
}

template <typename T>
kernel void resample(constant Images &images [[buffer(0)]],
                     device const T *x [[buffer(1)]],
                     device T *y [[buffer(2)]],
                     uint2 position [[thread_position_in_grid]]) {
    const Part part = part_of(images, position);
    const Pair row = pair_of(images, 0, part.row);
    if (takes_channels) {
        const Pair column = pair_of(images, 1, part.column);
        for (uint i = 0; i < part.count; i++) {
            const float value = interpolated(x + part.x + i * part.x_step, row, column);
            y[part.y + i * part.y_step] = Element<T>::put(value);
        }
        return;
    }
    for (uint i = 0; i < part.count; i++) {
        const Pair column = pair_of(images, 1, part.column + int(i));
        y[part.y + i * part.y_step] = Element<T>::put(interpolated(x + part.x, row, column));
    }
}

template [[host_name("resample_f32")]] kernel decltype(resample<float>) resample<float>;
template [[host_name("resample_f16")]] kernel decltype(resample<half>) resample<half>;
template [[host_name("resample_bf16")]] kernel decltype(resample<bf16>) resample<bf16>;
