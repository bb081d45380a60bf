/* Tells AddressSanitizer which stack is in use. In other builds this does nothing. */
#ifndef SMTL_ADDRESS_SANITIZER_H
#define SMTL_ADDRESS_SANITIZER_H

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SMTL_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SMTL_ADDRESS_SANITIZER 1
#endif

#ifdef SMTL_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace smtl::address_sanitizer {

/* While it lives, AddressSanitizer takes the whole arena for the thread's stack. The code of fibers is not
 * instrumented, so AddressSanitizer need not know of switches between them. */
class arena_scope {
public:
    arena_scope([[maybe_unused]] const void *arena, [[maybe_unused]] size_t size) {
#ifdef SMTL_ADDRESS_SANITIZER
        __sanitizer_start_switch_fiber(&native_fake_stack_, arena, size);
        __sanitizer_finish_switch_fiber(nullptr, &native_bottom_, &native_size_);
#endif
    }
    ~arena_scope() {
#ifdef SMTL_ADDRESS_SANITIZER
        __sanitizer_start_switch_fiber(nullptr, native_bottom_, native_size_);
        __sanitizer_finish_switch_fiber(native_fake_stack_, nullptr, nullptr);
#endif
    }
    arena_scope(const arena_scope &) = delete;
    arena_scope &operator=(const arena_scope &) = delete;

private:
#ifdef SMTL_ADDRESS_SANITIZER
    void *native_fake_stack_ = nullptr;
    const void *native_bottom_ = nullptr;
    size_t native_size_ = 0;
#endif
};

}  // namespace smtl::address_sanitizer

#endif
