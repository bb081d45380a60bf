/* What clang's instrumentation calls (-fsanitize=kernel-address, all checks as calls): handed on to the engine. Part of
 * the translation unit of an instrumented kernel, and hidden in its shared object, so that nothing here meets the
 * AddressSanitizer that the host process may run under. */
#ifndef SMTL_SANITIZE_H
#define SMTL_SANITIZE_H

#include "core.h"

#define SMTL_HOOK extern "C" __attribute__((visibility("hidden"), used, noinline, no_sanitize("kernel-address")))

#define SMTL_SIZED_HOOKS(size)                                                                                   \
    SMTL_HOOK void __asan_load##size##_noabort(uintptr_t address) {                                              \
        smtl_core *const core = smtl::current_core();                                                            \
        core->sanitizer.touch(core, (const void *)address, size, 0, __builtin_return_address(0));                \
    }                                                                                                            \
    SMTL_HOOK void __asan_store##size##_noabort(uintptr_t address) {                                             \
        smtl_core *const core = smtl::current_core();                                                            \
        core->sanitizer.touch(core, (const void *)address, size, SMTL_TOUCH_WRITE, __builtin_return_address(0)); \
    }
SMTL_SIZED_HOOKS(1)
SMTL_SIZED_HOOKS(2)
SMTL_SIZED_HOOKS(4)
SMTL_SIZED_HOOKS(8)
SMTL_SIZED_HOOKS(16)
#undef SMTL_SIZED_HOOKS

SMTL_HOOK void __asan_loadN_noabort(uintptr_t address, size_t size) {
    smtl_core *const core = smtl::current_core();
    core->sanitizer.touch(core, (const void *)address, size, 0, __builtin_return_address(0));
}

SMTL_HOOK void __asan_storeN_noabort(uintptr_t address, size_t size) {
    smtl_core *const core = smtl::current_core();
    core->sanitizer.touch(core, (const void *)address, size, SMTL_TOUCH_WRITE, __builtin_return_address(0));
}

SMTL_HOOK void *__asan_memcpy(void *to, const void *from, size_t size) {
    smtl_core *const core = smtl::current_core();
    core->sanitizer.touch(core, from, size, SMTL_TOUCH_COPY, __builtin_return_address(0));
    core->sanitizer.touch(core, to, size, SMTL_TOUCH_COPY | SMTL_TOUCH_WRITE, __builtin_return_address(0));
    return __builtin_memcpy(to, from, size);
}

SMTL_HOOK void *__asan_memmove(void *to, const void *from, size_t size) {
    smtl_core *const core = smtl::current_core();
    core->sanitizer.touch(core, from, size, SMTL_TOUCH_COPY, __builtin_return_address(0));
    core->sanitizer.touch(core, to, size, SMTL_TOUCH_COPY | SMTL_TOUCH_WRITE, __builtin_return_address(0));
    return __builtin_memmove(to, from, size);
}

SMTL_HOOK void *__asan_memset(void *to, int value, size_t size) {
    smtl_core *const core = smtl::current_core();
    core->sanitizer.touch(core, to, size, SMTL_TOUCH_WRITE, __builtin_return_address(0));
    return __builtin_memset(to, value, size);
}

/* Large frames note the state of their objects by calls: as many bytes of the state at `state` become `value`. */
#define SMTL_STATE_HOOK(value)                                               \
    SMTL_HOOK void __asan_set_shadow_##value(uintptr_t state, size_t size) { \
        __builtin_memset((void *)state, 0x##value, size);                    \
    }
SMTL_STATE_HOOK(00)
SMTL_STATE_HOOK(01)
SMTL_STATE_HOOK(02)
SMTL_STATE_HOOK(03)
SMTL_STATE_HOOK(04)
SMTL_STATE_HOOK(05)
SMTL_STATE_HOOK(06)
SMTL_STATE_HOOK(07)
SMTL_STATE_HOOK(f1)
SMTL_STATE_HOOK(f2)
SMTL_STATE_HOOK(f3)
SMTL_STATE_HOOK(f5)
SMTL_STATE_HOOK(f8)
#undef SMTL_STATE_HOOK

/* Called where msl/machine_code/counted_operations.h says. */
SMTL_HOOK void smtl_count_operations(uint64_t counts) {
    smtl_core *const core = smtl::current_core();
    core->sanitizer.operations(core, counts, __builtin_return_address(0));
}
SMTL_HOOK void smtl_count_branch(const char *branch, uint32_t side) {
    smtl_core *const core = smtl::current_core();
    core->sanitizer.branch(core, branch, side, __builtin_return_address(0));
}

/* Threads end on stacks that the engine cleans before it uses them again. */
SMTL_HOOK void __asan_handle_no_return() {}

extern "C" __attribute__((visibility("default"), used)) SMTL_LIBRARY_VARIABLE smtl_sanitized_globals smtl_globals = {
    nullptr, 0};

SMTL_HOOK void __asan_register_globals(uintptr_t entries, size_t count) {
    smtl_globals = {(const uintptr_t *)entries, count};
}

/* What calls it would be an initialiser; initialisers.ld has it here instead. */
extern "C" {
extern void (*const __start_smtl_initialisers[])() __attribute__((weak, visibility("hidden")));
extern void (*const __stop_smtl_initialisers[])() __attribute__((weak, visibility("hidden")));
}
extern "C" __attribute__((visibility("default"), used))
const smtl_global_lister smtl_lister = {__start_smtl_initialisers, __stop_smtl_initialisers};

#undef SMTL_HOOK

#endif
