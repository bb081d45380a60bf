// Attention of single rows: decoding, and head sizes that fill no matrices.
#include "attention.h"

// A multiple of 4, at most 256.
constant uint head_size [[function_constant(0)]];

// A lane scores one key of each page.
constant constexpr uint pages_per_block = 2;
constant constexpr uint keys_per_block = page_positions * pages_per_block;
static_assert(page_positions == simd_width, "a page has a key for each lane");
constant constexpr uint max_quads_per_lane = 2;

// One threadgroup a head of a row of q; its simdgroups take blocks of two pages in turn and merge what they have at the
// end. Within a block a lane scores keys of its own; then the lanes spread over the elements of the values, in as many
// sets of lanes as fit (each set takes its own keys). `shared` holds, in floats:
//   query [head_size], probabilities [simdgroups][64], sums of values [simdgroups][sets][head_size],
//   maxima [simdgroups], sums of probabilities [simdgroups]
template <typename T>
kernel void attention_vector(constant AttentionArguments &arguments [[buffer(0)]],
                             device const uint *table [[buffer(1)]],
                             device const float *q [[buffer(2)]],
                             device uchar *k_cache [[buffer(3)]],
                             device uchar *v_cache [[buffer(4)]],
                             device float4 *y [[buffer(5)]],
                             device const float *sinks [[buffer(6), function_constant(has_sinks)]],
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
    const uint end_page = (visible - 1) / page_positions + 1;
    const uint block_step = simdgroups * pages_per_block;
    for (uint block = first / page_positions + simdgroup * pages_per_block; block < end_page; block += block_step) {
        uint pages[pages_per_block];
        float scores[pages_per_block];
        float block_max = running_max;
        for (uint i = 0; i < pages_per_block; i++) {
            pages[i] = table[min(block + i, end_page - 1)];
            const HeadPage<T> keys = cached<T>(arguments, k_cache, pages[i], head, quads);
            const uint key = (block + i) * page_positions + lane;
            scores[i] = no_score;
            if (key >= first && key < visible) {
                float4 products = float4(0.0f);
                for (uint e = 0; e < quads; e++) {
                    products = fma(query4[e], keys.at(lane, e), products);
                }
                scores[i] = capped(arguments, (products.x + products.y) + (products.z + products.w));
                block_max = max(block_max, scores[i]);
            }
        }
        const float new_max = simd_max(block_max);
        const float correction = exp(running_max - new_max);
        running_max = new_max;
        running_sum *= correction;
        for (uint i = 0; i < pages_per_block; i++) {
            const uint key = (block + i) * page_positions + lane;
            const float probability = key >= first && key < visible ? exp(scores[i] - new_max) : 0.0f;
            running_sum += probability;
            probabilities[i * page_positions + lane] = probability;
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (set < sets) {
            for (uint i = 0; i < max_quads_per_lane; i++) {
                const uint quad = first_quad + i * simd_width;
                if (quad < quads) {
                    float4 sum = sum_of_values[i] * correction;
                    for (uint p = 0; p < pages_per_block; p++) {
                        const uint start = (block + p) * page_positions;
                        const uint begin = max(first, start) - start;
                        const uint end = min(page_positions, visible - min(visible, start));
                        const HeadPage<T> page = cached<T>(arguments, v_cache, pages[p], head, quads);
                        for (uint key = begin + set; key < end; key += sets) {
                            const float probability = probabilities[p * page_positions + key];
                            sum = fma(float4(probability), page.at(key, quad), sum);
                        }
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

typedef decltype(attention_vector<float>) attention_vector_kernel;

template [[host_name("attention_vector_f32")]] kernel attention_vector_kernel attention_vector<float>;
template [[host_name("attention_vector_f16")]] kernel attention_vector_kernel attention_vector<half>;
template [[host_name("attention_vector_q8_0")]] kernel attention_vector_kernel attention_vector<q8_0>;
