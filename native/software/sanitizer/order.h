#ifndef SMTL_SANITIZER_ORDER_H
#define SMTL_SANITIZER_ORDER_H

#include <cstdint>
#include <vector>

#include "sanitizer.h"

/* Phases by queue that are done. Immutable. */
struct smtl_clock {
    std::vector<uint32_t> phases;
};

namespace smtl::sanitize {

/* Whether Metal starts one launch only after the other has ended. `tracked`: on account of a resource that it tracks.
 */
bool comes_after(const smtl_moment &later, const smtl_moment &earlier, bool tracked);

}  // namespace smtl::sanitize

#endif
