// y[i, :] = scale * table[ids[i], :]: embedding rows, unpacked to float.
#include "weights.h"

struct EmbedArguments {
    uint rows;
    uint k;
    float scale;
};

// One thread a chunk of 16 elements: grid (chunks of a row, ids). An id past the table reads its last row.
template <typename W>
kernel void embed(constant EmbedArguments &arguments [[buffer(0)]],
                  device const uchar *table [[buffer(1)]],
                  device const uint *ids [[buffer(2)]],
                  device float *y [[buffer(3)]],
                  uint2 position [[thread_position_in_grid]]) {
    const uint k = arguments.k;
    const uint chunk = position.x;
    device const uchar *row = table + min(ids[position.y], arguments.rows - 1) * W::row_bytes(k);
    device float *out = y + ulong(position.y) * k;
    const uint whole = k / chunk_elements;
    if (chunk < whole) {
        const Chunk w = W::load(row, chunk);
        device packed_float4 *low = (device packed_float4 *)(out + W::first(chunk));
        device packed_float4 *high = (device packed_float4 *)(out + W::first(chunk) + W::second);
        low[0] = packed_float4(w.scaled(0) * arguments.scale);
        low[1] = packed_float4(w.scaled(1) * arguments.scale);
        high[0] = packed_float4(w.scaled(2) * arguments.scale);
        high[1] = packed_float4(w.scaled(3) * arguments.scale);
    } else {
        const uint count = k % chunk_elements;
        const Chunk w = W::load_tail(row, chunk, count);
        for (uint i = 0; i < count; i++) {
            out[chunk * chunk_elements + i] = w.scaled(i / 4)[i % 4] * arguments.scale;
        }
    }
}

typedef decltype(embed<F32>) embed_kernel;

#define EMBED(name, W) template [[host_name("embed_" #name)]] kernel embed_kernel embed<W>;
EACH_FORMAT(EMBED)
