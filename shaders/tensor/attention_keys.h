// Which keys a row of attention sees, by lengths and causality. Included by scaled_dot_product.metal.
#ifndef METAL_BRIDGE_ATTENTION_KEYS_H
#define METAL_BRIDGE_ATTENTION_KEYS_H

#include <metal_stdlib>

using namespace metal;

// In the order of src/ops/tensor/attention.rs.
enum Causality : uint {
    NotCausal,
    FromFirst,
    FromLast
};
enum Lengths : uint {
    Whole,
    Each,
    Offsets
};

// Of four strides the order is batch, head, row or key, element.
struct AttentionArguments {
    uint rows;
    uint keys;
    uint heads;
    // Heads of q that share one of k and v.
    uint group;
    uint head_size;
    uint value_size;
    uint causality;
    // What the lengths are, how many, and whether their type is int; otherwise it is uint.
    uint lengths_form;
    uint lengths;
    uint are_signed;
    float scale;
    uint unused;
    ulong q_strides[4];
    ulong k_strides[4];
    ulong v_strides[4];
    ulong y_strides[4];
    ulong mask_strides[4];
    ulong lengths_stride;
};

// The keys from `begin` to before `end`.
struct Keys {
    uint begin;
    uint end;
};

inline uint length_at(constant AttentionArguments &arguments, device const uchar *lengths, uint index) {
    // Without lengths something is bound that may be aligned for its own type only.
    const uint length = ((device const uint *)lengths)[index * arguments.lengths_stride];
    return arguments.are_signed != 0 && int(length) < 0 ? 0 : min(length, arguments.keys);
}

// How many of the offsets are not beyond the row.
inline uint offsets_up_to(constant AttentionArguments &arguments, device const uchar *lengths, uint row) {
    uint low = 0;
    uint high = arguments.lengths;
    while (low < high) {
        const uint middle = (low + high) / 2;
        if (length_at(arguments, lengths, middle) <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Where the sequence of the row ends, or the rows outside of all sequences do, but at most `end`. Values of a sequence
// must not reach the rows of another one, not even times 0.
inline uint end_of_sequence(constant AttentionArguments &arguments, device const uchar *lengths, uint row, uint end) {
    if (arguments.lengths_form != Offsets) return end;
    const uint next = offsets_up_to(arguments, lengths, row);
    return next < arguments.lengths ? min(end, length_at(arguments, lengths, next)) : end;
}

// Whatever the lengths hold, the keys are some of those that there are.
inline Keys keys_of(constant AttentionArguments &arguments, device const uchar *lengths, uint batch, uint row) {
    Keys keys = {0, arguments.keys};
    uint rows = arguments.rows;
    uint index = row;
    if (arguments.lengths_form == Each) {
        keys.end = length_at(arguments, lengths, batch);
    } else if (arguments.lengths_form == Offsets) {
        const uint next = offsets_up_to(arguments, lengths, row);
        if (next == 0 || next == arguments.lengths) return {0, 0};
        keys = {length_at(arguments, lengths, next - 1), length_at(arguments, lengths, next)};
        rows = keys.end - keys.begin;
        index = row - keys.begin;
    }
    const uint count = keys.end > keys.begin ? keys.end - keys.begin : 0;
    const long last = long(index) + (arguments.causality == FromLast ? long(count) - long(rows) : 0);
    const uint seen = arguments.causality == NotCausal ? count : uint(clamp(last + 1, long(0), long(count)));
    return {keys.begin, keys.begin + seen};
}

#endif
