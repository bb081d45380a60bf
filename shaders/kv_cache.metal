// Puts new keys and values into a KV cache.
#include "order.h"

// A multiple of 4.
constant uint head_size [[function_constant(0)]];

struct AppendArguments {
    uint kv_heads;
    uint capacity;
    uint past;
};

// What T holds, and what products in float do not overflow with: an infinity of one position would become a NaN in
// others, which multiply it by a weight of zero. A NaN stays one: no number may take the place of a failed computation.
template <typename T>
inline vec<T, 4> stored(float4 value) {
    const float4 limit = float4(min(float(numeric_limits<T>::max()), 0x1p96f));
    return vec<T, 4>(keep_nan(value, clamp(value, -limit, limit)));
}

// k and v [rows, kv_heads, head_size] to positions past, past + 1, ... of the caches. Grid (quads of a row, rows).
template <typename T>
kernel void kv_append(constant AppendArguments &arguments [[buffer(0)]],
                      device const float4 *k [[buffer(1)]],
                      device const float4 *v [[buffer(2)]],
                      device vec<T, 4> *k_cache [[buffer(3)]],
                      device vec<T, 4> *v_cache [[buffer(4)]],
                      uint2 position [[thread_position_in_grid]]) {
    const uint quads = head_size / 4;
    const uint head = position.x / quads;
    const uint quad = position.x % quads;
    const ulong source = ulong(position.y) * arguments.kv_heads * quads + position.x;
    const ulong target = (ulong(head) * arguments.capacity + arguments.past + position.y) * quads + quad;
    k_cache[target] = stored<T>(k[source]);
    v_cache[target] = stored<T>(v[source]);
}

typedef decltype(kv_append<float>) kv_append_kernel_f32;
typedef decltype(kv_append<half>) kv_append_kernel_f16;

template [[host_name("kv_append_f32")]] kernel kv_append_kernel_f32 kv_append<float>;
template [[host_name("kv_append_f16")]] kernel kv_append_kernel_f16 kv_append<half>;
