#ifndef SMTL_SANITIZER_ORDER_H
#define SMTL_SANITIZER_ORDER_H

#include <cstdint>
#include <vector>

#include "sanitizer.h"

/* For each queue, the phase up to which it is done. Each clock has one owner, which changes it under order.cpp's mutex.
 */
struct smtl_clock {
    std::vector<uint32_t> phases;
};

namespace smtl::sanitize {

/* Whether Metal starts the later launch only after the earlier one has ended. `tracked`: Metal tracks a resource that
 * both use. */
bool comes_after(const smtl_moment &later, const smtl_moment &earlier, bool tracked);

}  // namespace smtl::sanitize

#endif
