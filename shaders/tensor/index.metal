// Elements by their index along an axis: gathered from x, or scattered into y. Indices out of range touch nothing.
#include "indices.h"
#include "partials.h"

// `Along` of src/ops/tensor/index.rs: the axis of the tensor that is indexed, and for `scatter`, how often and how far
// apart a thread finds the next index and the next element of x.
struct Along {
    ulong size;
    ulong stride;
    ulong count;
    ulong index_stride;
    ulong x_stride;
};

inline Along along_of(constant Walk &walk) {
    return {walk.parameters[0], walk.parameters[1], walk.parameters[2], walk.parameters[3], walk.parameters[4]};
}

// Whether rows lie without gaps and have one index each.
inline bool is_row(constant Walk &walk) {
    return walk.strides[0][0] == 1 && walk.strides[0][1] == 0 && walk.strides[0][2] == 1;
}

// y = x where the index points along the axis, and 0 where it points outside.
template <typename T>
kernel void gather(constant Walk &walk [[buffer(0)]],
                   device T *y [[buffer(1)]],
                   device const uchar *index [[buffer(2)]],
                   device const T *x [[buffer(3)]],
                   uint2 position [[thread_position_in_grid]]) {
    const Along along = along_of(walk);
    const Indices indices = {index, uint(walk.scalar)};
    const TensorOffsets row = offsets_of(walk, position.y);
    const ulong start = ulong(position.x) * walk.per_thread;
    const ulong end = min(start + walk.per_thread, walk.shape[0]);
    if (is_dense || !is_row(walk)) {
        for (ulong i = start; i < end; i++) {
            const TensorOffsets offsets = stepped(row, walk, i);
            const ulong number = indices.at(offsets.at[1]);
            T value = T(0);
            if (number < along.size) {
                value = x[offsets.at[2] + number * along.stride];
            }
            y[offsets.at[0]] = value;
        }
        return;
    }
    const ulong number = indices.at(row.at[1]);
    device T *to = y + row.at[0];
    if (number < along.size) {
        device const T *from = x + row.at[2] + number * along.stride;
        for (ulong i = start; i < end; i++) {
            to[i] = from[i];
        }
    } else {
        for (ulong i = start; i < end; i++) {
            to[i] = T(0);
        }
    }
}

// What happens to an element of y where one of x goes.
template <typename T>
struct Replaced {
    static void by(device T *y, T x) { *y = x; }
};

template <typename T>
struct Added {
    static void by(device T *y, T x) {
        typename Element<T>::computed sum = Element<T>::get(*y);
        typename Element<T>::computed rest = 0;
        take(Add, sum, rest, Element<T>::get(x));
        *y = Element<T>::put(sum);
    }
};

// A thread takes `along.count` indices of each of its positions, in their order: nobody else writes what they point at
// if they are all indices along the axis.
template <typename T, template <typename> class Result>
kernel void scatter(constant Walk &walk [[buffer(0)]],
                    device T *y [[buffer(1)]],
                    device const uchar *index [[buffer(2)]],
                    device const T *x [[buffer(3)]],
                    uint2 position [[thread_position_in_grid]]) {
    const Along along = along_of(walk);
    const Indices indices = {index, uint(walk.scalar)};
    const TensorOffsets row = offsets_of(walk, position.y);
    const ulong start = ulong(position.x) * walk.per_thread;
    const ulong end = min(start + walk.per_thread, walk.shape[0]);
    if (!is_dense && is_row(walk)) {
        for (ulong k = 0; k < along.count; k++) {
            const ulong number = indices.at(row.at[1] + k * along.index_stride);
            if (number < along.size) {
                device T *to = y + row.at[0] + number * along.stride;
                device const T *from = x + row.at[2] + k * along.x_stride;
                for (ulong i = start; i < end; i++) {
                    Result<T>::by(to + i, from[i]);
                }
            }
        }
        return;
    }
    for (ulong k = 0; k < along.count; k++) {
        for (ulong i = start; i < end; i++) {
            const TensorOffsets offsets = stepped(row, walk, i);
            const ulong number = indices.at(offsets.at[1] + k * along.index_stride);
            if (number < along.size) {
                const ulong offset = offsets.at[0] + number * along.stride;
                Result<T>::by(y + offset, x[offsets.at[2] + k * along.x_stride]);
            }
        }
    }
}

#define INSTANTIATE(name, T) \
    template [[host_name("gather_" #name)]] kernel decltype(gather<T>) gather<T>; \
    template [[host_name("scatter_" #name)]] kernel decltype(scatter<T, Replaced>) scatter<T, Replaced>;

INSTANTIATE(1, uchar)
INSTANTIATE(2, ushort)
INSTANTIATE(4, uint)
INSTANTIATE(8, ulong)

#define INSTANTIATE_ADD(name, T) \
    template [[host_name("scatter_add_" #name)]] kernel decltype(scatter<T, Added>) scatter<T, Added>;

INSTANTIATE_ADD(f32, float)
INSTANTIATE_ADD(f16, half)
INSTANTIATE_ADD(bf16, bf16)
INSTANTIATE_ADD(i8, char)
INSTANTIATE_ADD(u8, uchar)
INSTANTIATE_ADD(i32, int)
INSTANTIATE_ADD(u32, uint)
INSTANTIATE_ADD(i64, long)
