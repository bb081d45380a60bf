/* Tells AddressSanitizer which stack is in use; nothing in other builds. */
#ifndef SMTL_SANITIZER_H
#define SMTL_SANITIZER_H

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SMTL_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SMTL_ADDRESS_SANITIZER 1
#endif

#ifdef SMTL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace smtl::sanitizer {

/* Before a switch to the stack given. `fake` keeps what the sanitizer has of the stack that is left; NULL: it ends. */
inline void leave([[maybe_unused]] void **fake, [[maybe_unused]] const void *bottom, [[maybe_unused]] size_t size) {
#ifdef SMTL_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(fake, bottom, size);
#endif
}

/* After a switch; `fake` as saved when this stack was left. */
inline void arrive([[maybe_unused]] void *fake, [[maybe_unused]] const void **old_bottom,
                   [[maybe_unused]] size_t *old_size) {
#ifdef SMTL_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(fake, old_bottom, old_size);
#endif
}

/* The frames on this stack are gone without having returned. */
inline void forget_frames([[maybe_unused]] const void *bottom, [[maybe_unused]] size_t size) {
#ifdef SMTL_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(bottom, size);
#endif
}

} // namespace smtl::sanitizer

#endif
