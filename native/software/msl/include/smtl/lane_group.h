/* What SIMD-group and quad-group functions have in common: neighbouring lanes of a simdgroup exchange values. */
#ifndef SMTL_LANE_GROUP_H
#define SMTL_LANE_GROUP_H

#include "reduce.h"
#include "region.h"

namespace smtl {

/* Results of all groups of a simdgroup: of the groups themselves, or of their lanes. */
template <class T, uint32_t Count> struct results {
    T of[Count];
};

/* One body for each operation and type, however often it is called. */
template <class Operation, uint32_t Width, class T>
__attribute__((noinline)) void reduce_groups(const smtl_exchange *exchange, results<T, simd_width / Width> &to) {
    for (uint32_t group = 0; group < simd_width / Width; ++group)
        to.of[group] = reduce_lanes<Operation, T>(exchange, group * Width, Width);
}

template <class Operation, bool inclusive, uint32_t Width, class T>
__attribute__((noinline)) void scan_groups(const smtl_exchange *exchange, results<T, simd_width> &to) {
    for (uint32_t first = 0; first < simd_width; first += Width)
        scan_lanes<Operation, inclusive>(exchange, first, Width, to.of + first);
}

/* The active lanes of the simdgroup whose value is true. */
inline __attribute__((noinline)) void count_votes(const smtl_exchange *exchange, uint32_t &votes) {
    votes = 0;
    for (uint32_t lane = 0; lane < simd_width; ++lane)
        votes |= uint32_t(exchange->values[lane * sizeof(uint32_t)] & 1) << lane;
    votes &= exchange->active;
}

/* Groups of `Width` neighbouring lanes, as the running thread sees its own. Lanes are counted within the group. */
template <uint32_t Width> struct lane_group {
    static constexpr uint32_t width = Width;
    static constexpr uint32_t all = Width == simd_width ? all_lanes : (1u << Width) - 1;

    static SMTL_INLINE uint32_t first_lane() { return current_lane() & ~(Width - 1); }
    static SMTL_INLINE uint32_t own_lane() { return current_lane() % Width; }
    static SMTL_INLINE uint32_t in_group(uint32_t lanes) { return lanes >> first_lane() & all; }
    static SMTL_INLINE uint32_t active(const smtl_exchange *exchange) { return in_group(exchange->active); }
    static SMTL_INLINE uint32_t first_active(const smtl_exchange *exchange) {
        return uint32_t(__builtin_ctz(active(exchange)));
    }
    /* What the lane gave, or the value of its operand where it is inactive. */
    template <class T, class Operand>
    static SMTL_INLINE T value(const smtl_exchange *exchange, uint32_t lane, const T &own, const Operand &operand) {
        const uint32_t from = first_lane() + lane % Width;
        if (__builtin_expect(exchange->active >> from & 1, true)) return value_of<T>(exchange, from);
        return inactive_value(from, own, operand);
    }

    template <class Operation, class T> static SMTL_INLINE T reduce(uint32_t site, T data) {
        using all_results = results<T, simd_width / Width>;
        return combined<all_results>(meet(site, data), reduce_groups<Operation, Width, T>)->of[current_lane() / Width];
    }
    template <class Operation, bool inclusive, class T> static SMTL_INLINE T scan(uint32_t site, T data) {
        using all_results = results<T, simd_width>;
        return combined<all_results>(meet(site, data), scan_groups<Operation, inclusive, Width, T>)->of[current_lane()];
    }

    template <class T, class Operand>
    static SMTL_INLINE T from_lane(uint32_t site, T data, const Operand &operand, uint32_t lane) {
        return value(meet(site, data), lane, data, operand);
    }
    template <class T> static SMTL_INLINE T from_first(uint32_t site, T data) {
        const smtl_exchange *const exchange = meet(site, data);
        return value_of<T>(exchange, first_lane() + first_active(exchange));
    }
    /* The lanes that nothing is shifted into keep their own. */
    template <class T, class Operand>
    static SMTL_INLINE T shift_up(uint32_t site, T data, const Operand &operand, uint32_t delta) {
        const uint32_t lane = own_lane();
        return from_lane(site, data, operand, lane < delta ? lane : lane - delta);
    }
    template <class T, class Operand>
    static SMTL_INLINE T shift_down(uint32_t site, T data, const Operand &operand, uint32_t delta) {
        const uint32_t lane = own_lane();
        return from_lane(site, data, operand, lane + delta < Width ? lane + delta : lane);
    }
    /* Within segments of `modulo` lanes; what a segment lacks comes from its other end in `filling`, of which nothing
     * is known where that lane is inactive. */
    template <class T, class Operand>
    static SMTL_INLINE T filled(uint32_t site, T data, const Operand &operand, T filling, uint32_t lane, bool fills) {
        const smtl_exchange *const exchange = meet(site, value_and_filling<T>{data, filling});
        const uint32_t from = first_lane() + lane % Width;
        const auto both = value_of<value_and_filling<T>>(exchange, from);
        if (__builtin_expect(exchange->active >> from & 1, true)) return fills ? both.filling : both.value;
        return fills ? filling : inactive_value(from, data, operand);
    }
    template <class T, class Operand>
    static SMTL_INLINE T fill_up(uint32_t site, T data, const Operand &operand, T filling, uint32_t delta,
                                 uint32_t modulo) {
        const uint32_t lane = own_lane();
        const bool fills = lane % modulo < delta;
        return filled(site, data, operand, filling, fills ? lane - delta + modulo : lane - delta, fills);
    }
    template <class T, class Operand>
    static SMTL_INLINE T fill_down(uint32_t site, T data, const Operand &operand, T filling, uint32_t delta,
                                   uint32_t modulo) {
        const uint32_t lane = own_lane();
        const bool fills = lane % modulo + delta >= modulo;
        return filled(site, data, operand, filling, fills ? lane + delta - modulo : lane + delta, fills);
    }

    static SMTL_INLINE uint32_t ballot(uint32_t site, bool choice) {
        return in_group(*combined<uint32_t>(meet(site, uint32_t(choice)), count_votes));
    }
    static SMTL_INLINE uint32_t active(uint32_t site) { return active(meet(site)); }
    static SMTL_INLINE bool is_first(uint32_t site) { return first_active(meet(site)) == own_lane(); }
};

/* The lanes that voted, or are active. */
template <class Mask, uint32_t Width> class lane_vote {
public:
    using vote_t = Mask;
    explicit constexpr lane_vote(vote_t vote = 0) : vote_(vote) {}
    explicit constexpr operator vote_t() const { return vote_; }
    constexpr bool all() const { return vote_ == lane_group<Width>::all; }
    constexpr bool any() const { return vote_ != 0; }

private:
    vote_t vote_;
};

}  // namespace smtl

/* Metal's functions for one kind of group: `prefix` is simd or quad. */
#define SMTL_LANE_FUNCTION(name, ...) \
    template <class T> SMTL_INLINE T name(T data, SMTL_SITE) { return __VA_ARGS__(site, data); }
/* The second is for an operand that the translation understands; see region.h. */
#define SMTL_LANE_SHUFFLE(name, parameter, implementation, lane)                             \
    template <class T> SMTL_INLINE T name(T data, uint16_t parameter, SMTL_SITE) {           \
        return implementation(site, data, smtl::unknown_operand(), lane);                    \
    }                                                                                        \
    template <class T, class Operand>                                                        \
    SMTL_INLINE T name(smtl::lane_operand<T, Operand> data, uint16_t parameter, SMTL_SITE) { \
        return implementation(site, data.value, data.operand, lane);                         \
    }
#define SMTL_LANE_FILL(name, width, implementation)                                                                  \
    template <class T>                                                                                               \
    SMTL_INLINE T name(T data, T filling_data, uint16_t delta, uint16_t modulo = width, SMTL_SITE) {                 \
        return implementation(site, data, smtl::unknown_operand(), filling_data, delta, modulo);                     \
    }                                                                                                                \
    template <class T, class Operand>                                                                                \
    SMTL_INLINE T name(smtl::lane_operand<T, Operand> data, T filling_data, uint16_t delta, uint16_t modulo = width, \
                       SMTL_SITE) {                                                                                  \
        return implementation(site, data.value, data.operand, filling_data, delta, modulo);                          \
    }
#define SMTL_LANE_FUNCTIONS(prefix, group, lane_id)                                                                  \
    SMTL_LANE_FUNCTION(prefix##_sum, group::reduce<smtl::sum>)                                                       \
    SMTL_LANE_FUNCTION(prefix##_product, group::reduce<smtl::product>)                                               \
    SMTL_LANE_FUNCTION(prefix##_min, group::reduce<smtl::minimum>)                                                   \
    SMTL_LANE_FUNCTION(prefix##_max, group::reduce<smtl::maximum>)                                                   \
    SMTL_LANE_FUNCTION(prefix##_and, group::reduce<smtl::bit_and>)                                                   \
    SMTL_LANE_FUNCTION(prefix##_or, group::reduce<smtl::bit_or>)                                                     \
    SMTL_LANE_FUNCTION(prefix##_xor, group::reduce<smtl::bit_xor>)                                                   \
    SMTL_LANE_FUNCTION(prefix##_prefix_inclusive_sum, group::scan<smtl::sum, true>)                                  \
    SMTL_LANE_FUNCTION(prefix##_prefix_exclusive_sum, group::scan<smtl::sum, false>)                                 \
    SMTL_LANE_FUNCTION(prefix##_prefix_inclusive_product, group::scan<smtl::product, true>)                          \
    SMTL_LANE_FUNCTION(prefix##_prefix_exclusive_product, group::scan<smtl::product, false>)                         \
    SMTL_LANE_FUNCTION(prefix##_broadcast_first, group::from_first)                                                  \
    SMTL_LANE_SHUFFLE(prefix##_shuffle, lane_id, group::from_lane, lane_id)                                          \
    SMTL_LANE_SHUFFLE(prefix##_broadcast, broadcast_lane_id, group::from_lane, broadcast_lane_id)                    \
    SMTL_LANE_SHUFFLE(prefix##_shuffle_xor, mask, group::from_lane, group::own_lane() ^ mask)                        \
    SMTL_LANE_SHUFFLE(prefix##_shuffle_up, delta, group::shift_up, delta)                                            \
    SMTL_LANE_SHUFFLE(prefix##_shuffle_down, delta, group::shift_down, delta)                                        \
    SMTL_LANE_SHUFFLE(prefix##_shuffle_rotate_up, delta, group::from_lane, group::own_lane() - delta)                \
    SMTL_LANE_SHUFFLE(prefix##_shuffle_rotate_down, delta, group::from_lane, group::own_lane() + delta)              \
    SMTL_LANE_FILL(prefix##_shuffle_and_fill_up, group::width, group::fill_up)                                       \
    SMTL_LANE_FILL(prefix##_shuffle_and_fill_down, group::width, group::fill_down)                                   \
    SMTL_INLINE prefix##_vote prefix##_ballot(bool choice, SMTL_SITE) {                                              \
        return prefix##_vote(group::ballot(site, choice));                                                           \
    }                                                                                                                \
    SMTL_INLINE bool prefix##_any(bool choice, SMTL_SITE) { return group::ballot(site, choice) != 0; }               \
    SMTL_INLINE bool prefix##_all(bool choice, SMTL_SITE) { return group::ballot(site, !choice) == 0; }              \
    SMTL_INLINE prefix##_vote prefix##_active_threads_mask(SMTL_SITE) { return prefix##_vote(group::active(site)); } \
    SMTL_INLINE bool prefix##_is_first(SMTL_SITE) { return group::is_first(site); }

#endif
