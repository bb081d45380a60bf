// y = exp(x) over the sum of all exp(x) along an axis, or the logarithm of it; y may be x.
#include "partials.h"

// Whether the logarithm is asked for.
constant bool is_log [[function_constant(1)]];

template <typename T>
struct Elements {
    device const T *x;
    float value(ulong offset, ulong) const { return Element<T>::get(x[offset]); }
};

// Relative to the largest element of the row, so that none overflows.
template <typename T>
struct Exponentials {
    device const T *x;
    float largest;
    float value(ulong offset, ulong) const { return precise::exp(Element<T>::get(x[offset]) - largest); }
};

struct Row {
    float largest;
    float sum;
    float log_of_sum;
    float value(float x) const {
        return is_log ? (x - largest) - log_of_sum : precise::exp(x - largest) / sum;
    }
};

// Whole blocks from element `i` on; returns where the next would not be whole. A block is loaded before it is stored,
// since y may be x.
template <uint block, typename T>
inline ulong write_blocks(device const T *x, device T *y, ulong i, ulong size, Row row) {
    for (; i + block <= size; i += block) {
        float values[block];
        BLOCK_LOOP(block)
        for (uint k = 0; k < block; k++) {
            values[k] = row.value(Element<T>::get(x[i + k]));
        }
        BLOCK_LOOP(block)
        for (uint k = 0; k < block; k++) {
            y[i + k] = Element<T>::put(values[k]);
        }
    }
    return i;
}

template <typename T>
kernel void softmax(constant Rows &rows [[buffer(0)]],
                    device const T *x [[buffer(1)]],
                    device T *y [[buffer(2)]],
                    uint position [[thread_position_in_grid]],
                    uint group [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_index_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]]) {
    threadgroup float values[max_threads];
    threadgroup float rests[max_threads];
    const Offset offset = offset_of(rows.kept, 0, rows.kept_rank, is_alone ? position : group);
    const Member member = {thread_index, threads};
    const Elements<T> elements = {x};
    const float largest = gathered<float>(rows, Largest, offset.x, member, elements, values, rests).value;
    const Exponentials<T> exponentials = {x, largest};
    const float sum = total(gathered<float>(rows, Add, offset.x, member, exponentials, values, rests));
    const Row row = {largest, sum, precise::log(sum)};
    if (!is_alone) {
        // Where y is x, other threads have read what this one writes.
        threadgroup_barrier(mem_flags::mem_device);
    }
    const ulong size = rows.reduced.shape[0];
    ulong i = is_alone ? 0 : thread_index;
    if (is_alone && is_dense) {
        i = write_blocks<BLOCK>(x + offset.x, y + offset.y, i, size, row);
        if (BLOCK > short_block) {
            i = write_blocks<short_block>(x + offset.x, y + offset.y, i, size, row);
        }
    }
    for (; i < size; i += is_alone ? 1 : threads) {
        const ulong x_at = offset.x + i * rows.reduced.strides[0][0];
        y[offset.y + i * rows.reduced.strides[0][1]] = Element<T>::put(row.value(Element<T>::get(x[x_at])));
    }
}

template [[host_name("softmax_f32")]] kernel decltype(softmax<float>) softmax<float>;
template [[host_name("softmax_f16")]] kernel decltype(softmax<half>) softmax<half>;
template [[host_name("softmax_bf16")]] kernel decltype(softmax<bf16>) softmax<bf16>;
