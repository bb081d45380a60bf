// Sums of all numbers up to each, in one dispatch of any size, whatever threadgroups run side by side. A threadgroup
// looks back at the sums that those before it have published, up to one that includes all before it. If one has
// published nothing after some looks, it may not even have started: the threadgroup then adds up that one's numbers
// itself. This is decoupled look-back with decoupled fallback, after Smith, Levien and Owens (SPAA 2025).
#include <metal_stdlib>

using namespace metal;

constant constexpr uint threads = 256;
constant constexpr uint numbers_of_thread = 4;
constant constexpr uint tile_size = threads * numbers_of_thread;
constant constexpr uint simdgroups = threads / 32;
constant constexpr uint most_looks = 64;

// A tile's sum, in two words: half of the sum, and above it what it is the sum of. Both words of a published sum say
// the same. All who publish the sum of a tile's own numbers write the same, so it does not matter who does.
constant constexpr uint own = 1u << 16;
constant constexpr uint with_all_before = 2u << 16;
constant constexpr uint low_half = 0xffff;

struct published {
    uint kind; // 0: nothing
    uint sum;
};

published look_at(device atomic_uint *tile) {
    const uint low = atomic_load_explicit(&tile[0], memory_order_relaxed);
    const uint high = atomic_load_explicit(&tile[1], memory_order_relaxed);
    const uint kind = low & ~low_half;
    return {kind == (high & ~low_half) ? kind : 0, (low & low_half) | high << 16};
}

// Leaves a sum of more in place.
void publish_own(device atomic_uint *tile, uint sum) {
    uint nothing = 0;
    while (!atomic_compare_exchange_weak_explicit(&tile[0], &nothing, own | (sum & low_half), memory_order_relaxed,
                                                  memory_order_relaxed) &&
           nothing == 0) {
    }
    nothing = 0;
    while (!atomic_compare_exchange_weak_explicit(&tile[1], &nothing, own | sum >> 16, memory_order_relaxed,
                                                  memory_order_relaxed) &&
           nothing == 0) {
    }
}

void publish_with_all_before(device atomic_uint *tile, uint sum) {
    atomic_store_explicit(&tile[0], with_all_before | (sum & low_half), memory_order_relaxed);
    atomic_store_explicit(&tile[1], with_all_before | sum >> 16, memory_order_relaxed);
}

// Whether all numbers of a thread lie before the end. They are then one vector, and a SIMD-group accesses them side by
// side: both buffers begin at multiples of 16 bytes, and `first` is a multiple of 4.
bool has_all(uint count, uint first) { return first < count && count - first >= numbers_of_thread; }

// The thread's numbers; zeros behind the end.
uint4 load(device const uint *from, uint count, uint first) {
    if (has_all(count, first)) return *(device const uint4 *)(from + first);
    uint4 numbers = 0;
    for (uint k = 0; k < numbers_of_thread; ++k)
        if (first + k < count) numbers[k] = from[first + k];
    return numbers;
}

kernel void inclusive_scan(device const uint *from [[buffer(0)]], device uint *to [[buffer(1)]],
                           constant uint &count [[buffer(2)]], device atomic_uint *tiles [[buffer(3)]],
                           uint tile [[threadgroup_position_in_grid]], uint i [[thread_index_in_threadgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup uint partials[simdgroups];
    threadgroup uint missing;  // the tile that has published nothing, plus 1; 0: there is none
    threadgroup uint sum_before;

    const uint first = tile * tile_size + i * numbers_of_thread;
    uint4 sums = load(from, count, first);
    sums.y += sums.x;
    sums.z += sums.y;
    sums.w += sums.z;
    const uint before_in_simdgroup = simd_prefix_exclusive_sum(sums.w);
    if (lane == 31) partials[simdgroup] = before_in_simdgroup + sums.w;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint before_in_tile = before_in_simdgroup, of_tile = 0;
    for (uint s = 0; s < simdgroups; ++s) {
        before_in_tile += s < simdgroup ? partials[s] : 0;
        of_tile += partials[s];
    }
    if (i == 0) publish_own(tiles + 2 * tile, of_tile);

    uint before = 0;   // of the first thread: the sum of the tiles from `next` on
    uint next = tile;  // the tiles before this one are left
    for (;;) {
        if (i == 0) {
            while (next > 0) {
                published seen = look_at(tiles + 2 * (next - 1));
                for (uint look = 1; look < most_looks && seen.kind == 0; ++look) seen = look_at(tiles + 2 * (next - 1));
                if (seen.kind == 0) break;
                before += seen.sum;
                next = seen.kind == with_all_before ? 0 : next - 1;
            }
            missing = next;
            sum_before = before;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint missed = missing;
        if (missed == 0) break;
        const uint4 others = load(from, count, (missed - 1) * tile_size + i * numbers_of_thread);
        const uint sum = simd_sum(others.x + others.y + others.z + others.w);
        if (lane == 0) partials[simdgroup] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i == 0) {
            uint of_missing = 0;
            for (uint s = 0; s < simdgroups; ++s) of_missing += partials[s];
            publish_own(tiles + 2 * (missed - 1), of_missing);
            before += of_missing;
            next = missed - 1;
        }
    }
    if (i == 0) publish_with_all_before(tiles + 2 * tile, sum_before + of_tile);
    sums += sum_before + before_in_tile;
    if (has_all(count, first)) {
        *(device uint4 *)(to + first) = sums;
        return;
    }
    for (uint k = 0; k < numbers_of_thread; ++k)
        if (first + k < count) to[first + k] = sums[k];
}
