// The calls of cooperative_groups.h, on small integers as numbers of a type. All results of one call stand before
// those of the next.
#include "cooperative_groups.h"

namespace cg = cooperative_groups;
using namespace metal;

struct results {
    device long *next;
    uint threads;
    template <typename V> void put(V value) {
        *next = long(value);
        next += threads;
    }
};

// x -> a * x + b, one after another: an operation that does not commute, on vectors.
struct composition {
    uint2 operator()(uint2 f, uint2 g) const { return uint2(f.x * g.x, f.y * g.x + g.y); }
    static uint2 identity() { return uint2(1, 0); }
};
void put(thread results &to, uint2 value) { to.put((ulong(value.x) << 32) | value.y); }

template <typename Group> void shuffles_and_votes(thread results &to, Group group, number value, bool choice) {
    to.put(group.thread_rank());
    to.put(group.size());
    to.put(group.shfl(value, 0));
    to.put(group.shfl(value, group.size() - 1));
    to.put(group.shfl_up(value, 1));
    to.put(group.shfl_up(value, 3));
    to.put(group.shfl_down(value, 1));
    to.put(group.shfl_down(value, 5));
    to.put(group.shfl(choice, group.size() / 2));
    to.put(group.any(choice));
    to.put(group.all(choice));
    to.put(group.ballot(choice));
}

// Whether the identities change nothing, not the largest and smallest numbers either.
void identities(thread results &to) {
    const bool is_float = is_floating_point<number>::value;
    const number top = is_float ? number(INFINITY) : numeric_limits<number>::max();
    const number bottom = is_float ? number(-INFINITY) : numeric_limits<number>::lowest();
    to.put(cg::less<number>()(cg::less<number>::identity(), top) == top);
    to.put(cg::greater<number>()(cg::greater<number>::identity(), bottom) == bottom);
}

template <typename Group> void bits(thread results &to, Group group, uint value) {
    to.put(cg::reduce(group, value | 256, cg::bit_and<uint>()));
    to.put(cg::reduce(group, value, cg::bit_or<uint>()));
    to.put(cg::reduce(group, value, cg::bit_xor<uint>()));
    to.put(cg::exclusive_scan(group, value | 256, cg::bit_and<uint>()));
    to.put(cg::exclusive_scan(group, value, cg::bit_or<uint>()));
    to.put(cg::exclusive_scan(group, value, cg::bit_xor<uint>()));
    // Values of other types than numbers of 32 bits.
    to.put(cg::reduce(group, int2(-int(value), 1), cg::plus<int2>()).x);
    to.put(group.shfl_up(long(value) << 40, 1));
    to.put(cg::reduce(group, -long(value), cg::less<long>()));
    to.put(group.shfl_down(ushort3(1, 2, value), 1).z);
}

template <typename Group> void scans(thread results &to, Group group, number value) {
    to.put(cg::inclusive_scan(group, value, cg::plus<number>()));
    to.put(cg::exclusive_scan(group, value, cg::plus<number>()));
    to.put(cg::reduce(group, value, cg::plus<number>()));
    to.put(cg::reduce(group, value, cg::less<number>()));
    to.put(cg::reduce(group, value, cg::greater<number>()));
    to.put(min(cg::exclusive_scan(group, value, cg::less<number>()), number(100)));
    to.put(max(cg::exclusive_scan(group, number(value + 1), cg::greater<number>()), number(0)));
    to.put(cg::inclusive_scan(group, value, cg::greater<number>()));
    bits(to, group, uint(value));
    const uint2 step(uint(value) + 1, 3);
    put(to, cg::inclusive_scan(group, step, composition()));
    put(to, cg::exclusive_scan(group, step, composition()));
    put(to, cg::reduce(group, step, composition()));
}

template <uint N> void tile(thread results &to, cg::thread_block block, number value, bool choice) {
    const cg::thread_block_tile<N> tile = cg::tiled_partition<N>(block);
    to.put(tile.meta_group_rank());
    to.put(tile.meta_group_size());
    to.put(tile.shfl_xor(value, N / 2));
    to.put(tile.shfl_xor(value, 3));
    shuffles_and_votes(to, tile, value, choice);
    scans(to, tile, value);
}

#define ARGUMENTS                                                                                                  \
    device const int *values [[buffer(0)]], device const uint *choices [[buffer(1)]], device long *out [[buffer(2)]], \
        uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]],                      \
        uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],                       \
        uint3 position [[thread_position_in_threadgroup]], uint3 threads [[threads_per_threadgroup]]

#define BEGIN                                                    \
    const cg::thread_block block(index, lane, threads);          \
    const uint thread_number = group.x * block.size() + index;   \
    const number value = number(values[thread_number]);                    \
    const bool choice = choices[thread_number] != 0;             \
    results to = {out + thread_number, groups.x * block.size()};

kernel void tiles(ARGUMENTS) {
    BEGIN
    tile<1>(to, block, value, choice);
    tile<2>(to, block, value, choice);
    tile<4>(to, block, value, choice);
    tile<8>(to, block, value, choice);
    tile<16>(to, block, value, choice);
    tile<32>(to, block, value, choice);
}

kernel void active_threads(ARGUMENTS) {
    BEGIN
    if (choice) {
        const cg::coalesced_group active = cg::coalesced_threads(lane);
        shuffles_and_votes(to, active, value, value > number(4));
        scans(to, active, value);
    } else if (value > number(3)) {
        const cg::coalesced_group active = cg::coalesced_threads(lane);
        shuffles_and_votes(to, active, value, value > number(5));
        scans(to, active, value);
    }
}

kernel void block(ARGUMENTS, threadgroup number *partials [[threadgroup(0)]],
                  threadgroup uint2 *pairs [[threadgroup(1)]], threadgroup number *copies [[threadgroup(2)]]) {
    BEGIN
    to.put(block.thread_rank());
    to.put(block.size());
    to.put(block.lane());
    to.put(block.dim_threads().y);
    identities(to);
    to.put(all(block.thread_index() == position));
    to.put(cg::inclusive_scan(block, value, cg::plus<number>(), partials));
    to.put(cg::exclusive_scan(block, value, cg::plus<number>(), partials));
    to.put(cg::reduce(block, value, cg::plus<number>(), partials));
    to.put(cg::reduce(block, value, cg::greater<number>(), partials));
    to.put(cg::reduce(block, value, cg::less<number>(), partials));
    to.put(min(cg::exclusive_scan(block, value, cg::less<number>(), partials), number(100)));
    const uint2 step(uint(value) + 1, 3);
    put(to, cg::inclusive_scan(block, step, composition(), pairs));
    put(to, cg::exclusive_scan(block, step, composition(), pairs));
    put(to, cg::reduce(block, step, composition(), pairs));
    // Through threadgroup memory, and read by other threads than have copied.
    cg::memcpy_async(block, copies, values + group.x * block.size(), block.size());
    cg::wait(block);
    to.put(copies[block.size() - 1 - index]);
    const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    const uint first = 32 * tile.meta_group_rank();
    block.sync();
    cg::memcpy_async(tile, copies + first, values + group.x * block.size() + first, tile.size());
    cg::wait(tile);
    to.put(copies[first + tile.size() - 1 - tile.thread_rank()]);
}
