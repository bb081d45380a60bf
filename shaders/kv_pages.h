// The pages of a KV cache (Kwon et al. 2023, arXiv:2309.06180).
//
// A cache is [pages, kv_heads, page_positions, head_size]. A text's page table says which page has its positions 0 to
// 31, which one 32 to 63, and so on.
#ifndef METAL_BRIDGE_KV_PAGES_H
#define METAL_BRIDGE_KV_PAGES_H

#include <metal_stdlib>

#include "vector_loop.h"

using namespace metal;

constant constexpr uint page_positions = 32;

// Stands for elements in blocks of 32, of which each has a scale.
struct q8_0 {};
constant constexpr uint block_quads = 8;

// Elements of a position that a lane reads by itself, where lanes run in turn: no run has elements of two blocks.
constant constexpr uint run_elements = 16;

// A head's positions in a page: `quads` times four elements each.
template <typename T> struct HeadPage {
    device vec<T, 4> *elements;
    uint quads;

    HeadPage(device uchar *cache, ulong head_of_cache, uint quads)
        : elements((device vec<T, 4> *)cache + head_of_cache * page_positions * quads), quads(quads) {}

    float4 at(uint position, uint quad) const thread { return float4(elements[position * quads + quad]); }

    // The `run_elements` elements from `first` on, a multiple of these, of a position.
    METAL_FUNC void read(uint position, uint first, thread float *to) const thread {
        device const T *from = (device const T *)(elements + position * quads) + first;
        ONE_VECTOR(run_elements)
        for (uint i = 0; i < run_elements; i++) to[i] = float(from[i]);
    }
};

// The numbers of all positions, then their scales.
template <> struct HeadPage<q8_0> {
    device char4 *numbers;
    device half *scales;
    uint quads;

    HeadPage(device uchar *cache, ulong head_of_cache, uint quads) : quads(quads) {
        const uint scale_bytes = quads / block_quads * sizeof(half);
        device uchar *page = cache + head_of_cache * page_positions * (quads * sizeof(char4) + scale_bytes);
        numbers = (device char4 *)page;
        scales = (device half *)(page + page_positions * quads * sizeof(char4));
    }

    float4 at(uint position, uint quad) const thread {
        const float scale = scales[position * (quads / block_quads) + quad / block_quads];
        return float4(numbers[position * quads + quad]) * scale;
    }

    METAL_FUNC void read(uint position, uint first, thread float *to) const thread {
        const float scale = scales[position * (quads / block_quads) + first / (4 * block_quads)];
        device const char *from = (device const char *)(numbers + position * quads) + first;
        ONE_VECTOR(run_elements)
        for (uint i = 0; i < run_elements; i++) to[i] = float(from[i]) * scale;
    }
};

// A page of a cache with `pages` pages: a table may name others.
template <typename T>
inline HeadPage<T> head_page(device uchar *cache, uint page, uint pages, uint kv_heads, uint kv_head, uint quads) {
    return HeadPage<T>(cache, ulong(min(page, pages - 1)) * kv_heads + kv_head, quads);
}

#endif
