// Rows of a reduction: how threads share the elements of a row, and how what they have found becomes one result.
#ifndef METAL_BRIDGE_PARTIALS_H
#define METAL_BRIDGE_PARTIALS_H

#include "tensor.h"

// Whether a thread takes a whole row. Otherwise a threadgroup does.
constant bool is_alone [[function_constant(2)]];

constant constexpr uint max_threads = 256;

// Dimensions of x and y, the innermost first; strides are in elements.
struct Axes {
    ulong shape[max_rank];
    ulong strides[max_rank][2];
};

// `kept` counts the results; `reduced` goes through the elements of one.
struct Rows {
    // Elements of a result, and how many runs along the innermost dimension of `reduced` they are.
    ulong count;
    ulong runs;
    // What a variance is divided by.
    float divisor;
    // The order of a scan.
    uint order;
    // Threads side by side along the innermost dimension: a power of two that divides those of the threadgroup. For a
    // thread that takes whole rows: how many neighbouring rows it takes (columns.h).
    uint width;
    uint kept_rank;
    uint rank;
    uint unused;
    Axes kept;
    Axes reduced;
};

// Where x and y have an element.
struct Offset {
    ulong x;
    ulong y;
};

// The offset of position number `index` of the dimensions from `axis` on.
inline Offset offset_of(constant Axes &axes, uint axis, uint rank, ulong index) {
    Offset offset = {0, 0};
    ROLLED
    for (; axis < rank; axis++) {
        const bool is_last = axis + 1 == rank;
        const ulong rest = is_last ? 0 : index / axes.shape[axis];
        const ulong steps = is_last ? index : index - rest * axes.shape[axis];
        offset.x += steps * axes.strides[axis][0];
        offset.y += steps * axes.strides[axis][1];
        index = rest;
    }
    return offset;
}

enum Combine : uint {
    Add,
    Multiply,
    Least,
    Largest
};

// What some elements have given. Of a sum of floats `rest` is what the roundings of `value` have lost.
template <typename C> struct Partial {
    C value;
    C rest;
};

inline float total(Partial<float> partial) {
    // Infinities leave no rest that is a number.
    return isnan(partial.rest) ? partial.value : partial.value + partial.rest;
}

template <typename C> inline C total(Partial<C> partial) { return partial.value; }

inline float start_of(Combine how, float) {
    return how == Add ? 0.0f : how == Multiply ? 1.0f : how == Least ? INFINITY : -INFINITY;
}

template <typename C> inline C start_of(Combine how, C) {
    return how == Add        ? C(0)
           : how == Multiply ? C(1)
           : how == Least    ? numeric_limits<C>::max()
                             : numeric_limits<C>::lowest();
}

// NaN wins. Sums are those of Ogita, Rump and Oishi 2005, "Accurate Sum and Dot Product", algorithm 4.4: the error
// of each addition, which is a float, is added up beside the sum.
inline void take(Combine how, thread float &value, thread float &rest, float x) {
    switch (how) {
    case Multiply: value *= x; break;
    case Least: value = x >= value || isnan(value) ? value : x; break;
    case Largest: value = x <= value || isnan(value) ? value : x; break;
    default: {
        const float sum = value + x;
        const float added = sum - value;
        rest += (value - (sum - added)) + (x - added);
        value = sum;
    }
    }
}

// Integers wrap.
template <typename C> inline void take(Combine how, thread C &value, thread C &, C x) {
    typedef typename Element<C>::wrapped U;
    switch (how) {
    case Multiply: value = C(U(value) * U(x)); break;
    case Least: value = x < value ? x : value; break;
    case Largest: value = x > value ? x : value; break;
    default: value = C(U(value) + U(x));
    }
}

// The thread in its threadgroup.
struct Member {
    uint index;
    uint threads;
};

// Some runs of a row, and some elements of each.
struct Section {
    ulong run;
    ulong runs_end;
    ulong first;
    ulong end;
};

// What this thread finds in a section of the row that begins at `start`. The elements go round `block` partial results,
// which are a vector where lanes run in turn. `source.value(offset, index)` is the element number `index` of its run.
template <uint block, typename C, typename Source>
inline Partial<C> gathered_of(constant Rows &rows, Combine how, ulong start, Section section, Member member,
                              thread const Source &source) {
    C values[block];
    C rests[block];
    for (uint k = 0; k < block; k++) {
        values[k] = start_of(how, C(0));
        rests[k] = C(0);
    }
    const ulong step = is_alone ? 1 : rows.width;
    const ulong size = section.end;
    const ulong stride = is_dense ? 1 : rows.reduced.strides[0][0];
    const ulong runs_step = is_alone ? 1 : member.threads / rows.width;
    ulong run = section.run + (is_alone ? 0 : member.index / rows.width);
    for (; run < section.runs_end; run += runs_step) {
        const ulong offset = start + offset_of(rows.reduced, 1, rows.rank, run).x;
        ulong i = section.first + (is_alone ? 0 : member.index % rows.width);
        for (; i + (block - 1) * step < size; i += block * step) {
            BLOCK_LOOP(block)
            for (uint k = 0; k < block; k++) {
                const ulong at = i + k * step;
                take(how, values[k], rests[k], source.value(offset + at * stride, at));
            }
        }
        ROLLED
        for (uint k = 0; i < size; i += step, k++) take(how, values[k], rests[k], source.value(offset + i * stride, i));
    }
    for (uint reach = block / 2; reach > 0; reach /= 2) {
        for (uint k = 0; k < reach; k++) {
            take(how, values[k], rests[k], values[k + reach]);
            rests[k] += rests[k + reach];
        }
    }
    return {values[0], rests[0]};
}

// The same number with all that it can hold in `value`: a `rest` to which much is added would lose roundings too.
inline Partial<float> settled(Partial<float> partial) {
    const float value = total(partial);
    return {value, (partial.value - value) + partial.rest};
}

template <typename C> inline Partial<C> settled(Partial<C> partial) { return partial; }

// Adds to or multiplies what comes before, with the roundings of both.
template <typename C> inline Partial<C> joined(Combine how, Partial<C> before, Partial<C> after) {
    take(how, before.value, before.rest, after.value);
    before.rest += after.rest;
    return how == Add ? settled(before) : before;
}

// So many floats are added up in one partial result before it is joined with others: `rest` has roundings of its own,
// which would grow with the square of their number.
constant constexpr ulong most_added = 4096;

template <typename C> inline bool is_rounded(Combine, C) { return false; }
inline bool is_rounded(Combine how, float) { return how == Add; }

// What this thread finds of the row that begins at `start`.
template <uint block, typename C, typename Source>
inline Partial<C> gathered_in(constant Rows &rows, Combine how, ulong start, Member member,
                              thread const Source &source) {
    const ulong size = rows.reduced.shape[0];
    ulong length = size;
    ulong runs = rows.runs;
    if (is_rounded(how, C(0)) && rows.count > most_added) {
        const ulong step = block * (is_alone ? 1 : rows.width);
        length = most_added * step;
        runs = max(ulong(1), most_added / (size / step + 1)) * (is_alone ? 1 : member.threads / rows.width);
    }
    Partial<C> found = {start_of(how, C(0)), C(0)};
    for (ulong run = 0; run < rows.runs; run += runs) {
        const ulong runs_end = min(run + runs, rows.runs);
        for (ulong i = 0; i < size; i += length) {
            const Section section = {run, runs_end, i, min(i + length, size)};
            found = joined(how, found, gathered_of<block, C>(rows, how, start, section, member, source));
        }
    }
    return found;
}

// The result of a row, in every thread that takes it. `values` and `rests` hold an element for each thread.
template <typename C, typename Source>
inline Partial<C> gathered(constant Rows &rows, Combine how, ulong start, Member member, thread const Source &source,
                           threadgroup C *values, threadgroup C *rests) {
    Partial<C> found;
    // Short runs would not pay for a long block.
    if (BLOCK > short_block && rows.reduced.shape[0] >= 2 * BLOCK)
        found = gathered_in<BLOCK, C>(rows, how, start, member, source);
    else
        found = gathered_in<short_block, C>(rows, how, start, member, source);
    if (is_alone) return found;
    // Some threads may still read what the row's last step has found.
    threadgroup_barrier(mem_flags::mem_threadgroup);
    values[member.index] = found.value;
    rests[member.index] = found.rest;
    for (uint reach = member.threads / 2; reach > 0; reach /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (member.index < reach) {
            take(how, found.value, found.rest, values[member.index + reach]);
            found.rest += rests[member.index + reach];
            values[member.index] = found.value;
            rests[member.index] = found.rest;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return {values[0], rests[0]};
}

#endif
