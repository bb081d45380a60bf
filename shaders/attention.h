// What the attention kernels share.
//
// Causal attention over a KV cache, heads in groups that share keys and values (Ainslie et al. 2023, arXiv:2305.13245).
// One pass over the keys with an online softmax (Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022,
// arXiv:2205.14135): no row of scores is ever stored.
//
// The caches are [pages, kv_heads, page_positions, head_size] (kv_pages.h); q and the result are [rows, heads,
// head_size]; row r of q is at position past + r and sees the keys up to past + r, as many as its window has.
#ifndef METAL_BRIDGE_ATTENTION_H
#define METAL_BRIDGE_ATTENTION_H

#include "kv_pages.h"

struct AttentionArguments {
    uint rows;
    uint heads;
    uint kv_heads;
    uint pages;
    uint past;
    float scale;
    // A row sees so many keys at most: its own and those before it.
    uint window;
    // Of the scores, if they are capped.
    float cap;
};

// Whether scores are capped: cap * tanh(score / cap).
constant bool has_cap [[function_constant(1)]];

constant constexpr uint simd_width = 32;

// Below every score, and finite: fast math may not meet infinity - infinity.
constant float no_score = -0.5f * FLT_MAX;

// Whether each head has a sink: a score without a key and a value, which takes a part of the weight (Xiao et al. 2023,
// arXiv:2309.17453).
constant bool has_sinks [[function_constant(2)]];

// The first of the keys before `visible` that the row with these keys sees.
inline uint first_visible(constant AttentionArguments &arguments, uint visible) {
    return visible - min(visible, arguments.window);
}

inline float capped(constant AttentionArguments &arguments, float score) {
    return has_cap ? arguments.cap * precise::tanh(score / arguments.cap) : score;
}

// What query head `head` uses of a page of keys or values.
template <typename T>
inline HeadPage<T> cached(constant AttentionArguments &arguments, device uchar *cache, uint page, uint head,
                          uint quads) {
    const uint kv_head = head / (arguments.heads / arguments.kv_heads);
    return head_page<T>(cache, page, arguments.pages, arguments.kv_heads, kv_head, quads);
}

#endif
