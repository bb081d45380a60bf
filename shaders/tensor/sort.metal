// Indices along an axis in the order of the elements they point at: a stable merge sort. A first pass sorts runs, each
// further pass merges two runs to one, from one array of indices to another. Of a run only the first `limit` indices
// are ever needed: if they are few, the first pass selects them from long runs.
#include "partials.h"

// Whether a pass merges the runs of the pass before, or else sorts the first ones.
constant bool has_runs [[function_constant(3)]];

// Whether the first pass selects. Then `limit` is at most `most_kept`.
constant bool selects [[function_constant(4)]];

// Elements that a thread sorts by insertion.
constant constexpr uint first_run = 16;

constant constexpr uint most_kept = 64;

// `Arguments` of src/ops/tensor/sort.rs.
struct Sorting {
    ulong size;
    ulong limit;
    // Elements of x that a run stands for, before this pass.
    ulong width;
    // Turns the keys around for a descending order.
    ulong flip;
    // Elements of x that a thread sorts or selects from in the first pass, indices that it writes in the others.
    uint per_thread;
    uint kept_rank;
    // Between neighbours along the axis. The indices that are read lie without gaps.
    ulong x_stride;
    ulong to_stride;
    // The rows of x, and of the indices that are written.
    Axes kept;
};

// Numbers without a sign in the order of the elements. Zeros are equal, and NaN comes last.
inline uint key_of(float x) {
    const uint bits = as_type<uint>(x);
    return isnan(x)                                 ? 0xffffffffu
           : bits >> 31 == 0 || bits == 0x80000000u ? bits | 0x80000000u
                                                    : ~bits;
}
inline uint key_of(uint x) { return x; }
inline uint key_of(int x) { return uint(x) ^ 0x80000000u; }
inline ulong key_of(long x) { return ulong(x) ^ 0x8000000000000000ul; }

template <typename C>
struct Key {
    typedef uint type;
};
template <>
struct Key<long> {
    typedef ulong type;
};

template <typename T>
struct Keys {
    typedef typename Key<typename Element<T>::computed>::type K;
    device const T *x;
    ulong stride;
    ulong size;
    K flip;
    K of(ulong index) const { return key_of(Element<T>::get(x[index * stride])) ^ flip; }
    // An index that was read may be anything, if somebody else has written it.
    K at(ulong index) const { return of(min(index, size - 1)); }
};

// The first keys of a run, and their indices, in order. Equal keys are in the order of their indices.
template <typename K, uint most>
struct Sorted {
    K keys[most];
    uint indices[most];
    uint count;

    void put(uint at, K key, uint index) {
        keys[at] = key;
        indices[at] = index;
    }
};

template <typename K, uint most>
inline void write_first(thread const Sorted<K, most> &sorted, device uint *to, ulong stride, ulong limit) {
    for (uint i = 0; i < min(ulong(sorted.count), limit); i++) to[i * stride] = sorted.indices[i];
}

// Indices start .. end - 1 by insertion: all of them, or else those whose keys are less than `bound`.
template <typename T>
inline Sorted<typename Keys<T>::K, first_run> sort_block(thread const Keys<T> &keys, ulong start, ulong end, bool all,
                                                         typename Keys<T>::K bound) {
    typedef typename Keys<T>::K K;
    Sorted<K, first_run> sorted;
    sorted.count = 0;
    for (ulong index = start; index < end; index++) {
        const K key = keys.of(index);
        if (all || key < bound) {
            uint at = sorted.count++;
            for (; at > 0 && key < sorted.keys[at - 1]; at--) {
                sorted.put(at, sorted.keys[at - 1], sorted.indices[at - 1]);
            }
            sorted.put(at, key, uint(index));
        }
    }
    return sorted;
}

// The first `limit` indices of a run, block by block. Few blocks have a key that comes before the last one kept.
template <typename T>
inline void select_run(thread const Keys<T> &keys, ulong start, ulong end, device uint *to, ulong stride, uint limit) {
    typedef typename Keys<T>::K K;
    Sorted<K, most_kept> kept;
    kept.count = 0;
    for (; start < end; start += first_run) {
        const ulong block_end = min(start + first_run, end);
        const bool all = kept.count < limit;
        const K bound = all ? 0 : kept.keys[limit - 1];
        // Without branches, as a loop over a vector is.
        bool any = all;
        for (ulong index = start; index < block_end; index++) any |= keys.of(index) < bound;
        if (!any) continue;
        const Sorted<K, first_run> block = sort_block(keys, start, block_end, all, bound);
        // From the last place on, so that no key is lost before it has moved.
        uint a = kept.count;
        uint b = block.count;
        kept.count = min(a + b, limit);
        for (uint at = a + b; b > 0; at--) {
            const bool takes_a = a > 0 && block.keys[b - 1] < kept.keys[a - 1];
            const K key = takes_a ? kept.keys[a - 1] : block.keys[b - 1];
            const uint index = takes_a ? kept.indices[a - 1] : block.indices[b - 1];
            if (at <= limit) kept.put(at - 1, key, index);
            if (takes_a) {
                a--;
            } else {
                b--;
            }
        }
    }
    write_first(kept, to, stride, limit);
}

// Two runs that become one.
struct Runs {
    device const uint *a;
    device const uint *b;
    ulong a_count;
    ulong b_count;
};

// How many of the first `count` merged indices are of a: by bisection, the least number such that the next of a does
// not come before the last that is taken of b. Of equal keys those of a come first.
template <typename T>
inline ulong taken_of_a(thread const Keys<T> &keys, Runs runs, ulong count) {
    ulong low = count > runs.b_count ? count - runs.b_count : 0;
    ulong high = min(count, runs.a_count);
    while (low < high) {
        const ulong middle = (low + high) / 2;
        if (keys.at(runs.a[middle]) <= keys.at(runs.b[count - middle - 1])) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Merged indices from number `first` on, up to number `last`.
template <typename T>
inline void merge(thread const Keys<T> &keys, Runs runs, ulong first, ulong last, device uint *to, ulong stride) {
    ulong a = taken_of_a(keys, runs, first);
    ulong b = first - a;
    uint a_index = a < runs.a_count ? runs.a[a] : 0;
    uint b_index = b < runs.b_count ? runs.b[b] : 0;
    typename Keys<T>::K a_key = a < runs.a_count ? keys.at(a_index) : 0;
    typename Keys<T>::K b_key = b < runs.b_count ? keys.at(b_index) : 0;
    for (ulong i = first; i < last; i++) {
        const bool takes_a = b >= runs.b_count || (a < runs.a_count && a_key <= b_key);
        to[i * stride] = takes_a ? a_index : b_index;
        if (takes_a) {
            a++;
            if (a < runs.a_count) {
                a_index = runs.a[a];
                a_key = keys.at(a_index);
            }
        } else {
            b++;
            if (b < runs.b_count) {
                b_index = runs.b[b];
                b_key = keys.at(b_index);
            }
        }
    }
}

template <typename T>
kernel void sort_pass(constant Sorting &sorting [[buffer(0)]],
                      device const T *x [[buffer(1)]],
                      device uint *to [[buffer(2)]],
                      device const uint *from [[buffer(3), function_constant(has_runs)]],
                      uint2 position [[thread_position_in_grid]]) {
    const Offset offset = offset_of(sorting.kept, 0, sorting.kept_rank, position.y);
    const Keys<T> keys = {x + offset.x, sorting.x_stride, sorting.size,
                          typename Keys<T>::K(sorting.flip)};
    device uint *row = to + offset.y;
    const ulong size = sorting.size;
    if (!has_runs && selects) {
        const ulong start = ulong(position.x) * sorting.per_thread;
        if (start < size) {
            select_run(keys, start, min(start + sorting.per_thread, size), row + start * sorting.to_stride,
                       sorting.to_stride, uint(sorting.limit));
        }
        return;
    }
    if (!has_runs) {
        for (uint k = 0; k < sorting.per_thread / first_run; k++) {
            const ulong start = ulong(position.x) * sorting.per_thread + k * first_run;
            if (start < size) {
                const auto sorted = sort_block(keys, start, min(start + first_run, size), true, 0);
                write_first(sorted, row + start * sorting.to_stride, sorting.to_stride, sorting.limit);
            }
        }
        return;
    }
    // A pair of runs has threads of its own: what they write is at most `limit` indices.
    const ulong width = sorting.width;
    const ulong most = min(2 * width, sorting.limit);
    const ulong threads = (most + sorting.per_thread - 1) / sorting.per_thread;
    const ulong start = position.x / threads * 2 * width;
    if (start >= size) {
        return;
    }
    const ulong middle = min(start + width, size);
    const ulong end = min(start + 2 * width, size);
    device const uint *indices = from + position.y * size;
    const Runs runs = {indices + start, indices + middle, min(middle - start, sorting.limit),
                       min(end - middle, sorting.limit)};
    const ulong first = position.x % threads * sorting.per_thread;
    const ulong last = min(first + sorting.per_thread, min(runs.a_count + runs.b_count, sorting.limit));
    if (first < last) {
        merge(keys, runs, first, last, row + start * sorting.to_stride, sorting.to_stride);
    }
}

#define INSTANTIATE(name, T) template [[host_name("sort_" #name)]] kernel decltype(sort_pass<T>) sort_pass<T>;

INSTANTIATE(f32, float)
INSTANTIATE(f16, half)
INSTANTIATE(bf16, bf16)
INSTANTIATE(i8, char)
INSTANTIATE(u8, uchar)
INSTANTIATE(i32, int)
INSTANTIATE(u32, uint)
INSTANTIATE(i64, long)
