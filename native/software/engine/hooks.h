/* The checks of instrumented kernels while they run. The engine declares and calls them; the sanitizer and the profiler
 * implement them. The engine knows nothing else of either. */
#ifndef SMTL_HOOKS_H
#define SMTL_HOOKS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine.h"
#include "msl/include/smtl/abi.h"

namespace smtl {

/* The core that runs a checked launch. */
struct core_facts {
    smtl_core *core;
    uintptr_t stacks; /* from here to the end of the arena */
    /* Ends the launch. Called on the kernel's stack, and does not return: no destructors of callers run. */
    void (*abandon)(smtl_core *core);
};

/* The checks of one launch, on one thread of the host from its beginning to its end. */
class launch_checks {
public:
    virtual ~launch_checks() = default;

    /* The launch. Bytes that the command buffer itself holds have been moved to where they can be watched. */
    virtual const smtl_launch &given() const = 0;
    /* False, with the reason, if the checks cannot be made. */
    virtual bool prepare(const core_facts &facts, std::string &problem) = 0;
    virtual void *threadgroup_memory(uint32_t index) const = 0;
    /* What the kernel's code calls. */
    virtual const smtl_sanitizer &calls() const = 0;

    virtual void begin_threadgroup() = 0;
    virtual void begin_thread(const void *stack_bottom, size_t stack_size) = 0;
    /* The running thread has come to a threadgroup_barrier. */
    virtual void arrive(uint32_t site, uint32_t memory, const void *instruction) = 0;
    /* All threads that have not returned have come to the barrier. */
    virtual void release(uint32_t arrived) = 0;
    /* No thread can go on: all wait for atomics to change, the running one at the instruction. May set the error. */
    virtual void wait_in_vain(const void *instruction) = 0;
    /* Lanes of a simdgroup, given as a mask, have met in a function of Metal's that they called before `instruction`.
     */
    virtual void meet(uint32_t first_thread, uint32_t active, const void *instruction) = 0;

    /* The text of the command buffer's error; empty if nothing went out of bounds. */
    virtual const std::string &error() const = 0;
};

/* What the checks know of one loaded kernel. */
class kernel_checks {
public:
    virtual ~kernel_checks() = default;

    /* Bytes of all threadgroup variables that the kernel declares. */
    virtual size_t threadgroup_memory() const = 0;
    /* Sets the name of an argument in reports. */
    virtual void name_argument(bool threadgroup, uint32_t index, const char *name) = 0;
    /* Waits until no other launch is checked. */
    virtual std::unique_ptr<launch_checks> begin(const smtl_launch &launch, const char *kernel) = 0;

    /* Makes the checks of the kernel whose shared object is loaded from `base` to `end`. NULL, with the reason, if the
     * file cannot be read. */
    static std::unique_ptr<kernel_checks> load(const std::string &path, uintptr_t base, uintptr_t end,
                                               const smtl_sanitized_globals &globals, std::string &problem);
};

}  // namespace smtl

#endif
