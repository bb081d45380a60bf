/* Accesses of the library itself to memory of the program, told to the sanitizer: those that its instrumentation takes
 * for something else. Nothing in other builds. */
#ifndef SMTL_TOUCH_H
#define SMTL_TOUCH_H

#include "core.h"

namespace smtl {

#if SMTL_SANITIZE

#define SMTL_UNINSTRUMENTED __attribute__((no_sanitize("kernel-address")))

SMTL_INLINE void touch(const volatile void *address, size_t size, uint32_t how) {
    smtl_core *const core = current_core();
    core->sanitizer.touch(core, address, size, how, nullptr);
}

SMTL_INLINE void touch_fence(uint32_t memory) {
    smtl_core *const core = current_core();
    core->sanitizer.fence(core, memory);
}

/* Called by each lane that comes out of a meeting: the first one speaks for all. */
SMTL_INLINE void touch_simdgroup_barrier(smtl_exchange *exchange, uint32_t memory) {
    if (exchange->combined) return;
    exchange->combined = 1;
    smtl_core *const core = current_core();
    core->sanitizer.simdgroup_barrier(core, memory);
}

SMTL_INLINE void touch_inactive_lane(uint32_t lane) {
    smtl_core *const core = current_core();
    core->sanitizer.inactive_lane(core, lane);
}

#else

#define SMTL_UNINSTRUMENTED

SMTL_INLINE void touch(const volatile void *, size_t, uint32_t) {}
SMTL_INLINE void touch_fence(uint32_t) {}
SMTL_INLINE void touch_simdgroup_barrier(smtl_exchange *, uint32_t) {}
SMTL_INLINE void touch_inactive_lane(uint32_t) {}

#endif

/* `Rows` rows of a matrix in memory, for the whole simdgroup. */
template <class T>
SMTL_INLINE void touch_rows(const T *first, uint64_t stride, uint32_t rows, uint32_t columns, uint32_t how) {
#if SMTL_SANITIZE
    for (uint32_t row = 0; row < rows; ++row)
        touch(first + row * stride, columns * sizeof(T), how | SMTL_TOUCH_COLLECTIVE);
#else
    (void)first, (void)stride, (void)rows, (void)columns, (void)how;
#endif
}

}  // namespace smtl

#endif
