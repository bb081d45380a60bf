// Mixtures of experts: which experts a row goes to, and the sum of what they give.
#include "order.h"

constant constexpr uint simd_width = 32;

struct ChoiceArguments {
    uint experts;
    uint used;
};

// The `used` largest of each row of logits[rows, experts], the first one of equals: their numbers, and the softmax of
// these logits alone. If a logit of the row is NaN, its shares are all NaN; the numbers are still those of different
// experts. A simdgroup a row.
kernel void choose_experts(constant ChoiceArguments &arguments [[buffer(0)]],
                           device const float *logits [[buffer(1)]],
                           device uint *chosen [[buffer(2)]],
                           device float *shares [[buffer(3)]],
                           uint row [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]]) {
    const uint experts = arguments.experts;
    device const float *row_logits = logits + ulong(row) * experts;
    device uint *row_chosen = chosen + ulong(row) * arguments.used;
    device float *row_shares = shares + ulong(row) * arguments.used;
    uint last = 0;
    uint last_order = 0;
    float largest = 0.0f;
    float sum = 0.0f;
    for (uint slot = 0; slot < arguments.used; slot++) {
        // What is behind the last choice in the order of logits and numbers was not chosen yet.
        uint best = 0;
        uint best_expert = experts;
        for (uint expert = lane; expert < experts; expert += simd_width) {
            const float logit = row_logits[expert];
            const uint order = ordered(logit);
            const bool is_left = slot == 0 || order < last_order || (order == last_order && expert > last);
            if (is_left && (best_expert == experts || order > best)) {
                best = order;
                best_expert = expert;
            }
            // A NaN makes the sum that all shares are divided by NaN, whether its expert is chosen or not.
            if (slot == 0 && order == nan_order) {
                sum = logit;
            }
        }
        sum = slot == 0 ? simd_sum(sum) : sum;
        last_order = simd_max(best);
        last = simd_min(best == last_order ? best_expert : experts);
        // Nothing is read past the row, even if another kernel changes the logits meanwhile.
        last = min(last, experts - 1);
        const float logit = row_logits[last];
        largest = slot == 0 ? logit : largest;
        const float share = exp(logit - largest);
        sum += share;
        if (lane == 0) {
            row_chosen[slot] = last;
            row_shares[slot] = share;
        }
    }
    if (lane == 0) {
        for (uint slot = 0; slot < arguments.used; slot++) {
            row_shares[slot] /= sum;
        }
    }
}

struct MixArguments {
    uint used;
    uint columns;
    float scale;
};

// y[row, :] += scale * sum over the slots of shares[row, slot] * x[row, slot, :]. Grid (columns, rows).
kernel void mix_experts(constant MixArguments &arguments [[buffer(0)]],
                        device const float *x [[buffer(1)]],
                        device const float *shares [[buffer(2)]],
                        device float *y [[buffer(3)]],
                        uint2 position [[thread_position_in_grid]]) {
    const ulong first_slot = ulong(position.y) * arguments.used;
    float sum = 0.0f;
    for (uint slot = 0; slot < arguments.used; slot++) {
        sum = fma(shares[first_slot + slot], x[(first_slot + slot) * arguments.columns + position.x], sum);
    }
    y[ulong(position.y) * arguments.columns + position.x] += arguments.scale * sum;
}
