/* Meetings of the lanes of a simdgroup: each gives a value, and sees those of the others. */
#ifndef SMTL_EXCHANGE_H
#define SMTL_EXCHANGE_H

#include "core.h"

namespace smtl {

constexpr uint32_t simd_width = SMTL_SIMDGROUP_WIDTH;
constexpr uint32_t all_lanes = ~0u;

/* The position of a call in the source, in source order: macros make lines of some thousand columns. Default arguments
 * of this form are evaluated at the call. */
#define SMTL_HERE                                                                                        \
    ((uint32_t(__builtin_LINE()) % (SMTL_TURN_SITE >> SMTL_SITE_COLUMN_BITS) << SMTL_SITE_COLUMN_BITS) + \
     uint32_t(__builtin_COLUMN()) % (1u << SMTL_SITE_COLUMN_BITS))
#define SMTL_SITE uint32_t site = SMTL_HERE

template <class T> SMTL_INLINE smtl_exchange *meet(uint32_t site, const T &value) {
    static_assert(sizeof(T) <= SMTL_EXCHANGE_VALUE_SIZE, "too large a value for an exchange between lanes");
    enter<offsetof(smtl_core, enter_exchange)>(current_core(), site, &value, sizeof(T));
    return current_core()->exchange;
}

SMTL_INLINE smtl_exchange *meet(uint32_t site) {
    enter<offsetof(smtl_core, enter_exchange)>(current_core(), site, nullptr, 0);
    return current_core()->exchange;
}

/* What the lane gave. Nothing that is of use, of lanes that did not take part. */
template <class T> SMTL_INLINE T value_of(const smtl_exchange *exchange, uint32_t lane) {
    T value;
    __builtin_memcpy(&value, exchange->values + lane * sizeof(T), sizeof(T));
    return value;
}

/* The value and what fills the gap that shifting leaves. */
template <class T> struct value_and_filling {
    T value, filling;
};

/* Results of all lanes together are computed by the first lane that asks. */
template <class Result, class Combine> SMTL_INLINE const Result *combined(smtl_exchange *exchange, Combine combine) {
    static_assert(sizeof(Result) <= SMTL_EXCHANGE_RESULT_SIZE, "too large a result of an exchange between lanes");
    auto *const result = reinterpret_cast<Result *>(exchange->result);
    if (!exchange->combined) {
        combine(exchange, *result);
        exchange->combined = 1;
    }
    return result;
}

}  // namespace smtl

#endif
