// The largest element of x in each window, or the mean of those elements. Either all windows have one size, or as many
// windows as y has results are laid over x as evenly as integers allow.
#include "images.h"

// In the order of `Pooling` in src/ops/tensor/pooling.rs; AverageInside leaves out the padding.
enum Pooling : uint { Max, Average, AverageInside };
constant uint operation [[function_constant(1)]];
constant uint pooling = operation & 3;
constant bool is_adaptive = (operation & 4) != 0;

struct PoolingArguments {
    Images images;
    int window[2];
    int stride[2];
    int padding[2];
    int padding_after[2];
    int dilation[2];
};

// The elements of a window along an axis that are inside of x, and how many the mean counts.
struct Range {
    int first;
    int count;
    int step;
    int counted;
};

inline Range range_of(constant PoolingArguments &arguments, uint axis, int at) {
    const int size = arguments.images.x_size[axis];
    if (is_adaptive) {
        const long results = arguments.images.y_size[axis];
        const int first = int(long(at) * size / results);
        const int end = int((long(at + 1) * size + results - 1) / results);
        return {first, end - first, 1, end - first};
    }
    const int window = arguments.window[axis];
    const int step = arguments.dilation[axis];
    const int first = at * arguments.stride[axis] - arguments.padding[axis];
    if (first >= 0 && first + (window - 1) * step < size) {
        return {first, window, step, window};
    }
    const int below = first >= 0 ? 0 : (-first + step - 1) / step;
    const int inside = first < size ? min(window, (size - first + step - 1) / step) : 0;
    const int padded = size + arguments.padding_after[axis];
    const int counted = first < padded ? min(window, (padded - first + step - 1) / step) : 0;
    return {first + below * step, max(0, inside - below), step, counted};
}

// NaN wins.
inline float taken(float value, float x) {
    return pooling == Max ? (x > value || isnan(x) ? x : value) : value + x;
}

// Counted with signs, so that positions follow one another for certain.
template <typename T>
inline void take_run(thread float *values, device const T *x, ulong step, int count) {
    if (step == 1) {
        for (int i = 0; i < count; i++) {
            values[i] = taken(values[i], Element<T>::get(x[i]));
        }
    } else if (step == 2) {
        VECTOR_LOOP
        for (int i = 0; i < count; i++) {
            values[i] = taken(values[i], Element<T>::get(x[2 * i]));
        }
    } else {
        for (int i = 0; i < count; i++) {
            values[i] = taken(values[i], Element<T>::get(x[ulong(i) * step]));
        }
    }
}

inline float finished(float value, Range rows, Range columns) {
    switch (pooling) {
    case Average: return value / (float(rows.counted) * float(columns.counted));
    case AverageInside: return value / (float(rows.count) * float(columns.count));
    default: return value;
    }
}

template <typename T>
kernel void pool(constant PoolingArguments &arguments [[buffer(0)]],
                 device const T *x [[buffer(1)]],
                 device T *y [[buffer(2)]],
                 uint2 position [[thread_position_in_grid]]) {
    constant Images &images = arguments.images;
    const Part part = part_of(images, position);
    const Range rows = range_of(arguments, 0, part.row);
    const ulong row_step = images.x_strides[2];
    const ulong column_step = images.x_strides[3];
    float values[run_length];
    for (uint i = 0; i < part.count; i++) {
        values[i] = pooling == Max ? -INFINITY : 0.0f;
    }
    for (int i = 0; i < rows.count; i++) {
        device const T *row = x + part.x + ulong(rows.first + i * rows.step) * row_step;
        if (takes_channels) {
            const Range columns = range_of(arguments, 1, part.column);
            for (int j = 0; j < columns.count; j++) {
                device const T *from = row + ulong(columns.first + j * columns.step) * column_step;
                take_run(values, from, part.x_step, int(part.count));
            }
        } else if (is_adaptive) {
            for (uint at = 0; at < part.count; at++) {
                const Range columns = range_of(arguments, 1, part.column + int(at));
                for (int j = 0; j < columns.count; j++) {
                    take_run(values + at, row + ulong(columns.first + j) * column_step, 0, 1);
                }
            }
        } else {
            const int stride = arguments.stride[1];
            const int size = images.x_size[1];
            for (int j = 0; j < arguments.window[1]; j++) {
                // Results from `low` to `high` have this element of their windows inside.
                const int first = part.column * stride + j * arguments.dilation[1] - arguments.padding[1];
                const int low = first >= 0 ? 0 : min(int(part.count), (-first + stride - 1) / stride);
                const int high = first >= size ? 0 : min(int(part.count), (size - 1 - first) / stride + 1);
                if (low < high) {
                    device const T *from = row + ulong(first + low * stride) * column_step;
                    take_run(values + low, from, ulong(stride) * column_step, high - low);
                }
            }
        }
    }
    for (uint i = 0; i < part.count; i++) {
        const Range columns = range_of(arguments, 1, part.column + (takes_channels ? 0 : int(i)));
        y[part.y + i * part.y_step] = Element<T>::put(finished(values[i], rows, columns));
    }
}

template [[host_name("pool_f32")]] kernel decltype(pool<float>) pool<float>;
template [[host_name("pool_f16")]] kernel decltype(pool<half>) pool<half>;
template [[host_name("pool_bf16")]] kernel decltype(pool<bf16>) pool<bf16>;
