/* Quad-group functions: four neighbouring lanes of a simdgroup. */
#ifndef SMTL_QUAD_H
#define SMTL_QUAD_H

#include "reduce.h"

namespace smtl {

constexpr uint32_t quad_lanes = 4;

SMTL_INLINE uint32_t quad_first_lane() { return current_lane() & ~(quad_lanes - 1); }
SMTL_INLINE uint32_t quad_lane() { return current_lane() % quad_lanes; }
SMTL_INLINE uint32_t quad_active(const smtl_exchange *exchange) {
    return exchange->active >> quad_first_lane() & ((1u << quad_lanes) - 1);
}

template <class T> SMTL_INLINE T quad_value(const smtl_exchange *exchange, uint32_t lane) {
    return value_of<T>(exchange, quad_first_lane() + lane % quad_lanes);
}

template <class Operation, class T> SMTL_INLINE T quad_reduce(uint32_t site, T value) {
    return reduce_lanes<Operation, T>(meet(site, value), quad_first_lane(), quad_lanes);
}

template <class Operation, bool inclusive, class T> SMTL_INLINE T quad_scan(uint32_t site, T value) {
    T results[quad_lanes];
    scan_lanes<Operation, inclusive>(meet(site, value), quad_first_lane(), quad_lanes, results);
    return results[quad_lane()];
}

} // namespace smtl

namespace metal {

class quad_vote {
  public:
    using vote_t = uint32_t;
    explicit constexpr quad_vote(vote_t vote = 0) : vote_(vote) {}
    explicit constexpr operator vote_t() const { return vote_; }
    constexpr bool all() const { return vote_ == (1u << smtl::quad_lanes) - 1; }
    constexpr bool any() const { return vote_ != 0; }

  private:
    vote_t vote_;
};

#define SMTL_QUAD_REDUCTION(name, operation)                                                                           \
    template <class T> SMTL_INLINE T name(T data, SMTL_SITE) { return smtl::quad_reduce<smtl::operation>(site, data); }
SMTL_QUAD_REDUCTION(quad_sum, sum)
SMTL_QUAD_REDUCTION(quad_product, product)
SMTL_QUAD_REDUCTION(quad_min, minimum)
SMTL_QUAD_REDUCTION(quad_max, maximum)
SMTL_QUAD_REDUCTION(quad_and, bit_and)
SMTL_QUAD_REDUCTION(quad_or, bit_or)
SMTL_QUAD_REDUCTION(quad_xor, bit_xor)
#undef SMTL_QUAD_REDUCTION

#define SMTL_QUAD_SCAN(name, operation, inclusive)                                                                     \
    template <class T> SMTL_INLINE T name(T data, SMTL_SITE) {                                                         \
        return smtl::quad_scan<smtl::operation, inclusive>(site, data);                                                \
    }
SMTL_QUAD_SCAN(quad_prefix_inclusive_sum, sum, true)
SMTL_QUAD_SCAN(quad_prefix_exclusive_sum, sum, false)
SMTL_QUAD_SCAN(quad_prefix_inclusive_product, product, true)
SMTL_QUAD_SCAN(quad_prefix_exclusive_product, product, false)
#undef SMTL_QUAD_SCAN

template <class T> SMTL_INLINE T quad_shuffle(T data, uint16_t quad_lane_id, SMTL_SITE) {
    return smtl::quad_value<T>(smtl::meet(site, data), quad_lane_id);
}

template <class T> SMTL_INLINE T quad_broadcast(T data, uint16_t broadcast_lane_id, SMTL_SITE) {
    return quad_shuffle(data, broadcast_lane_id, site);
}

template <class T> SMTL_INLINE T quad_broadcast_first(T data, SMTL_SITE) {
    const smtl_exchange *const exchange = smtl::meet(site, data);
    return smtl::quad_value<T>(exchange, uint32_t(__builtin_ctz(smtl::quad_active(exchange))));
}

template <class T> SMTL_INLINE T quad_shuffle_xor(T data, uint16_t mask, SMTL_SITE) {
    return smtl::quad_value<T>(smtl::meet(site, data), smtl::quad_lane() ^ mask);
}

template <class T> SMTL_INLINE T quad_shuffle_up(T data, uint16_t delta, SMTL_SITE) {
    const uint32_t lane = smtl::quad_lane();
    return smtl::quad_value<T>(smtl::meet(site, data), lane < delta ? lane : lane - delta);
}

template <class T> SMTL_INLINE T quad_shuffle_down(T data, uint16_t delta, SMTL_SITE) {
    const uint32_t lane = smtl::quad_lane();
    return smtl::quad_value<T>(smtl::meet(site, data), lane + delta < smtl::quad_lanes ? lane + delta : lane);
}

template <class T> SMTL_INLINE T quad_shuffle_rotate_up(T data, uint16_t delta, SMTL_SITE) {
    return smtl::quad_value<T>(smtl::meet(site, data), smtl::quad_lane() - delta);
}

template <class T> SMTL_INLINE T quad_shuffle_rotate_down(T data, uint16_t delta, SMTL_SITE) {
    return smtl::quad_value<T>(smtl::meet(site, data), smtl::quad_lane() + delta);
}

/* Shifts within segments of `modulo` lanes; what a segment lacks comes from its other end in `filling_data`. */
template <class T>
SMTL_INLINE T quad_shuffle_and_fill_up(T data, T filling_data, uint16_t delta, uint16_t modulo = smtl::quad_lanes,
                                       SMTL_SITE) {
    using both = smtl::value_and_filling<T>;
    const smtl_exchange *const exchange = smtl::meet(site, both{data, filling_data});
    const uint32_t lane = smtl::quad_lane();
    return lane % modulo < delta ? smtl::quad_value<both>(exchange, lane - delta + modulo).filling
                                 : smtl::quad_value<both>(exchange, lane - delta).value;
}

template <class T>
SMTL_INLINE T quad_shuffle_and_fill_down(T data, T filling_data, uint16_t delta, uint16_t modulo = smtl::quad_lanes,
                                         SMTL_SITE) {
    using both = smtl::value_and_filling<T>;
    const smtl_exchange *const exchange = smtl::meet(site, both{data, filling_data});
    const uint32_t lane = smtl::quad_lane();
    return lane % modulo + delta >= modulo ? smtl::quad_value<both>(exchange, lane + delta - modulo).filling
                                           : smtl::quad_value<both>(exchange, lane + delta).value;
}

SMTL_INLINE quad_vote quad_ballot(bool choice, SMTL_SITE) {
    const smtl_exchange *const exchange = smtl::meet(site, uint32_t(choice));
    uint32_t votes = 0;
    for (uint32_t lane = 0; lane < smtl::quad_lanes; ++lane)
        votes |= smtl::quad_value<uint32_t>(exchange, lane) << lane;
    return quad_vote(votes & smtl::quad_active(exchange));
}

SMTL_INLINE quad_vote quad_active_threads_mask(SMTL_SITE) { return quad_vote(smtl::quad_active(smtl::meet(site))); }

SMTL_INLINE bool quad_any(bool choice, SMTL_SITE) { return quad_ballot(choice, site).any(); }

SMTL_INLINE bool quad_all(bool choice, SMTL_SITE) { return !quad_ballot(!choice, site).any(); }

SMTL_INLINE bool quad_is_first(SMTL_SITE) {
    return uint32_t(__builtin_ctz(smtl::quad_active(smtl::meet(site)))) == smtl::quad_lane();
}

} // namespace metal

#endif
