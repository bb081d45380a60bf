/* Quad-group functions: four neighbouring lanes of a simdgroup. */
#ifndef SMTL_QUAD_H
#define SMTL_QUAD_H

#include "lane_group.h"

namespace smtl {

constexpr uint32_t quad_lanes = 4;

}  // namespace smtl

namespace metal {

using quad_vote = smtl::lane_vote<uint32_t, smtl::quad_lanes>;

SMTL_LANE_FUNCTIONS(quad, smtl::lane_group<smtl::quad_lanes>, quad_lane_id)

}  // namespace metal

#endif
