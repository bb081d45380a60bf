// y = softmax(scale * q . k^T + mask) . v for each head, over the keys that a row sees: attention of tensors of any
// strides, with the online softmax of attention.h, in which infinities are kept here.
#include "attention_keys.h"
#include "products.h"

// In the order of src/ops/tensor/attention.rs.
enum Mask : uint { NoMask, Seen, AddedFloat, AddedElement };
constant uint mask_form [[function_constant(1)]];
constant bool has_mask = mask_form != NoMask;

constant constexpr uint max_size = 256;

// A score with its mask; negative infinity if the row does not see the key.
template <typename T>
inline float masked(device const uchar *mask, ulong offset, float score) {
    switch (mask_form) {
    case Seen: return mask[offset] != 0 ? score : -INFINITY;
    case AddedFloat: return score + ((device const float *)mask)[offset];
    case AddedElement: return score + Element<T>::get(((device const T *)mask)[offset]);
    default: return score;
    }
}

// What is found of a row so far: exponentials are relative to the largest score.
struct Progress {
    float largest;
    float sum;
};

// What earlier sums are multiplied by if the largest score is now `next`. Without any key seen there is nothing yet.
inline float correction(float largest, float next) { return largest == next ? 1.0f : precise::exp(largest - next); }

inline float exponential(float score, float largest) {
    return score == -INFINITY && largest == -INFINITY ? 0.0f : precise::exp(score - largest);
}

inline float larger(float a, float b) { return b > a || isnan(b) ? b : a; }

constant constexpr uint tile_rows = 32;
constant constexpr uint tile_keys = 64;
// More than tile_keys, so that the rows of a panel do not all meet in the same sets of a cache.
constant constexpr uint panel_stride = tile_keys + 16;
// Up to so many rows keys are not worth being transposed.
constant constexpr uint few_rows = 2;

inline uint whole_vectors(uint size) { return (size + 15) / 16 * 16; }

// scores[row][key] = query . key, element by element of a key where it lies.
template <typename T>
inline void few_scores(constant AttentionArguments &arguments, device const T *k, thread const float *queries,
                       uint query_stride, uint rows, uint count, thread float *scores) {
    const ulong step = arguments.k_strides[3];
    for (uint key = 0; key < count; key++) {
        device const T *elements = k + key * arguments.k_strides[2];
        for (uint row = 0; row < rows; row++) {
            float sums[16] = {};
            uint e = 0;
            if (step == 1) {
                for (; e + 16 <= arguments.head_size; e += 16) {
                    for (uint i = 0; i < 16; i++) {
                        sums[i] = fma(queries[row * query_stride + e + i], Element<T>::get(elements[e + i]), sums[i]);
                    }
                }
            }
            for (; e < arguments.head_size; e++) {
                sums[e % 16] = fma(queries[row * query_stride + e], Element<T>::get(elements[e * step]), sums[e % 16]);
            }
            for (uint reach = 8; reach > 0; reach /= 2) {
                for (uint i = 0; i < reach; i++) {
                    sums[i] += sums[i + reach];
                }
            }
            scores[row * tile_keys + key] = sums[0];
        }
    }
}

// sums[row] += weights[row] . panel for all rows and `depth` rows of the panel, which are zeros beyond.
template <typename Panel>
inline void multiply_all(thread float *sums, uint sums_stride, Panel panel, uint stride, thread const float *left,
                         uint left_stride, uint rows, uint depth, uint width) {
    for (uint row = 0; row < rows; row += unrolled) {
        for (uint k = 0; k < depth; k += unrolled) {
            float weights[unrolled * unrolled];
            for (uint r = 0; r < unrolled; r++) {
                for (uint j = 0; j < unrolled; j++) {
                    weights[r * unrolled + j] = left[(row + r) * left_stride + k + j];
                }
            }
            multiply<unrolled>(sums + row * sums_stride, sums_stride, panel + k * stride, stride, weights, width);
        }
    }
}

// Where lanes run in turn: a thread takes `tile_rows` rows of a head, those of a sequence together, and blocks of keys
// one after the other.
template <typename T>
kernel void attention_rows(constant AttentionArguments &arguments [[buffer(0)]],
                           device const T *q [[buffer(1)]],
                           device const T *k [[buffer(2)]],
                           device const T *v [[buffer(3)]],
                           device T *y [[buffer(4)]],
                           device const uchar *mask [[buffer(5), function_constant(has_mask)]],
                           device const uchar *lengths [[buffer(6)]],
                           uint3 position [[thread_position_in_grid]]) {
    float queries[tile_rows * max_size];
    float sums[tile_rows * max_size];
    float scores[tile_rows * tile_keys];
    // Keys transposed, then values as they are.
    float panel[max_size * panel_stride];
    Progress progress[tile_rows];
    Keys seen[tile_rows];

    const uint head = position.y;
    const uint batch = position.z;
    const uint depth = (arguments.head_size + unrolled - 1) / unrolled * unrolled;
    const uint width = whole_vectors(arguments.value_size);
    const uint kv_head = head / arguments.group;
    q += batch * arguments.q_strides[0] + head * arguments.q_strides[1];
    y += batch * arguments.y_strides[0] + head * arguments.y_strides[1];
    k += batch * arguments.k_strides[0] + kv_head * arguments.k_strides[1];
    v += batch * arguments.v_strides[0] + kv_head * arguments.v_strides[1];
    const ulong mask_start = batch * arguments.mask_strides[0] + head * arguments.mask_strides[1];

    const uint tile_end = min((position.x + 1) * tile_rows, arguments.rows);
    for (uint first_row = position.x * tile_rows, rows = 0; first_row < tile_end; first_row += rows) {
        rows = end_of_sequence(arguments, lengths, first_row, tile_end) - first_row;
        const uint whole_rows = (rows + unrolled - 1) / unrolled * unrolled;
        uint begin = arguments.keys;
        uint end = 0;
        for (uint row = 0; row < whole_rows; row++) {
            for (uint e = 0; e < depth; e++) {
                const bool is_inside = row < rows && e < arguments.head_size;
                const ulong offset = (first_row + row) * arguments.q_strides[2] + e * arguments.q_strides[3];
                queries[row * depth + e] = is_inside ? Element<T>::get(q[offset]) : 0.0f;
            }
            VECTOR_LOOP
            for (uint e = 0; e < width; e++) {
                sums[row * width + e] = 0.0f;
            }
            progress[row] = {-INFINITY, 0.0f};
            seen[row] = {0, 0};
            if (row < rows) {
                seen[row] = keys_of(arguments, lengths, batch, first_row + row);
                if (seen[row].begin < seen[row].end) {
                    begin = min(begin, seen[row].begin);
                    end = max(end, seen[row].end);
                }
            }
        }

        for (uint start = begin; start < end; start += tile_keys) {
            const uint count = min(tile_keys, end - start);
            for (uint i = 0; i < whole_rows * tile_keys; i++) {
                scores[i] = 0.0f;
            }
            device const T *keys = k + start * arguments.k_strides[2];
            if (rows <= few_rows) {
                few_scores<T>(arguments, keys, queries, depth, rows, count, scores);
            } else {
                for (uint e = 0; e < depth; e++) {
                    for (uint key = 0; key < tile_keys; key++) {
                        const bool is_inside = key < count && e < arguments.head_size;
                        panel[e * panel_stride + key] =
                            is_inside ? Element<T>::get(keys[key * arguments.k_strides[2] + e * arguments.k_strides[3]])
                                      : 0.0f;
                    }
                }
                multiply_all(scores, tile_keys, panel, panel_stride, queries, depth, whole_rows, depth, tile_keys);
            }
            for (uint row = 0; row < rows; row++) {
                thread float *own = scores + row * tile_keys;
                const ulong mask_row = mask_start + (first_row + row) * arguments.mask_strides[2];
                float largest = progress[row].largest;
                // What is not seen has no score.
                const uint low = min(max(seen[row].begin, start) - start, tile_keys);
                const uint high = seen[row].end > start ? min(seen[row].end - start, tile_keys) : 0;
                for (uint key = 0; key < tile_keys; key++) {
                    float score = own[key] * arguments.scale;
                    if (has_mask) {
                        score = key >= low && key < high
                                    ? masked<T>(mask, mask_row + (start + key) * arguments.mask_strides[3], score)
                                    : -INFINITY;
                    }
                    own[key] = key >= low && key < high ? score : -INFINITY;
                }
                for (uint key = 0; key < tile_keys; key++) {
                    largest = larger(largest, own[key]);
                }
                const float factor = correction(progress[row].largest, largest);
                float sum = progress[row].sum * factor;
                for (uint key = 0; key < tile_keys; key++) {
                    own[key] = exponential(own[key], largest);
                }
                for (uint key = 0; key < tile_keys; key++) {
                    sum += own[key];
                }
                progress[row] = {largest, sum};
                if (factor != 1.0f) {
                    VECTOR_LOOP
                    for (uint e = 0; e < width; e++) {
                        sums[row * width + e] *= factor;
                    }
                }
            }
            const uint whole_count = (count + unrolled - 1) / unrolled * unrolled;
            for (uint key = 0; key < whole_count; key++) {
                device const T *value = v + (start + key) * arguments.v_strides[2];
                const uint inside = key < count ? arguments.value_size : 0;
                thread float *row_of_panel = panel + key * width;
                if (arguments.v_strides[3] == 1) {
                    VECTOR_LOOP
                    for (uint e = 0; e < inside; e++) {
                        row_of_panel[e] = Element<T>::get(value[e]);
                    }
                } else {
                    VECTOR_LOOP
                    for (uint e = 0; e < inside; e++) {
                        row_of_panel[e] = Element<T>::get(value[e * arguments.v_strides[3]]);
                    }
                }
                VECTOR_LOOP
                for (uint e = inside; e < width; e++) {
                    row_of_panel[e] = 0.0f;
                }
            }
            multiply_all(sums, width, panel, width, scores, tile_keys, whole_rows, whole_count, width);
        }
        for (uint row = 0; row < rows; row++) {
            const float sum = progress[row].sum;
            for (uint e = 0; e < arguments.value_size; e++) {
                // A row that sees no key is 0.
                const float value = sum == 0.0f ? 0.0f : sums[row * width + e] / sum;
                y[(first_row + row) * arguments.y_strides[2] + e * arguments.y_strides[3]] = Element<T>::put(value);
            }
        }
    }
}

constant constexpr uint simd_width = 32;

// On a GPU: a simdgroup takes a row of a head, and its lanes first a key each, then elements of the values.
template <typename T>
kernel void attention_row(constant AttentionArguments &arguments [[buffer(0)]],
                          device const T *q [[buffer(1)]],
                          device const T *k [[buffer(2)]],
                          device const T *v [[buffer(3)]],
                          device T *y [[buffer(4)]],
                          device const uchar *mask [[buffer(5), function_constant(has_mask)]],
                          device const uchar *lengths [[buffer(6)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint per_lane = max_size / simd_width;
    threadgroup float query[max_size];
    threadgroup float weights[simd_width];
    const uint row = group.x;
    const uint head = group.y;
    const uint batch = group.z;
    const uint kv_head = head / arguments.group;
    q += batch * arguments.q_strides[0] + head * arguments.q_strides[1] + row * arguments.q_strides[2];
    y += batch * arguments.y_strides[0] + head * arguments.y_strides[1] + row * arguments.y_strides[2];
    k += batch * arguments.k_strides[0] + kv_head * arguments.k_strides[1];
    v += batch * arguments.v_strides[0] + kv_head * arguments.v_strides[1];
    const ulong mask_row =
        batch * arguments.mask_strides[0] + head * arguments.mask_strides[1] + row * arguments.mask_strides[2];
    for (uint e = lane; e < arguments.head_size; e += simd_width) {
        query[e] = Element<T>::get(q[e * arguments.q_strides[3]]);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);

    const Keys seen = keys_of(arguments, lengths, batch, row);
    Progress progress = {-INFINITY, 0.0f};
    float sums[per_lane] = {};
    for (uint start = seen.begin; start < seen.end; start += simd_width) {
        const uint key = start + lane;
        float score = -INFINITY;
        if (key < seen.end) {
            device const T *elements = k + key * arguments.k_strides[2];
            float product = 0.0f;
            for (uint e = 0; e < arguments.head_size; e++) {
                product = fma(query[e], Element<T>::get(elements[e * arguments.k_strides[3]]), product);
            }
            score = masked<T>(mask, mask_row + key * arguments.mask_strides[3], product * arguments.scale);
        }
        // The largest as `larger` has it: NaN wins.
        const float most = simd_max(isnan(score) ? INFINITY : score);
        const float largest = larger(progress.largest, simd_any(isnan(score)) ? NAN : most);
        const float factor = correction(progress.largest, largest);
        const float weight = exponential(score, largest);
        progress = {largest, progress.sum * factor + simd_sum(weight)};
        weights[lane] = weight;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        const uint count = min(simd_width, seen.end - start);
        for (uint i = 0; i < per_lane; i++) {
            const uint e = lane + i * simd_width;
            if (e < arguments.value_size) {
                float sum = sums[i] * factor;
                for (uint j = 0; j < count; j++) {
                    const ulong offset = (start + j) * arguments.v_strides[2] + e * arguments.v_strides[3];
                    sum = fma(weights[j], Element<T>::get(v[offset]), sum);
                }
                sums[i] = sum;
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < per_lane; i++) {
        const uint e = lane + i * simd_width;
        if (e < arguments.value_size) {
            const float value = progress.sum == 0.0f ? 0.0f : sums[i] / progress.sum;
            y[e * arguments.y_strides[3]] = Element<T>::put(value);
        }
    }
}

#define INSTANTIATE(name, T) \
    template [[host_name("attention_rows_" #name)]] kernel decltype(attention_rows<T>) attention_rows<T>; \
    template [[host_name("attention_row_" #name)]] kernel decltype(attention_row<T>) attention_row<T>;

INSTANTIATE(f32, float)
INSTANTIATE(f16, half)
INSTANTIATE(bf16, bf16)
