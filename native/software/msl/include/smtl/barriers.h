/* threadgroup_barrier and simdgroup_barrier. */
#ifndef SMTL_BARRIERS_H
#define SMTL_BARRIERS_H

#include "exchange.h"
#include "touch.h"

namespace metal {

enum class mem_flags : uint32_t {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
    mem_threadgroup_imageblock = 8,
    mem_object_data = 16,
};

constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint32_t(a) | uint32_t(b)); }
constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint32_t(a) & uint32_t(b)); }

/* A threadgroup stays on one thread of the host: which memory the flags name makes a difference to the sanitizer only.
 */
SMTL_INLINE void threadgroup_barrier(mem_flags flags, SMTL_SITE) {
    smtl::enter<offsetof(smtl_core, enter_barrier)>(smtl::current_core(), site, nullptr, uint32_t(flags));
}

SMTL_INLINE void simdgroup_barrier(mem_flags flags, SMTL_SITE) {
    smtl::touch_simdgroup_barrier(smtl::meet(site), uint32_t(flags));
}

}  // namespace metal

#endif
