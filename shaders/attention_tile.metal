// Attention of many rows on simdgroup matrices: prefill.
#include "attention.h"

#include <metal_simdgroup_matrix>

constant constexpr uint rows_per_simdgroup = 8;
constant constexpr uint simdgroups_per_tile = 4;
constant constexpr uint threads_per_tile = simdgroups_per_tile * simd_width;
constant constexpr uint keys_per_block = page_positions;
constant constexpr uint key_blocks = keys_per_block / 8;
// Added to the length of rows in threadgroup memory, against bank conflicts.
constant constexpr uint padding = 4;
constant constexpr uint score_stride = keys_per_block + padding;

// Keys or values of one page as floats in threadgroup memory, [key][element]. Keys outside of [first, end) are not
// read: one of those takes their place.
template <typename T, uint HeadSize>
inline void stage(HeadPage<T> page, threadgroup float *tile, uint first, uint end, uint thread_index) {
    constexpr uint quads = HeadSize / 4;
    for (uint i = thread_index; i < keys_per_block * quads; i += threads_per_tile) {
        const uint key = i / quads;
        const uint quad = i % quads;
        threadgroup float4 *row = (threadgroup float4 *)(tile + key * (HeadSize + padding));
        row[quad] = page.at(clamp(key, first, end - 1), quad);
    }
}

// A threadgroup takes 32 rows of q of one head, each simdgroup 8 of them; keys and values come in pages that all
// simdgroups share. Scores are made transposed (K . q^T), so that keys are read as they lie. The last tile begins where
// it still is whole, so it may repeat rows of the one before with equal results: there have to be 8 rows.
// `shared` holds, in floats:
//   keys, then values [32][HeadSize + 4], scores of each simdgroup [8][36], a diagonal matrix of each simdgroup [8][8]
template <typename T, uint HeadSize>
kernel void attention_tile(constant AttentionArguments &arguments [[buffer(0)]],
                           device const uint *table [[buffer(1)]],
                           device const float *q [[buffer(2)]],
                           device uchar *k_cache [[buffer(3)]],
                           device uchar *v_cache [[buffer(4)]],
                           device float *y [[buffer(5)]],
                           device const float *sinks [[buffer(6), function_constant(has_sinks)]],
                           threadgroup float *shared [[threadgroup(0)]],
                           uint2 group [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    constexpr uint head_blocks = HeadSize / 8;
    constexpr uint tile_stride = HeadSize + padding;
    threadgroup float *tile = shared;
    threadgroup float *scores = tile + keys_per_block * tile_stride + simdgroup * rows_per_simdgroup * score_stride;
    threadgroup float *diagonal = tile + keys_per_block * tile_stride +
                                  simdgroups_per_tile * rows_per_simdgroup * score_stride + simdgroup * 64;

    const uint head = group.x;
    const uint rows = arguments.rows;
    const uint tile_row = group.y * simdgroups_per_tile * rows_per_simdgroup;
    const uint first_row = min(tile_row + simdgroup * rows_per_simdgroup, rows - rows_per_simdgroup);
    const uint tile_visible = arguments.past + min(tile_row + simdgroups_per_tile * rows_per_simdgroup, rows);
    const uint simdgroup_visible = arguments.past + first_row + rows_per_simdgroup;
    const uint tile_first = first_visible(arguments, arguments.past + min(tile_row, rows - rows_per_simdgroup) + 1);
    const uint simdgroup_first = first_visible(arguments, arguments.past + first_row + 1);

    const uint row_stride = arguments.heads * HeadSize;
    const ulong origin = ulong(first_row) * row_stride + head * HeadSize;
    simdgroup_float8x8 queries[head_blocks];
    simdgroup_float8x8 sums[head_blocks];
    for (uint i = 0; i < head_blocks; i++) {
        simdgroup_load(queries[i], q + origin + i * 8, row_stride, ulong2(0, 0), true);
        sums[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    diagonal[lane] = 0.0f;
    diagonal[lane + simd_width] = 0.0f;

    // Four lanes a row, a quarter of the block's keys each.
    const uint row = lane / 4;
    const uint first_key = lane % 4 * (keys_per_block / 4);
    const uint row_visible = arguments.past + first_row + row + 1;
    const uint row_first = first_visible(arguments, row_visible);
    threadgroup float4 *my_scores = (threadgroup float4 *)(scores + row * score_stride + first_key);
    float running_max = has_sinks ? sinks[head] : no_score;
    float running_sum = has_sinks && lane % 4 == 0 ? 1.0f : 0.0f;

    for (uint start = tile_first - tile_first % page_positions; start < tile_visible; start += page_positions) {
        const uint page = table[start / page_positions];
        const uint first = max(tile_first, start) - start;
        const uint end = min(page_positions, tile_visible - start);
        const HeadPage<T> keys = cached<T>(arguments, k_cache, page, head, HeadSize / 4);
        stage<T, HeadSize>(keys, tile, first, end, thread_index);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const bool sees_block = start < simdgroup_visible && start + keys_per_block > simdgroup_first;
        if (sees_block) {
            for (uint b = 0; b < key_blocks; b++) {
                simdgroup_float8x8 score = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
                for (uint i = 0; i < head_blocks; i++) {
                    simdgroup_float8x8 key;
                    simdgroup_load(key, tile + b * 8 * tile_stride + i * 8, tile_stride);
                    simdgroup_multiply_accumulate(score, key, queries[i], score);
                }
                simdgroup_store(score, scores + b * 8, score_stride, ulong2(0, 0), true);
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
            float4 mine[2] = {my_scores[0] * arguments.scale, my_scores[1] * arguments.scale};
            float block_max = running_max;
            for (uint i = 0; i < 8; i++) {
                const uint key = start + first_key + i;
                if (key >= row_first && key < row_visible) {
                    mine[i / 4][i % 4] = capped(arguments, mine[i / 4][i % 4]);
                    block_max = max(block_max, mine[i / 4][i % 4]);
                }
            }
            const float new_max = quad_max(block_max);
            const float correction = exp(running_max - new_max);
            running_max = new_max;
            running_sum *= correction;
            for (uint i = 0; i < 8; i++) {
                const uint key = start + first_key + i;
                const bool visible = key >= row_first && key < row_visible;
                const float probability = visible ? exp(mine[i / 4][i % 4] - new_max) : 0.0f;
                running_sum += probability;
                mine[i / 4][i % 4] = probability;
            }
            my_scores[0] = mine[0];
            my_scores[1] = mine[1];
            if (lane % 4 == 0) {
                diagonal[row * 9] = correction;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const HeadPage<T> values = cached<T>(arguments, v_cache, page, head, HeadSize / 4);
        stage<T, HeadSize>(values, tile, first, end, thread_index);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (sees_block) {
            simdgroup_float8x8 corrections;
            simdgroup_load(corrections, diagonal, 8);
            simdgroup_float8x8 probabilities[key_blocks];
            for (uint b = 0; b < key_blocks; b++) {
                simdgroup_load(probabilities[b], scores + b * 8, score_stride);
            }
            for (uint i = 0; i < head_blocks; i++) {
                simdgroup_multiply(sums[i], corrections, sums[i]);
                for (uint b = 0; b < key_blocks; b++) {
                    simdgroup_float8x8 value;
                    simdgroup_load(value, tile + b * 8 * tile_stride + i * 8, tile_stride);
                    simdgroup_multiply_accumulate(sums[i], probabilities[b], value, sums[i]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    running_sum = quad_sum(running_sum);
    if (lane % 4 == 0) {
        diagonal[row * 9] = 1.0f / running_sum;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 reciprocals;
    simdgroup_load(reciprocals, diagonal, 8);
    for (uint i = 0; i < head_blocks; i++) {
        simdgroup_multiply(sums[i], reciprocals, sums[i]);
        simdgroup_store(sums[i], y + origin + i * 8, row_stride);
    }
}

typedef decltype(attention_tile<float, 64>) attention_tile_kernel;

template [[host_name("attention_tile_f32_32")]] kernel attention_tile_kernel attention_tile<float, 32>;
template [[host_name("attention_tile_f32_64")]] kernel attention_tile_kernel attention_tile<float, 64>;
template [[host_name("attention_tile_f32_80")]] kernel attention_tile_kernel attention_tile<float, 80>;
template [[host_name("attention_tile_f32_96")]] kernel attention_tile_kernel attention_tile<float, 96>;
template [[host_name("attention_tile_f32_128")]] kernel attention_tile_kernel attention_tile<float, 128>;
template [[host_name("attention_tile_f16_32")]] kernel attention_tile_kernel attention_tile<half, 32>;
template [[host_name("attention_tile_f16_64")]] kernel attention_tile_kernel attention_tile<half, 64>;
template [[host_name("attention_tile_f16_80")]] kernel attention_tile_kernel attention_tile<half, 80>;
template [[host_name("attention_tile_f16_96")]] kernel attention_tile_kernel attention_tile<half, 96>;
template [[host_name("attention_tile_f16_128")]] kernel attention_tile_kernel attention_tile<half, 128>;
template [[host_name("attention_tile_q8_0_32")]] kernel attention_tile_kernel attention_tile<q8_0, 32>;
template [[host_name("attention_tile_q8_0_64")]] kernel attention_tile_kernel attention_tile<q8_0, 64>;
template [[host_name("attention_tile_q8_0_96")]] kernel attention_tile_kernel attention_tile<q8_0, 96>;
template [[host_name("attention_tile_q8_0_128")]] kernel attention_tile_kernel attention_tile<q8_0, 128>;
