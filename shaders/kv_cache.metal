// Puts new keys and values into a KV cache.
#include "kv_pages.h"
#include "order.h"

// A multiple of 4.
constant uint head_size [[function_constant(0)]];

struct AppendArguments {
    uint kv_heads;
    uint pages;
    uint past;
};

// What T holds, and what products in float do not overflow with: an infinity of one position would become a NaN in
// others, which multiply it by a weight of zero. A NaN stays one: no number may take the place of a failed computation.
template <typename T>
inline vec<T, 4> stored(float4 value) {
    const float4 limit = float4(min(float(numeric_limits<T>::max()), 0x1p96f));
    return vec<T, 4>(keep_nan(value, clamp(value, -limit, limit)));
}

template <typename T>
inline HeadPage<T> page_of(constant AppendArguments &arguments, device uchar *cache, uint page, uint head) {
    return head_page<T>(cache, page, arguments.pages, arguments.kv_heads, head, head_size / 4);
}

// k and v [rows, kv_heads, head_size] to positions past, past + 1, ... of a text. A page that the cache does not have
// takes nothing. Grid (quads of a row, rows).
template <typename T>
kernel void kv_append(constant AppendArguments &arguments [[buffer(0)]],
                      device const uint *table [[buffer(1)]],
                      device const float4 *k [[buffer(2)]],
                      device const float4 *v [[buffer(3)]],
                      device uchar *k_cache [[buffer(4)]],
                      device uchar *v_cache [[buffer(5)]],
                      uint2 grid_position [[thread_position_in_grid]]) {
    const uint quads = head_size / 4;
    const uint head = grid_position.x / quads;
    const uint quad = grid_position.x % quads;
    const uint position = arguments.past + grid_position.y;
    const uint page = table[position / page_positions];
    if (page >= arguments.pages) return;
    const ulong source = ulong(grid_position.y) * arguments.kv_heads * quads + grid_position.x;
    const uint target = position % page_positions * quads + quad;
    page_of<T>(arguments, k_cache, page, head).elements[target] = stored<T>(k[source]);
    page_of<T>(arguments, v_cache, page, head).elements[target] = stored<T>(v[source]);
}

// Stores a block: the largest magnitude is 127 times the scale. A NaN makes the block NaN.
inline void store_block(HeadPage<q8_0> page, uint position, uint block, device const float4 *values) {
    const float limit = 127.0f * float(numeric_limits<half>::max());
    float4 largest = float4(0.0f);
    bool has_nan = false;
    for (uint i = 0; i < block_quads; i++) {
        has_nan = has_nan || any(is_nan(values[i]));
        largest = max(largest, min(abs(values[i]), limit));
    }
    const float scale = max(max(largest.x, largest.y), max(largest.z, largest.w)) / 127.0f;
    const float factor = scale > 0.0f ? 1.0f / scale : 0.0f;
    for (uint i = 0; i < block_quads; i++) {
        const float4 numbers = round(clamp(values[i], -limit, limit) * factor);
        page.numbers[position * page.quads + block * block_quads + i] = char4(clamp(numbers, -127.0f, 127.0f));
    }
    const half nan = as_type<half>(ushort(0x7e00));
    page.scales[position * (page.quads / block_quads) + block] = has_nan ? nan : half(scale);
}

// The same in blocks. Grid (blocks of a row, rows).
[[host_name("kv_append_q8_0")]]
kernel void kv_append_blocks(constant AppendArguments &arguments [[buffer(0)]],
                             device const uint *table [[buffer(1)]],
                             device const float4 *k [[buffer(2)]],
                             device const float4 *v [[buffer(3)]],
                             device uchar *k_cache [[buffer(4)]],
                             device uchar *v_cache [[buffer(5)]],
                             uint2 grid_position [[thread_position_in_grid]]) {
    const uint quads = head_size / 4;
    const uint blocks = quads / block_quads;
    const uint head = grid_position.x / blocks;
    const uint block = grid_position.x % blocks;
    const uint position = arguments.past + grid_position.y;
    const uint page = table[position / page_positions];
    if (page >= arguments.pages) return;
    const ulong source = (ulong(grid_position.y) * arguments.kv_heads * blocks + grid_position.x) * block_quads;
    const uint target = position % page_positions;
    store_block(page_of<q8_0>(arguments, k_cache, page, head), target, block, k + source);
    store_block(page_of<q8_0>(arguments, v_cache, page, head), target, block, v + source);
}

typedef decltype(kv_append<float>) kv_append_kernel;

template [[host_name("kv_append_f32")]] kernel kv_append_kernel kv_append<float>;
template [[host_name("kv_append_f16")]] kernel kv_append_kernel kv_append<half>;
