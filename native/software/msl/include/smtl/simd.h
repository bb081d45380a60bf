/* SIMD-group functions. */
#ifndef SMTL_SIMD_H
#define SMTL_SIMD_H

#include "lane_group.h"

namespace metal {

using simd_vote = smtl::lane_vote<uint64_t, smtl::simd_width>;

SMTL_LANE_FUNCTIONS(simd, smtl::lane_group<smtl::simd_width>, simd_lane_id)

}  // namespace metal

/* Built-in functions of Apple's compiler; predefined.h and msl/builtins.h have more. */

/* Where a thread lies, asked from a function that has no such parameter. The argument is there for its type. */
template <class T> SMTL_INLINE T __metal_get_thread_index_in_simdgroup(T) { return T(smtl::current_lane()); }
template <class T> SMTL_INLINE T __metal_get_simdgroup_size(T) { return T(smtl::simd_width); }

/* They take a float as well, and combine the bits of the integer that it becomes. */
#define SMTL_LANE_BITS(prefix, operation)                                                \
    template <class T> SMTL_INLINE T __metal_##prefix##_##operation(T data, SMTL_SITE) { \
        if constexpr (__is_floating_point(T))                                            \
            return T(metal::prefix##_##operation(int(data), site));                      \
        else                                                                             \
            return metal::prefix##_##operation(data, site);                              \
    }
SMTL_LANE_BITS(simd, and)
SMTL_LANE_BITS(simd, or)
SMTL_LANE_BITS(simd, xor)

#endif
