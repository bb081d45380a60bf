/* SIMD-group functions. */
#ifndef SMTL_SIMD_H
#define SMTL_SIMD_H

#include "lane_group.h"

namespace metal {

using simd_vote = smtl::lane_vote<uint64_t, smtl::simd_width>;

SMTL_LANE_FUNCTIONS(simd, smtl::lane_group<smtl::simd_width>, simd_lane_id)

} // namespace metal

#endif
