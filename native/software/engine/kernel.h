/* A loaded kernel. */
#ifndef SMTL_KERNEL_H
#define SMTL_KERNEL_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine.h"
#include "hooks.h"

#include "msl/include/smtl/abi.h"

struct smtl_kernel {
    void *handle = nullptr;
    const smtl_kernel_image *image = nullptr;
    /* `threadgroup` variables are thread-local in the machine code: a threadgroup stays on one thread of the host. */
    size_t static_threadgroup_memory = 0;
    size_t tls_module = 0;
    /* Where its machine code is. */
    uintptr_t code_begin = 0, code_end = 0;
    bool blocks = false;
    /* Its threads may wait in loops for atomics to change. */
    bool polls = false;
    /* NULL if the kernel is not instrumented. */
    std::unique_ptr<smtl::kernel_checks> checks;
    /* Arguments that the machine code uses, a bit for each index. */
    uint32_t used_buffers = 0, used_threadgroup_memory = 0;
    /* How many nanoseconds one threadgroup took lately. Decides whether a launch is worth waking other threads for. */
    mutable std::atomic<uint32_t> threadgroup_cost{UINT32_MAX};
    void learn_cost(uint64_t threadgroups, uint64_t nanoseconds) const;

    bool contains(const void *instruction) const {
        const auto address = reinterpret_cast<uintptr_t>(instruction);
        return address >= code_begin && address < code_end;
    }
    /* The calling thread's copy of the kernel's `threadgroup` variables; NULL if it has none. */
    void *static_memory_of_thread() const;
};

namespace smtl {
/* A copy that the caller frees; NULL if memory has run out. */
char *copy_message(const std::string &text);
}  // namespace smtl

#endif
