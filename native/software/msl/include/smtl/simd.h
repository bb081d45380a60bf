/* SIMD-group functions. */
#ifndef SMTL_SIMD_H
#define SMTL_SIMD_H

#include "reduce.h"

namespace smtl {

/* One body for each operation and type, however often it is called. */
template <class Operation, class T> __attribute__((noinline)) void reduce_simdgroup(const smtl_exchange *exchange, T &to) {
    to = reduce_lanes<Operation, T>(exchange, 0, simd_width);
}

template <class Operation, class T> SMTL_INLINE T simd_reduce(uint32_t site, T value) {
    return *combined<T>(meet(site, value), reduce_simdgroup<Operation, T>);
}

template <class T> struct lane_values {
    T lane[simd_width];
};

template <class Operation, bool inclusive, class T>
__attribute__((noinline)) void scan_simdgroup(const smtl_exchange *exchange, lane_values<T> &to) {
    scan_lanes<Operation, inclusive>(exchange, 0, simd_width, to.lane);
}

template <class Operation, bool inclusive, class T> SMTL_INLINE T simd_scan(uint32_t site, T value) {
    smtl_exchange *const exchange = meet(site, value);
    return combined<lane_values<T>>(exchange, scan_simdgroup<Operation, inclusive, T>)->lane[current_lane()];
}

} // namespace smtl

namespace metal {

class simd_vote {
  public:
    using vote_t = uint64_t;
    explicit constexpr simd_vote(vote_t vote = 0) : vote_(vote) {}
    explicit constexpr operator vote_t() const { return vote_; }
    constexpr bool all() const { return vote_ == smtl::all_lanes; }
    constexpr bool any() const { return vote_ != 0; }

  private:
    vote_t vote_;
};

#define SMTL_SIMD_REDUCTION(name, operation)                                                                           \
    template <class T> SMTL_INLINE T name(T data, SMTL_SITE) { return smtl::simd_reduce<smtl::operation>(site, data); }
SMTL_SIMD_REDUCTION(simd_sum, sum)
SMTL_SIMD_REDUCTION(simd_product, product)
SMTL_SIMD_REDUCTION(simd_min, minimum)
SMTL_SIMD_REDUCTION(simd_max, maximum)
SMTL_SIMD_REDUCTION(simd_and, bit_and)
SMTL_SIMD_REDUCTION(simd_or, bit_or)
SMTL_SIMD_REDUCTION(simd_xor, bit_xor)
#undef SMTL_SIMD_REDUCTION

#define SMTL_SIMD_SCAN(name, operation, inclusive)                                                                     \
    template <class T> SMTL_INLINE T name(T data, SMTL_SITE) {                                                         \
        return smtl::simd_scan<smtl::operation, inclusive>(site, data);                                                \
    }
SMTL_SIMD_SCAN(simd_prefix_inclusive_sum, sum, true)
SMTL_SIMD_SCAN(simd_prefix_exclusive_sum, sum, false)
SMTL_SIMD_SCAN(simd_prefix_inclusive_product, product, true)
SMTL_SIMD_SCAN(simd_prefix_exclusive_product, product, false)
#undef SMTL_SIMD_SCAN

template <class T> SMTL_INLINE T simd_shuffle(T data, uint16_t simd_lane_id, SMTL_SITE) {
    return smtl::value_of<T>(smtl::meet(site, data), simd_lane_id % smtl::simd_width);
}

template <class T> SMTL_INLINE T simd_broadcast(T data, uint16_t broadcast_lane_id, SMTL_SITE) {
    return simd_shuffle(data, broadcast_lane_id, site);
}

template <class T> SMTL_INLINE T simd_broadcast_first(T data, SMTL_SITE) {
    const smtl_exchange *const exchange = smtl::meet(site, data);
    return smtl::value_of<T>(exchange, uint32_t(__builtin_ctz(exchange->active)));
}

template <class T> SMTL_INLINE T simd_shuffle_xor(T data, uint16_t mask, SMTL_SITE) {
    const smtl_exchange *const exchange = smtl::meet(site, data);
    return smtl::value_of<T>(exchange, (smtl::current_lane() ^ mask) % smtl::simd_width);
}

/* The lanes that nothing is shifted into keep their own. */
template <class T> SMTL_INLINE T simd_shuffle_up(T data, uint16_t delta, SMTL_SITE) {
    const smtl_exchange *const exchange = smtl::meet(site, data);
    const uint32_t lane = smtl::current_lane();
    return smtl::value_of<T>(exchange, lane < delta ? lane : lane - delta);
}

template <class T> SMTL_INLINE T simd_shuffle_down(T data, uint16_t delta, SMTL_SITE) {
    const smtl_exchange *const exchange = smtl::meet(site, data);
    const uint32_t lane = smtl::current_lane();
    return smtl::value_of<T>(exchange, lane + delta < smtl::simd_width ? lane + delta : lane);
}

template <class T> SMTL_INLINE T simd_shuffle_rotate_up(T data, uint16_t delta, SMTL_SITE) {
    const smtl_exchange *const exchange = smtl::meet(site, data);
    return smtl::value_of<T>(exchange, (smtl::current_lane() - delta) % smtl::simd_width);
}

template <class T> SMTL_INLINE T simd_shuffle_rotate_down(T data, uint16_t delta, SMTL_SITE) {
    const smtl_exchange *const exchange = smtl::meet(site, data);
    return smtl::value_of<T>(exchange, (smtl::current_lane() + delta) % smtl::simd_width);
}

/* Shifts within segments of `modulo` lanes; what a segment lacks comes from its other end in `filling_data`. */
template <class T>
SMTL_INLINE T simd_shuffle_and_fill_up(T data, T filling_data, uint16_t delta, uint16_t modulo = smtl::simd_width,
                                       SMTL_SITE) {
    using both = smtl::value_and_filling<T>;
    const smtl_exchange *const exchange = smtl::meet(site, both{data, filling_data});
    const uint32_t lane = smtl::current_lane(), offset = lane % modulo;
    return offset < delta ? smtl::value_of<both>(exchange, (lane - delta + modulo) % smtl::simd_width).filling
                          : smtl::value_of<both>(exchange, lane - delta).value;
}

template <class T>
SMTL_INLINE T simd_shuffle_and_fill_down(T data, T filling_data, uint16_t delta, uint16_t modulo = smtl::simd_width,
                                         SMTL_SITE) {
    using both = smtl::value_and_filling<T>;
    const smtl_exchange *const exchange = smtl::meet(site, both{data, filling_data});
    const uint32_t lane = smtl::current_lane(), offset = lane % modulo;
    return offset + delta >= modulo ? smtl::value_of<both>(exchange, (lane + delta - modulo) % smtl::simd_width).filling
                                    : smtl::value_of<both>(exchange, lane + delta).value;
}

SMTL_INLINE simd_vote simd_active_threads_mask(SMTL_SITE) { return simd_vote(smtl::meet(site)->active); }

SMTL_INLINE bool simd_is_first(SMTL_SITE) {
    return uint32_t(__builtin_ctz(smtl::meet(site)->active)) == smtl::current_lane();
}

} // namespace metal

namespace smtl {

/* The active lanes whose value is true. */
inline __attribute__((noinline)) void count_votes(const smtl_exchange *exchange, uint32_t &votes) {
    votes = 0;
    for (uint32_t lane = 0; lane < simd_width; ++lane)
        votes |= uint32_t(exchange->values[lane * sizeof(uint32_t)] & 1) << lane;
    votes &= exchange->active;
}

struct ballot {
    uint32_t votes, active;
};

SMTL_INLINE ballot vote(uint32_t site, bool choice) {
    smtl_exchange *const exchange = meet(site, uint32_t(choice));
    return {*combined<uint32_t>(exchange, count_votes), exchange->active};
}

} // namespace smtl

namespace metal {

SMTL_INLINE simd_vote simd_ballot(bool choice, SMTL_SITE) { return simd_vote(smtl::vote(site, choice).votes); }

SMTL_INLINE bool simd_all(bool choice, SMTL_SITE) {
    const smtl::ballot ballot = smtl::vote(site, choice);
    return ballot.votes == ballot.active;
}

SMTL_INLINE bool simd_any(bool choice, SMTL_SITE) { return smtl::vote(site, choice).votes != 0; }

} // namespace metal

#endif
