// Groups of threads that work together, named as in CUDA's cooperative groups: the threadgroup, tiles of a SIMD-group,
// and the threads that are active. docs/cooperative-groups.md says what each promises.
// SIMD-groups must have 32 threads, as those of Apple's own GPUs.
#ifndef METAL_BRIDGE_COOPERATIVE_GROUPS_H
#define METAL_BRIDGE_COOPERATIVE_GROUPS_H

#include <metal_stdlib>

namespace cooperative_groups {

using namespace metal;

constant constexpr uint simd_width = 32;

namespace detail {

// simd_shuffle takes numbers of up to 32 bits, and vectors of these.
template <typename T> T shuffle(T value, uint lane) { return simd_shuffle(value, ushort(lane)); }
inline bool shuffle(bool value, uint lane) { return simd_shuffle(ushort(value), ushort(lane)) != 0; }
inline long shuffle(long value, uint lane) { return as_type<long>(simd_shuffle(as_type<uint2>(value), ushort(lane))); }
inline ulong shuffle(ulong value, uint lane) {
    return as_type<ulong>(simd_shuffle(as_type<uint2>(value), ushort(lane)));
}

constant constexpr uint highest_bit = 1u << 31;

// The lanes of the SIMD-group that are active and say yes, as bits.
inline uint votes(bool choice) { return uint((simd_vote::vote_t)simd_ballot(choice)); }

// `count` bits from `first` on.
inline uint bits(uint first, uint count) { return (count < simd_width ? (1u << count) - 1 : ~0u) << first; }

// What the SIMD-group's own reductions take.
template <typename T> constexpr bool is_simd_number() {
    return is_arithmetic<T>::value && !is_same<T, bool>::value && sizeof(T) <= sizeof(uint);
}

// Nothing is above, nothing is below; only floats have infinities.
template <typename T> constexpr enable_if_t<is_floating_point<T>::value, T> top() {
    return numeric_limits<T>::infinity();
}
template <typename T> constexpr enable_if_t<!is_floating_point<T>::value, T> top() { return numeric_limits<T>::max(); }
template <typename T> constexpr enable_if_t<is_floating_point<T>::value, T> bottom() { return T(-top<T>()); }
template <typename T> constexpr enable_if_t<!is_floating_point<T>::value, T> bottom() {
    return numeric_limits<T>::lowest();
}

}  // namespace detail

// Operations. `identity` is what `exclusive_scan` gives the first thread.
template <typename T> struct plus {
    T operator()(T a, T b) const { return T(a + b); }
    static T identity() { return T(0); }
};
// The smaller one.
template <typename T> struct less {
    T operator()(T a, T b) const { return min(a, b); }
    static T identity() { return detail::top<T>(); }
};
// The larger one.
template <typename T> struct greater {
    T operator()(T a, T b) const { return max(a, b); }
    static T identity() { return detail::bottom<T>(); }
};
template <typename T> struct bit_and {
    T operator()(T a, T b) const { return T(a & b); }
    static T identity() { return T(~T(0)); }
};
template <typename T> struct bit_or {
    T operator()(T a, T b) const { return T(a | b); }
    static T identity() { return T(0); }
};
template <typename T> struct bit_xor {
    T operator()(T a, T b) const { return T(a ^ b); }
    static T identity() { return T(0); }
};

// All threads of the threadgroup. A kernel makes it of its own [[thread_index_in_threadgroup]],
// [[thread_index_in_simdgroup]] and [[threads_per_threadgroup]].
class thread_block {
public:
    thread_block(uint thread_index, uint lane, uint3 threads) : rank_(thread_index), lane_(lane), threads_(threads) {}
    uint thread_rank() const { return rank_; }
    uint size() const { return threads_.x * threads_.y * threads_.z; }
    uint3 dim_threads() const { return threads_; }
    uint3 thread_index() const {
        return uint3(rank_ % threads_.x, rank_ / threads_.x % threads_.y, rank_ / (threads_.x * threads_.y));
    }
    uint lane() const { return lane_; }
    void sync() const { threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup); }

private:
    uint rank_;
    uint lane_;
    uint3 threads_;
};

// N neighbouring threads of a SIMD-group, a power of two up to 32. The last tile of a threadgroup may have fewer.
template <uint N> class thread_block_tile {
public:
    static_assert(N != 0 && N <= simd_width && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

    explicit thread_block_tile(thread_block block)
        : lane_(block.lane()), index_(block.thread_rank() / N), tiles_((block.size() + N - 1) / N),
          size_(min(N, block.size() - index_ * N)) {}
    uint thread_rank() const { return lane_ % N; }
    uint size() const { return size_; }
    static constexpr uint max_size() { return N; }
    uint meta_group_rank() const { return index_; }
    uint meta_group_size() const { return tiles_; }
    // Metal has no barrier for a part of a SIMD-group: all its tiles have to come here.
    void sync() const { simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup); }

    template <typename T> T shfl(T value, uint rank) const { return detail::shuffle(value, first_lane() + rank % N); }
    // From the thread that is `delta` below. With these three, a thread that has none there keeps its own value.
    template <typename T> T shfl_up(T value, uint delta) const {
        return detail::shuffle(value, lane_ - (delta <= thread_rank() ? delta : 0));
    }
    template <typename T> T shfl_down(T value, uint delta) const {
        return detail::shuffle(value, lane_ + (delta < size_ - thread_rank() ? delta : 0));
    }
    template <typename T> T shfl_xor(T value, uint mask) const {
        const uint other = thread_rank() ^ mask;
        return detail::shuffle(value, first_lane() + (other < size_ ? other : thread_rank()));
    }

    bool any(bool choice) const { return ballot(choice) != 0; }
    bool all(bool choice) const { return ballot(!choice) == 0; }
    // A bit for each rank.
    uint ballot(bool choice) const { return (detail::votes(choice) >> first_lane()) & detail::bits(0, N); }

private:
    uint first_lane() const { return lane_ - thread_rank(); }

    uint lane_;
    uint index_;
    uint tiles_;
    uint size_;
};

template <uint N> thread_block_tile<N> tiled_partition(thread_block block) { return thread_block_tile<N>(block); }

// The threads of a SIMD-group that are active where this is made, numbered without gaps. It serves as long as the same
// threads are active. It has no `sync`: threads that are elsewhere could not come to a barrier of the SIMD-group.
class coalesced_group {
public:
    explicit coalesced_group(uint lane) : lane_(lane), members_(detail::votes(true)) {}
    uint thread_rank() const { return rank_of(lane_); }
    uint size() const { return popcount(members_); }
    static constexpr uint max_size() { return simd_width; }

    template <typename T> T shfl(T value, uint rank) const { return detail::shuffle(value, lane_of(rank % size())); }
    template <typename T> T shfl_up(T value, uint delta) const {
        const uint rank = thread_rank();
        return detail::shuffle(value, lane_of(rank - (delta <= rank ? delta : 0)));
    }
    template <typename T> T shfl_down(T value, uint delta) const {
        const uint rank = thread_rank();
        return detail::shuffle(value, lane_of(rank + (delta < size() - rank ? delta : 0)));
    }

    bool any(bool choice) const { return detail::votes(choice) != 0; }
    bool all(bool choice) const { return detail::votes(!choice) == 0; }
    // A bit for each rank.
    uint ballot(bool choice) const {
        uint ranks = 0;
        for (uint votes = detail::votes(choice); votes != 0; votes &= votes - 1) ranks |= 1u << rank_of(ctz(votes));
        return ranks;
    }

private:
    uint rank_of(uint lane) const { return popcount(members_ & detail::bits(0, lane)); }
    uint lane_of(uint rank) const {
        uint members = members_;
        for (uint i = 0; i < rank; ++i) members &= members - 1;
        return ctz(members);
    }

    uint lane_;
    uint members_;
};

inline coalesced_group coalesced_threads(uint lane) { return coalesced_group(lane); }

// All threads of the grid; Metal 3.2. Threadgroups wait for each other in `sync`: more of them than are resident
// together wait for ever. `metal_bridge::groups::GridSync` finds how many are, and refuses larger grids. What
// threadgroups tell each other before and after `sync` must be in atomics or in memory that the kernel declares
// `coherent(device)`.
#if __METAL_VERSION__ >= 320
class grid_group {
public:
    // Of [[threadgroup_position_in_grid]] and [[threadgroups_per_grid]]. The host gives `barrier`, which is zero.
    grid_group(thread_block block, uint3 position, uint3 threadgroups, device atomic_uint *barrier)
        : block_(block), index_((position.z * threadgroups.y + position.y) * threadgroups.x + position.x),
          count_(threadgroups.x * threadgroups.y * threadgroups.z), barrier_(barrier) {}
    // Neighbours in a threadgroup are neighbours here.
    ulong thread_rank() const { return ulong(index_) * block_.size() + block_.thread_rank(); }
    ulong size() const { return ulong(count_) * block_.size(); }
    uint block_rank() const { return index_; }
    uint num_blocks() const { return count_; }
    bool is_valid() const { return barrier_ != nullptr; }

    // All threads of the grid come here before any goes on.
    void sync() const {
        block_.sync();
        if (block_.thread_rank() == 0) {
            // Atomics are relaxed: the fences order them with all else.
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
            // All threadgroups together add the highest bit, and leave the others as they were.
            const uint change = index_ == 0 ? detail::highest_bit - (count_ - 1) : 1;
            const uint before = atomic_fetch_add_explicit(barrier_, change, memory_order_relaxed);
            while (((atomic_load_explicit(barrier_, memory_order_relaxed) ^ before) & detail::highest_bit) == 0) {}
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        }
        block_.sync();
    }

private:
    thread_block block_;
    uint index_;
    uint count_;
    device atomic_uint *barrier_;
};
#endif

// Scans and reductions. All threads of the group call them together, with an operation that is associative; floats are
// added in no order that is promised. `Operation` is one of the above, or any such function object.
template <typename Group, typename T, typename Operation> T inclusive_scan(Group group, T value, Operation operation) {
    const uint rank = group.thread_rank();
    for (uint delta = 1; delta < Group::max_size(); delta *= 2) {
        const T below = group.shfl_up(value, delta);
        if (delta <= rank) value = operation(below, value);
    }
    return value;
}

template <typename Group, typename T, typename Operation> T exclusive_scan(Group group, T value, Operation operation) {
    const T below = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? Operation::identity() : below;
}

// In every thread of the group.
template <typename Group, typename T, typename Operation> T reduce(Group group, T value, Operation operation) {
    return group.shfl(inclusive_scan(group, value, operation), group.size() - 1);
}

// Metal's own, where the tile is the SIMD-group.
template <typename T> enable_if_t<detail::is_simd_number<T>(), T> reduce(thread_block_tile<32>, T value, plus<T>) {
    return simd_sum(value);
}
template <typename T> enable_if_t<detail::is_simd_number<T>(), T> reduce(thread_block_tile<32>, T value, less<T>) {
    return simd_min(value);
}
template <typename T> enable_if_t<detail::is_simd_number<T>(), T> reduce(thread_block_tile<32>, T value, greater<T>) {
    return simd_max(value);
}
template <typename T>
enable_if_t<detail::is_simd_number<T>(), T> inclusive_scan(thread_block_tile<32>, T value, plus<T>) {
    return simd_prefix_inclusive_sum(value);
}
template <typename T>
enable_if_t<detail::is_simd_number<T>(), T> exclusive_scan(thread_block_tile<32>, T value, plus<T>) {
    return simd_prefix_exclusive_sum(value);
}

// Over a threadgroup, by way of `partials`: one element for each 32 threads, which may be used again at once.
template <typename T, typename Operation>
T inclusive_scan(thread_block block, T value, Operation operation, threadgroup T *partials) {
    const thread_block_tile<32> tile = tiled_partition<32>(block);
    value = inclusive_scan(tile, value, operation);
    if (tile.thread_rank() == tile.size() - 1) partials[tile.meta_group_rank()] = value;
    block.sync();
    if (tile.meta_group_rank() > 0) {
        T below = partials[0];
        for (uint i = 1; i < tile.meta_group_rank(); ++i) below = operation(below, partials[i]);
        value = operation(below, value);
    }
    block.sync();
    return value;
}

template <typename T, typename Operation>
T exclusive_scan(thread_block block, T value, Operation operation, threadgroup T *partials) {
    const thread_block_tile<32> tile = tiled_partition<32>(block);
    const T through = inclusive_scan(tile, value, operation);
    if (tile.thread_rank() == tile.size() - 1) partials[tile.meta_group_rank()] = through;
    block.sync();
    T below = Operation::identity();
    for (uint i = 0; i < tile.meta_group_rank(); ++i) below = operation(below, partials[i]);
    const T within = tile.shfl_up(through, 1);
    block.sync();
    return tile.thread_rank() == 0 ? below : operation(below, within);
}

template <typename T, typename Operation>
T reduce(thread_block block, T value, Operation operation, threadgroup T *partials) {
    const thread_block_tile<32> tile = tiled_partition<32>(block);
    value = reduce(tile, value, operation);
    if (tile.thread_rank() == 0) partials[tile.meta_group_rank()] = value;
    block.sync();
    value = partials[0];
    for (uint i = 1; i < tile.meta_group_size(); ++i) value = operation(value, partials[i]);
    block.sync();
    return value;
}

// Copies `count` elements between device and threadgroup memory, each thread of the group some of them. They have
// arrived after `wait`, for all threads of the group. Metal has no copies in the background: this returns when the
// thread's own part is done.
template <typename Group, typename To, typename From> void memcpy_async(Group group, To to, From from, uint count) {
    for (uint i = group.thread_rank(); i < count; i += group.size()) to[i] = from[i];
}
template <typename Group> void wait(Group group) { group.sync(); }

}  // namespace cooperative_groups

#endif
