// Attention of single rows, each lane on a head of a row of its own: for devices that run lanes one after another. GPUs
// run `attention_vector` instead.
#include "attention.h"

// A multiple of 4, at most 256.
constant uint head_size [[function_constant(0)]];

constant constexpr uint max_head_size = 256;
// Elements of a head that are read in runs; the others are read four by four.
constant uint elements_of_runs = head_size / run_elements * run_elements;

// The product of a query with the key of a position.
template <typename T>
METAL_FUNC float score_of(thread const float *query, thread const HeadPage<T> &keys, uint position) {
    float sums[run_elements], key[run_elements];
    ONE_VECTOR(run_elements)
    for (uint i = 0; i < run_elements; i++) sums[i] = 0.0f;
    for (uint first = 0; first < elements_of_runs; first += run_elements) {
        keys.read(position, first, key);
        ONE_VECTOR(run_elements)
        for (uint i = 0; i < run_elements; i++) sums[i] = fma((query + first)[i], key[i], sums[i]);
    }
    for (uint first = elements_of_runs; first < head_size; first += 4) {
        const float4 four = keys.at(position, first / 4);
        for (uint i = 0; i < 4; i++) sums[i] = fma((query + first)[i], four[i], sums[i]);
    }
    #pragma clang loop unroll(full)
    for (uint half_of_sums = run_elements / 2; half_of_sums > 0; half_of_sums /= 2) {
        #pragma clang loop unroll(full)
        for (uint i = 0; i < half_of_sums; i++) sums[i] += sums[i + half_of_sums];
    }
    return sums[0];
}

// Adds the value of a position, `probability` times, to `sums`.
template <typename T>
METAL_FUNC void add_value(thread float *sums, thread const HeadPage<T> &values, uint position, float probability) {
    float value[run_elements];
    for (uint first = 0; first < elements_of_runs; first += run_elements) {
        values.read(position, first, value);
        ONE_VECTOR(run_elements)
        for (uint i = 0; i < run_elements; i++) (sums + first)[i] = fma(probability, value[i], (sums + first)[i]);
    }
    for (uint first = elements_of_runs; first < head_size; first += 4) {
        const float4 four = values.at(position, first / 4);
        for (uint i = 0; i < 4; i++) (sums + first)[i] = fma(probability, four[i], (sums + first)[i]);
    }
}

template <typename T>
kernel void attention_in_turn(constant AttentionArguments &arguments [[buffer(0)]],
                           device const uint *table [[buffer(1)]],
                           device const float *q [[buffer(2)]],
                           device uchar *k_cache [[buffer(3)]],
                           device uchar *v_cache [[buffer(4)]],
                           device float *y [[buffer(5)]],
                           device const float *sinks [[buffer(6), function_constant(has_sinks)]],
                           uint2 position [[thread_position_in_grid]]) {
    const uint head = position.x;
    const uint row = position.y;
    const uint visible = arguments.past + row + 1;
    const uint first = first_visible(arguments, visible);
    const ulong first_element = (ulong(row) * arguments.heads + head) * head_size;

    float query[max_head_size], sums[max_head_size];
    for (uint i = 0; i < head_size; i++) {
        query[i] = q[first_element + i] * arguments.scale;
        sums[i] = 0.0f;
    }
    float running_max = has_sinks ? sinks[head] : no_score;
    float running_sum = has_sinks ? 1.0f : 0.0f;
    const uint end_page = (visible - 1) / page_positions + 1;
    for (uint block = first / page_positions; block < end_page; block++) {
        const HeadPage<T> keys = cached<T>(arguments, k_cache, table[block], head, head_size / 4);
        const HeadPage<T> values = cached<T>(arguments, v_cache, table[block], head, head_size / 4);
        const uint start = block * page_positions;
        const uint begin = max(first, start) - start;
        const uint end = min(page_positions, visible - start);

        float probabilities[page_positions];
        float new_max = running_max;
        for (uint i = begin; i < end; i++) {
            probabilities[i] = capped(arguments, score_of<T>(query, keys, i));
            new_max = max(new_max, probabilities[i]);
        }
        const float correction = exp(running_max - new_max);
        running_max = new_max;
        running_sum *= correction;
        for (uint i = 0; i < head_size; i++) sums[i] *= correction;
        for (uint i = begin; i < end; i++) probabilities[i] = exp(probabilities[i] - new_max);
        for (uint i = begin; i < end; i++) {
            running_sum += probabilities[i];
            add_value<T>(sums, values, i, probabilities[i]);
        }
    }
    for (uint i = 0; i < head_size; i++) y[first_element + i] = sums[i] / running_sum;
}

typedef decltype(attention_in_turn<float>) attention_in_turn_kernel;

template [[host_name("attention_in_turn_f32")]] kernel attention_in_turn_kernel attention_in_turn<float>;
template [[host_name("attention_in_turn_f16")]] kernel attention_in_turn_kernel attention_in_turn<half>;
template [[host_name("attention_in_turn_q8_0")]] kernel attention_in_turn_kernel attention_in_turn<q8_0>;
