// y[n, o] = sum over i, kh, kw of x[n, i, window(kh, kw)] * weight[o, i, kh, kw] + bias[o], for tensors of any strides.
//
// A threadgroup makes a tile of y: some output channels of a group at some positions of an image, row-major. It walks
// along what is summed over in steps of `tile_k`: all threads lay out the step's elements of x as rows of floats, zeros
// where the window is outside of the image, and each then multiplies its own channels and positions.
#include "products.h"

// Whether x is spread over y, which is what the gradient of a convolution does.
constant bool is_transposed [[function_constant(1)]];
constant bool has_bias [[function_constant(2)]];

// Of two numbers the first is for rows of an image, the second for its columns.
struct ConvolutionArguments {
    // Channels of x and of y in a group.
    uint x_channels;
    uint y_channels;
    uint groups;
    uint depth;
    int x_size[2];
    int y_size[2];
    int kernel_size[2];
    int stride[2];
    int padding[2];
    int dilation[2];
    // Image, channel, row, column.
    ulong x_strides[4];
    ulong y_strides[4];
    // Group, channel of y, channel of x, row, column.
    ulong weight_strides[5];
    ulong bias_stride;
};

// What a thread makes of a tile. Where lanes run in turn, one thread makes it all in long vector loops.
constant constexpr bool is_one_thread = BLOCK > short_block;
constant constexpr uint thread_positions = is_one_thread ? 128 : 4;
constant constexpr uint thread_channels = is_one_thread ? 128 : 4;
constant constexpr uint columns = is_one_thread ? 1 : 16;
constant constexpr uint rows = is_one_thread ? 1 : 8;
constant constexpr uint tile_positions = thread_positions * columns;
constant constexpr uint tile_channels = thread_channels * rows;
constant constexpr uint tile_k = 32;

// Where along an axis of x the window's element `k` of position `at` is, as a first position and a step; positions that
// are not a whole number of steps from the first have no element.
inline int source(constant ConvolutionArguments &arguments, uint axis, int at, int k) {
    const int offset = k * arguments.dilation[axis] - arguments.padding[axis];
    return is_transposed ? at - offset : at * arguments.stride[axis] + offset;
}

// Elements of one row of x for `count` positions of one row of y from column `column` on.
template <typename T>
inline void lay_run(constant ConvolutionArguments &arguments, device const T *x, int column, int kw, int count,
                    threadgroup float *target) {
    const int stride = arguments.stride[1];
    const int size = arguments.x_size[1];
    const int first = source(arguments, 1, column, kw);
    const ulong step = arguments.x_strides[3];
    if (is_transposed && stride != 1) {
        for (int i = 0; i < count; i++) {
            target[i] = 0.0f;
        }
        // The first position at which a whole number of strides lies behind.
        int i = first >= 0 ? (stride - first % stride) % stride : -first;
        for (int at = (first + i) / stride; i < count && at < size; i += stride, at++) {
            target[i] = Element<T>::get(x[ulong(at) * step]);
        }
        return;
    }
    if (stride == 1 && step == 1) {
        VECTOR_LOOP
        for (int i = 0; i < count; i++) {
            const int at = first + i;
            target[i] = at >= 0 && at < size ? Element<T>::get(x[at]) : 0.0f;
        }
        return;
    }
    // Positions from `low` to `high` are inside. Transposed, rows of y run against the window, but with x.
    int low = first >= 0 ? 0 : min(count, stride == 1 ? -first : (-first + stride - 1) / stride);
    int high = count;
    if (first >= size) {
        high = 0;
    } else if (long(first) + long(count - 1) * stride >= size) {
        high = min(count, stride == 1 ? size - first : (size - 1 - first) / stride + 1);
    }
    low = min(low, high);
    VECTOR_LOOP
    for (int i = 0; i < low; i++) {
        target[i] = 0.0f;
    }
    VECTOR_LOOP
    for (int i = high; i < count; i++) {
        target[i] = 0.0f;
    }
    const ulong stride_of_x = ulong(stride) * step;
    // The first element inside; none before it is read.
    x += ulong(first + low * stride) * (low < high ? step : 0);
    target += low;
    if (stride_of_x == 1) {
        VECTOR_LOOP
        for (int i = 0; i < high - low; i++) {
            target[i] = Element<T>::get(x[i]);
        }
    } else if (stride_of_x == 2) {
        VECTOR_LOOP
        for (int i = 0; i < high - low; i++) {
            target[i] = Element<T>::get(x[2 * i]);
        }
    } else {
        VECTOR_LOOP
        for (int i = 0; i < high - low; i++) {
            target[i] = Element<T>::get(x[ulong(i) * stride_of_x]);
        }
    }
}

// Elements of one channel of x, at one position of the window, for positions of y.
template <typename T>
inline void lay_row(constant ConvolutionArguments &arguments, device const T *x, int row, int column, int kh, int kw,
                    int count, threadgroup float *target) {
    for (int done = 0; done < count; row++, column = 0) {
        const int run = min(arguments.y_size[1] - column, count - done);
        int at = source(arguments, 0, row, kh);
        bool is_inside = at >= 0;
        if (is_transposed) {
            is_inside = is_inside && at % arguments.stride[0] == 0;
            at /= arguments.stride[0];
        }
        if (is_inside && at < arguments.x_size[0]) {
            lay_run(arguments, x + ulong(at) * arguments.x_strides[2], column, kw, run, target + done);
        } else {
            VECTOR_LOOP
            for (int i = 0; i < run; i++) {
                target[done + i] = 0.0f;
            }
        }
        done += run;
    }
}

// Some channels with a step's whole panel. `offsets` are those of the step's weights in a channel, side by side if they
// are dense.
template <uint channels, typename T>
INLINE void multiply_step(thread float *sums, threadgroup const float *panel, device const T *weight, ulong stride,
                          threadgroup const ulong *offsets, bool are_dense, uint depth, uint width) {
    for (uint k = 0; k < depth; k += unrolled) {
        float weights[channels * unrolled];
        if (are_dense && k + unrolled <= depth) {
            for (uint c = 0; c < channels; c++) {
                for (uint j = 0; j < unrolled; j++) {
                    weights[c * unrolled + j] = Element<T>::get(weight[c * stride + offsets[k] + j]);
                }
            }
        } else {
            for (uint c = 0; c < channels; c++) {
                for (uint j = 0; j < unrolled; j++) {
                    weights[c * unrolled + j] =
                        k + j < depth ? Element<T>::get(weight[c * stride + offsets[k + j]]) : 0.0f;
                }
            }
        }
        multiply<channels>(sums, thread_positions, panel + k * tile_positions, tile_positions, weights, width);
    }
}

template <typename T>
kernel void convolution(constant ConvolutionArguments &arguments [[buffer(0)]],
                        device const T *x [[buffer(1)]],
                        device const T *weight [[buffer(2)]],
                        device T *y [[buffer(3)]],
                        device const T *bias [[buffer(4), function_constant(has_bias)]],
                        uint3 tile [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
    threadgroup float panel[tile_k * tile_positions];
    threadgroup ulong offsets[tile_k];
    float sums[thread_channels * thread_positions];
    const uint image = tile.z / arguments.groups;
    const uint group = tile.z % arguments.groups;
    const ulong row_length = ulong(arguments.y_size[1]);
    const ulong count = ulong(arguments.y_size[0]) * row_length;
    // What the tile has inside of the image, and this thread.
    const ulong tile_start = ulong(tile.x) * tile_positions;
    const uint tile_count = uint(min(ulong(tile_positions), count - tile_start));
    const uint first_column = thread_index % columns * thread_positions;
    const uint first_channel = tile.y * tile_channels + thread_index / columns * thread_channels;
    const uint own_count = tile_count > first_column ? min(thread_positions, tile_count - first_column) : 0;
    const uint own_channels =
        first_channel < arguments.y_channels ? min(thread_channels, arguments.y_channels - first_channel) : 0;
    // Whole vectors, in which positions outside are zeros.
    const uint width = is_one_thread ? (own_count + 15) / 16 * 16 : thread_positions;
    // What it lays out: all positions, or one.
    const uint laid = is_one_thread ? 0 : thread_index % tile_positions;
    const uint laid_count = is_one_thread ? width : 1;
    const uint laid_inside = laid < tile_count ? min(laid_count, tile_count - laid) : 0;
    const uint laid_first_k = thread_index / tile_positions;
    const uint laid_k_step = is_one_thread ? 1 : columns * rows / tile_positions;
    const int row = int((tile_start + laid) / row_length);
    const int column = int((tile_start + laid) % row_length);

    const uint kernel_width = uint(arguments.kernel_size[1]);
    const uint window = uint(arguments.kernel_size[0]) * kernel_width;
    // Terms that lie side by side follow one another, so that a cache keeps what several of them need.
    const bool has_channels_last = arguments.x_strides[1] < arguments.x_strides[3];
    const bool are_dense = !has_channels_last && arguments.weight_strides[4] == 1 &&
                           arguments.weight_strides[3] == kernel_width && arguments.weight_strides[2] == window;
    x += image * arguments.x_strides[0] + ulong(group) * arguments.x_channels * arguments.x_strides[1];
    weight += group * arguments.weight_strides[0] + first_channel * arguments.weight_strides[1];
    for (uint i = 0; i < own_channels * thread_positions; i++) {
        sums[i] = 0.0f;
    }
    for (uint start = 0; start < arguments.depth; start += tile_k) {
        const uint depth = min(tile_k, arguments.depth - start);
        const uint whole_depth = (depth + unrolled - 1) / unrolled * unrolled;
        for (uint k = laid_first_k; k < whole_depth; k += laid_k_step) {
            threadgroup float *target = panel + k * tile_positions + laid;
            uint inside = 0;
            if (k < depth) {
                const uint channel = has_channels_last ? (start + k) % arguments.x_channels : (start + k) / window;
                const uint position = has_channels_last ? (start + k) / arguments.x_channels : (start + k) % window;
                const uint kh = position / kernel_width;
                const uint kw = position % kernel_width;
                lay_row(arguments, x + channel * arguments.x_strides[1], row, column, int(kh), int(kw),
                        int(laid_inside), target);
                inside = laid_inside;
                if (laid == 0) {
                    offsets[k] = channel * arguments.weight_strides[2] + kh * arguments.weight_strides[3] +
                                kw * arguments.weight_strides[4];
                }
            }
            for (uint i = inside; i < laid_count; i++) {
                target[i] = 0.0f;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint c = 0;
        for (; c + unrolled <= own_channels; c += unrolled) {
            multiply_step<unrolled>(sums + c * thread_positions, panel + first_column,
                                    weight + c * arguments.weight_strides[1], arguments.weight_strides[1], offsets,
                                    are_dense, depth, width);
        }
        for (; c < own_channels; c++) {
            multiply_step<1>(sums + c * thread_positions, panel + first_column,
                             weight + c * arguments.weight_strides[1], arguments.weight_strides[1], offsets, are_dense,
                             depth, width);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    y += image * arguments.y_strides[0];
    const uint own_row = uint((tile_start + first_column) / row_length);
    const uint own_column = uint((tile_start + first_column) % row_length);
    for (uint c = 0; c < own_channels; c++) {
        const ulong channel = ulong(group) * arguments.y_channels + first_channel + c;
        const float added = has_bias ? Element<T>::get(bias[channel * arguments.bias_stride]) : 0.0f;
        uint y_row = own_row;
        uint y_column = own_column;
        for (uint done = 0; done < own_count; y_row++, y_column = 0) {
            const uint run = min(uint(arguments.y_size[1]) - y_column, own_count - done);
            device T *target = y + channel * arguments.y_strides[1] + y_row * arguments.y_strides[2] +
                               y_column * arguments.y_strides[3];
            thread const float *found = sums + c * thread_positions + done;
            if (arguments.y_strides[3] == 1) {
                VECTOR_LOOP
                for (uint i = 0; i < run; i++) {
                    target[i] = Element<T>::put(has_bias ? found[i] + added : found[i]);
                }
            } else {
                VECTOR_LOOP
                for (uint i = 0; i < run; i++) {
                    target[i * arguments.y_strides[3]] = Element<T>::put(has_bias ? found[i] + added : found[i]);
                }
            }
            done += run;
        }
    }
}

template [[host_name("convolution_f32")]] kernel decltype(convolution<float>) convolution<float>;
template [[host_name("convolution_f16")]] kernel decltype(convolution<half>) convolution<half>;
template [[host_name("convolution_bf16")]] kernel decltype(convolution<bf16>) convolution<bf16>;
