// What depends on where an element is: triangles of matrices, and rows with a one at an index.
#include "indices.h"

template <typename T>
struct Triangle {
    typedef T result;
    device T *y;
    device const T *x;
    // Diagonals that stay, from the lowest to the highest.
    long low;
    long high;
    // The third offset is how far right of the main diagonal the element is.
    T value(TensorOffsets offsets) const {
        const long right = long(offsets.at[2]);
        const T value = x[offsets.at[1]];
        return (right >= low) & (right <= high) ? value : T(0);
    }
    void store(ulong offset, T value) const { y[offset] = value; }
};

template <typename T>
kernel void triangle(constant Walk &walk [[buffer(0)]],
                     device T *y [[buffer(1)]],
                     device const T *x [[buffer(2)]],
                     uint2 position [[thread_position_in_grid]]) {
    const Triangle<T> work = {y, x, long(walk.parameters[0]), long(walk.parameters[1])};
    walk_elements(walk, position, work);
}

template <typename T>
struct OneHot {
    typedef T result;
    device T *y;
    Indices indices;
    T one;
    // The third offset is the element's number in its row.
    T value(TensorOffsets offsets) const { return indices.at(offsets.at[1]) == offsets.at[2] ? one : T(0); }
    void store(ulong offset, T value) const { y[offset] = value; }
};

template <typename T>
kernel void one_hot(constant Walk &walk [[buffer(0)]],
                    device T *y [[buffer(1)]],
                    device const uchar *indices [[buffer(2)]],
                    uint2 position [[thread_position_in_grid]]) {
    const OneHot<T> work = {y, {indices, uint(walk.parameters[0])}, T(walk.scalar)};
    walk_elements(walk, position, work);
}

#define INSTANTIATE(name, T) \
    template [[host_name("triangle_" #name)]] kernel decltype(triangle<T>) triangle<T>; \
    template [[host_name("one_hot_" #name)]] kernel decltype(one_hot<T>) one_hot<T>;

INSTANTIATE(1, uchar)
INSTANTIATE(2, ushort)
INSTANTIATE(4, uint)
INSTANTIATE(8, ulong)
