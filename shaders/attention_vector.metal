// Attention of single rows: decoding, and head sizes that fill no matrices.
#include "attention.h"

// A multiple of 4, at most 256.
constant uint head_size [[function_constant(0)]];

constant constexpr uint keys_per_lane = 2;
constant constexpr uint keys_per_block = simd_width * keys_per_lane;
constant constexpr uint max_quads_per_lane = 2;

// One threadgroup a head of a row of q; its simdgroups take blocks of 64 keys in turn and merge what they have at the
// end. Within a block a lane scores keys of its own; then the lanes spread over the elements of the values, in as many
// sets of lanes as fit (each set takes its own keys). `shared` holds, in floats:
//   query [head_size], probabilities [simdgroups][64], sums of values [simdgroups][sets][head_size],
//   maxima [simdgroups], sums of probabilities [simdgroups]
template <typename T>
kernel void attention_vector(constant AttentionArguments &arguments [[buffer(0)]],
                             device const float *q [[buffer(1)]],
                             device const vec<T, 4> *k_cache [[buffer(2)]],
                             device const vec<T, 4> *v_cache [[buffer(3)]],
                             device float4 *y [[buffer(4)]],
                             device const float *sinks [[buffer(5), function_constant(has_sinks)]],
                             threadgroup float *shared [[threadgroup(0)]],
                             uint2 group [[threadgroup_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]],
                             uint simdgroups [[simdgroups_per_threadgroup]]) {
    const uint threads = simdgroups * simd_width;
    const uint quads = head_size / 4;
    const uint lanes_per_set = min(quads, simd_width);
    const uint sets = simd_width / lanes_per_set;
    const uint set = lane / lanes_per_set;
    const uint first_quad = lane % lanes_per_set;

    threadgroup float *query = shared;
    threadgroup float *probabilities = query + head_size + simdgroup * keys_per_block;
    threadgroup float *values = query + head_size + simdgroups * keys_per_block;
    threadgroup float *maxima = values + simdgroups * sets * head_size;
    threadgroup float *sums = maxima + simdgroups;

    const uint head = group.x;
    const uint row = group.y;
    const uint visible = arguments.past + row + 1;
    const uint first = first_visible(arguments, visible);
    const ulong row_of_q = ulong(row) * arguments.heads + head;
    device const vec<T, 4> *keys = k_cache + cache_start(arguments, head_size, head);
    device const vec<T, 4> *head_values = v_cache + cache_start(arguments, head_size, head);

    for (uint i = thread_index; i < head_size; i += threads) {
        query[i] = q[row_of_q * head_size + i] * arguments.scale;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup const float4 *query4 = (threadgroup const float4 *)query;

    // The first simdgroup has the sink among its scores.
    const bool has_sink = has_sinks && simdgroup == 0;
    float running_max = has_sink ? sinks[head] : no_score;
    float running_sum = has_sink && lane == 0 ? 1.0f : 0.0f;
    float4 sum_of_values[max_quads_per_lane] = {float4(0.0f), float4(0.0f)};
    for (uint start = first + simdgroup * keys_per_block; start < visible; start += simdgroups * keys_per_block) {
        float scores[keys_per_lane];
        float block_max = running_max;
        for (uint i = 0; i < keys_per_lane; i++) {
            const uint key = start + i * simd_width + lane;
            scores[i] = running_max;
            if (key < visible) {
                device const vec<T, 4> *elements = keys + ulong(key) * quads;
                float4 products = float4(0.0f);
                for (uint e = 0; e < quads; e++) {
                    products = fma(query4[e], float4(elements[e]), products);
                }
                scores[i] = capped(arguments, (products.x + products.y) + (products.z + products.w));
                block_max = max(block_max, scores[i]);
            }
        }
        const float new_max = simd_max(block_max);
        const float correction = exp(running_max - new_max);
        running_max = new_max;
        running_sum *= correction;
        for (uint i = 0; i < keys_per_lane; i++) {
            const uint key = start + i * simd_width + lane;
            const float probability = key < visible ? exp(scores[i] - new_max) : 0.0f;
            running_sum += probability;
            probabilities[i * simd_width + lane] = probability;
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (set < sets) {
            const uint count = min(keys_per_block, visible - start);
            for (uint i = 0; i < max_quads_per_lane; i++) {
                const uint quad = first_quad + i * simd_width;
                if (quad < quads) {
                    float4 sum = sum_of_values[i] * correction;
                    for (uint key = set; key < count; key += sets) {
                               sum = fma(float4(probabilities[key]),
                                         float4(head_values[ulong(start + key) * quads + quad]), sum);
                    }
                    sum_of_values[i] = sum;
                }
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    running_sum = simd_sum(running_sum);
    if (lane == 0) {
        maxima[simdgroup] = running_max;
        sums[simdgroup] = running_sum;
    }
    threadgroup float4 *values4 = (threadgroup float4 *)values;
    if (set < sets) {
        for (uint i = 0; i < max_quads_per_lane; i++) {
            const uint quad = first_quad + i * simd_width;
            if (quad < quads) {
                values4[(simdgroup * sets + set) * quads + quad] = sum_of_values[i];
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float overall_max = maxima[0];
    for (uint s = 1; s < simdgroups; s++) {
        overall_max = max(overall_max, maxima[s]);
    }
    for (uint quad = thread_index; quad < quads; quad += threads) {
        float4 value = float4(0.0f);
        float sum = 0.0f;
        for (uint s = 0; s < simdgroups; s++) {
            const float weight = exp(maxima[s] - overall_max);
            sum = fma(weight, sums[s], sum);
            for (uint i = 0; i < sets; i++) {
                value = fma(float4(weight), values4[(s * sets + i) * quads + quad], value);
            }
        }
        y[row_of_q * quads + quad] = value / sum;
    }
}

typedef decltype(attention_vector<float>) attention_vector_kernel_f32;
typedef decltype(attention_vector<half>) attention_vector_kernel_f16;

template [[host_name("attention_vector_f32")]] kernel attention_vector_kernel_f32 attention_vector<float>;
template [[host_name("attention_vector_f16")]] kernel attention_vector_kernel_f16 attention_vector<half>;
