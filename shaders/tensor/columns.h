// Results whose elements lie side by side, such as the sums of a matrix's columns: where lanes run in turn, a thread
// takes many of them at once, and each step along the reduced axes is a vector.
#ifndef METAL_BRIDGE_COLUMNS_H
#define METAL_BRIDGE_COLUMNS_H

#include "moments.h"

#define UNROLLED _Pragma("clang loop unroll(full)")

// Whether a thread that runs alone takes several neighbouring results: `rows.width` of them.
inline bool takes_columns(constant Rows &rows) { return BLOCK > short_block && is_alone && rows.width > 1; }

// The results of a thread: where their first elements are, and where the first result goes.
struct Columns {
    ulong x;
    ulong y;
    uint count;
};

inline Columns columns_of(constant Rows &rows, uint position) {
    const ulong size = rows.kept.shape[0];
    const ulong parts = (size + rows.width - 1) / rows.width;
    const Offset row = offset_of(rows.kept, 1, rows.kept_rank, position / parts);
    const ulong first = position % parts * rows.width;
    return {row.x + first, row.y + first * rows.kept.strides[0][1], uint(min(ulong(rows.width), size - first))};
}

template <typename T> struct BesideElements {
    device const T *x;
    typename Element<T>::computed value(ulong offset, ulong, uint) const { return Element<T>::get(x[offset]); }
};

// `steps` elements of each result from number `i` on, which lie `stride` apart: several at a time, so that the
// processor waits for memory in several places at once.
template <uint steps, typename C, typename Source>
INLINE void take_columns(Combine how, ulong offset, ulong stride, ulong i, uint count, thread const Source &source,
                         thread C *values, thread C *rests) {
    BLOCK_LOOP(BLOCK)
    for (uint k = 0; k < count; k++) {
        C value = values[k];
        C rest = rests[k];
        UNROLLED
        for (uint step = 0; step < steps; step++)
            take(how, value, rest, source.value(offset + step * stride + k, i + step, k));
        values[k] = value;
        rests[k] = rest;
    }
}

// Joins what has been taken with what is in `found`, and begins anew.
template <typename C>
INLINE void join_columns(Combine how, uint count, thread C *values, thread C *rests, thread Partial<C> *found) {
    ROLLED
    for (uint k = 0; k < count; k++) {
        found[k] = joined(how, found[k], {values[k], rests[k]});
        values[k] = start_of(how, C(0));
        rests[k] = C(0);
    }
}

// Takes the elements into what is in `found`.
template <typename C, typename Source>
INLINE void gather_columns(constant Rows &rows, Combine how, Columns columns, Source source, thread Partial<C> *found) {
    constexpr uint steps = 8;
    C values[BLOCK];
    C rests[BLOCK];
    ROLLED
    for (uint k = 0; k < columns.count; k++) {
        values[k] = start_of(how, C(0));
        rests[k] = C(0);
    }
    const ulong size = rows.reduced.shape[0];
    const ulong stride = rows.reduced.strides[0][0];
    ulong taken = 0;
    for (ulong run = 0; run < rows.runs; run++) {
        const ulong start = columns.x + offset_of(rows.reduced, 1, rows.rank, run).x;
        ulong i = 0;
        while (i < size) {
            const ulong end = min(size, i + most_added - min(taken, most_added - 1));
            taken += end - i;
            for (; i + steps <= end; i += steps)
                take_columns<steps>(how, start + i * stride, stride, i, columns.count, source, values, rests);
            for (; i < end; i++)
                take_columns<1>(how, start + i * stride, stride, i, columns.count, source, values, rests);
            if (taken < most_added) continue;
            join_columns(how, columns.count, values, rests, found);
            taken = 0;
        }
    }
    join_columns(how, columns.count, values, rests, found);
}

#endif
