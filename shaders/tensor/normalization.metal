// y = (x - mean) / sqrt(variance + epsilon) * weight + bias for the rows of a tensor: layer norm (Ba et al. 2016,
// arXiv:1607.06450), group norm (Wu and He 2018, arXiv:1803.08494), batch norm (Ioffe and Szegedy 2015,
// arXiv:1502.03167), and RMS norm (Zhang and Sennrich 2019, arXiv:1910.07467), which takes 0 for the mean. y may be x.
#include "moments.h"

// In the order of `Form` in src/ops/tensor/normalized.rs, with bits for what else there is.
enum Form : uint { Centred, Rms, Given };
constant uint operation [[function_constant(1)]];
constant uint form = operation & 3;
constant bool has_weight = (operation & 4) != 0;
constant bool has_bias = (operation & 8) != 0;
constant bool has_running = (operation & 16) != 0;
// Whether weight and bias are of type float; otherwise they have the type of x.
constant bool has_float_scales = (operation & 32) != 0;

// The statistics are mean and variance: given, or updated. The divisor of the rows is that of the running variance.
struct NormArguments {
    Rows rows;
    float epsilon;
    float momentum;
    Axes kept_scales;
    Axes reduced_scales;
    Axes kept_statistics;
    Axes reduced_statistics;
};

template <typename T>
struct Elements {
    device const T *x;
    float value(ulong offset, ulong) const { return Element<T>::get(x[offset]); }
};

template <typename T>
struct Squares {
    device const T *x;
    Shift shift;
    float value(ulong offset, ulong) const {
        const float at = Element<T>::get(x[offset]);
        const float off = form == Rms ? at : distance(at, shift);
        return off * off;
    }
};

struct Operands {
    device const uchar *weight;
    device const uchar *bias;
    device const float *mean;
    device const float *variance;
};

template <typename T>
inline float scale_at(device const uchar *scales, ulong offset) {
    return has_float_scales ? ((device const float *)scales)[offset]
                            : Element<T>::get(((device const T *)scales)[offset]);
}

// What an element is computed with.
struct Affine {
    Shift mean;
    float factor;
    float weight;
    float bias;
    float value(float x) const {
        float y = (form == Centred ? distance(x, mean) : x - mean.value) * factor;
        if (has_weight) {
            y *= weight;
        }
        return has_bias ? y + bias : y;
    }
};

inline float inverse_root(float variance, float epsilon) { return 1.0f / precise::sqrt(variance + epsilon); }

// Where a run of elements begins.
struct Run {
    Offset elements;
    Offset scales;
    Offset statistics;
};

inline Offset moved(Offset offset, constant Axes &axes, ulong steps) {
    return {offset.x + steps * axes.strides[0][0], offset.y + steps * axes.strides[0][1]};
}

inline Offset sum_of(Offset a, Offset b) { return {a.x + b.x, a.y + b.y}; }

template <typename T>
inline Affine affine_at(Operands operands, float epsilon, Shift mean, float factor, Offset scales, Offset statistics) {
    Affine affine = {mean, factor, 1.0f, 0.0f};
    if (form == Given) {
        affine.mean.value = operands.mean[statistics.x];
        affine.factor = inverse_root(operands.variance[statistics.y], epsilon);
    }
    if (has_weight) {
        affine.weight = scale_at<T>(operands.weight, scales.x);
    }
    if (has_bias) {
        affine.bias = scale_at<T>(operands.bias, scales.y);
    }
    return affine;
}

// How the scales of a run lie: one for all its elements, one for each without gaps, or otherwise.
enum Along { Same, Dense, Other };

template <typename T>
struct Writer {
    device const T *x;
    device T *y;
    Operands operands;
    float epsilon;
    Shift mean;
    float factor;
    Affine same;

    template <Along along>
    float value(constant NormArguments &arguments, Run run, ulong i) const {
        if (along == Same) {
            return same.value(Element<T>::get(x[run.elements.x + i]));
        }
        if (along == Dense) {
            const Offset scales = {run.scales.x + i, run.scales.y + i};
            const Offset statistics = {run.statistics.x + i, run.statistics.y + i};
            return affine_at<T>(operands, epsilon, mean, factor, scales, statistics)
                .value(Element<T>::get(x[run.elements.x + i]));
        }
        const Offset scales = moved(run.scales, arguments.reduced_scales, i);
        const Offset statistics = moved(run.statistics, arguments.reduced_statistics, i);
        return affine_at<T>(operands, epsilon, mean, factor, scales, statistics)
            .value(Element<T>::get(x[moved(run.elements, arguments.rows.reduced, i).x]));
    }
};

// Rows of channels are often shorter than BLOCK.
constant constexpr uint written_block = BLOCK > 64 ? 64 : BLOCK;

// Whole blocks from element `i` on; returns where the next would not be whole. A block is loaded before it is stored,
// since y may be x.
template <uint block, Along along, typename T>
INLINE ulong write_blocks(constant NormArguments &arguments, thread const Writer<T> &writer, Run run, ulong i,
                          ulong size) {
    for (; i + block <= size; i += block) {
        float values[block];
        BLOCK_LOOP(block)
        for (uint k = 0; k < block; k++) {
            values[k] = writer.template value<along>(arguments, run, i + k);
        }
        BLOCK_LOOP(block)
        for (uint k = 0; k < block; k++) {
            writer.y[run.elements.y + i + k] = Element<T>::put(values[k]);
        }
    }
    return i;
}

// A run, by this thread alone or by those side by side.
template <Along along, typename T>
INLINE void write_run(constant NormArguments &arguments, thread const Writer<T> &writer, Run run, ulong i) {
    const ulong size = arguments.rows.reduced.shape[0];
    if (is_alone && along != Other) {
        i = write_blocks<written_block, along>(arguments, writer, run, i, size);
        if (BLOCK > short_block) {
            i = write_blocks<short_block, along>(arguments, writer, run, i, size);
        }
    }
    ROLLED
    for (; i < size; i += is_alone ? 1 : arguments.rows.width) {
        const float value = writer.template value<along>(arguments, run, i);
        writer.y[moved(run.elements, arguments.rows.reduced, i).y] = Element<T>::put(value);
    }
}

template <typename T>
kernel void normalize(constant NormArguments &arguments [[buffer(0)]],
                      device const T *x [[buffer(1)]],
                      device T *y [[buffer(2)]],
                      device const uchar *weight [[buffer(3)]],
                      device const uchar *bias [[buffer(4)]],
                      device uchar *mean_bytes [[buffer(5)]],
                      device uchar *variance_bytes [[buffer(6)]],
                      uint position [[thread_position_in_grid]],
                      uint group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]],
                      uint threads [[threads_per_threadgroup]]) {
    threadgroup float values[max_threads];
    threadgroup float rests[max_threads];
    constant Rows &rows = arguments.rows;
    // What an operation lacks is bound to x, which may be aligned for its own type only.
    device float *mean = (device float *)mean_bytes;
    device float *variance = (device float *)variance_bytes;
    const uint index = is_alone ? position : group;
    const Run row = {offset_of(rows.kept, 0, rows.kept_rank, index),
                     offset_of(arguments.kept_scales, 0, rows.kept_rank, index),
                     offset_of(arguments.kept_statistics, 0, rows.kept_rank, index)};
    const Member member = {thread_index, threads};
    Shift centre = {0.0f, 0.0f};
    float factor = 1.0f;
    if (form != Given) {
        if (form == Centred) {
            const Elements<T> elements = {x};
            centre = mean_of(gathered<float>(rows, Add, row.elements.x, member, elements, values, rests), rows.count);
        }
        const Squares<T> squares = {x, centre};
        const float sum = total(gathered<float>(rows, Add, row.elements.x, member, squares, values, rests));
        factor = inverse_root(sum / float(rows.count), arguments.epsilon);
        if (has_running && (is_alone || thread_index == 0)) {
            const float momentum = arguments.momentum;
            device float &old_mean = mean[row.statistics.x];
            device float &old_variance = variance[row.statistics.y];
            old_mean = (1.0f - momentum) * old_mean + momentum * centre.value;
            old_variance = (1.0f - momentum) * old_variance + momentum * (sum / rows.divisor);
        }
    }
    if (!is_alone) {
        // Where y is x, other threads have read what this one writes.
        threadgroup_barrier(mem_flags::mem_device);
    }
    const Operands operands = {weight, bias, mean, variance};
    Writer<T> writer = {x, y, operands, arguments.epsilon, centre, factor, {}};
    constant ulong *scales = arguments.reduced_scales.strides[0];
    constant ulong *statistics = arguments.reduced_statistics.strides[0];
    const ulong any = scales[0] | scales[1] | statistics[0] | statistics[1];
    const bool are_same = any == 0;
    const bool are_dense = any == 1 && (scales[0] & scales[1] & statistics[0] & statistics[1]) == 1;
    const ulong runs_step = is_alone ? 1 : threads / rows.width;
    const ulong first = is_alone ? 0 : thread_index % rows.width;
    for (ulong i = is_alone ? 0 : thread_index / rows.width; i < rows.runs; i += runs_step) {
        const Run run = {sum_of(row.elements, offset_of(rows.reduced, 1, rows.rank, i)),
                         sum_of(row.scales, offset_of(arguments.reduced_scales, 1, rows.rank, i)),
                         sum_of(row.statistics, offset_of(arguments.reduced_statistics, 1, rows.rank, i))};
        if (is_dense && are_same) {
            writer.same = affine_at<T>(operands, arguments.epsilon, centre, factor, run.scales, run.statistics);
            write_run<Same>(arguments, writer, run, first);
        } else if (is_dense && are_dense) {
            write_run<Dense>(arguments, writer, run, first);
        } else {
            write_run<Other>(arguments, writer, run, first);
        }
    }
}

template [[host_name("normalize_f32")]] kernel decltype(normalize<float>) normalize<float>;
template [[host_name("normalize_f16")]] kernel decltype(normalize<half>) normalize<half>;
template [[host_name("normalize_bf16")]] kernel decltype(normalize<bf16>) normalize<bf16>;
