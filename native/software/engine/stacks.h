/* The stacks of one core's fibers, and the arena in which they lie beside the core itself. */
#ifndef SMTL_STACKS_H
#define SMTL_STACKS_H

#include <cstddef>
#include <cstdint>

#include "engine.h"

namespace smtl {

struct core;

/* Reserves an arena and constructs its core; NULL if there is no address space or memory for it. */
core *create_core();
/* Gives all of it back to the system. */
void destroy_core(core &done);

/* The stacks of threadgroups that are resident beside those that the host's threads have begun with. Each takes two of
 * the mappings that the system allows a process, so launches share a part of these. How many a launch gets, until it
 * returns them: all, or what there is if no launch has any. 0: others have them, and will return them. A launch asks
 * once, so that two never wait for each other. */
uint64_t reserve_stacks(uint64_t wanted);
void return_stacks(uint64_t count);
/* Stacks that are kept for later launches. */
uint64_t stacks_to_keep();

class stack_set {
public:
    static constexpr uint32_t capacity = SMTL_MAX_THREADS_PER_THREADGROUP;

    static constexpr uint32_t strides = capacity + 1; /* one for the scheduler */

    /* `base` is page aligned and has `strides` times `stride` bytes of reserved, inaccessible memory behind it. False
     * if the system gives no memory. */
    bool initialise(unsigned char *base, size_t stride, size_t page);
    /* Makes sure that `count` stacks can be taken. False if the system gives no more memory. */
    bool commit(uint32_t count);
    /* Takes all stacks back. */
    void reset();
    uint32_t committed() const { return committed_; }
    uint32_t take() { return free_[--free_count_]; }
    void give_back(uint32_t stack) { free_[free_count_++] = uint16_t(stack); }

    void *bottom(uint32_t stack) const { return base_ + stack * stride_ + page_; }
    size_t size() const { return stride_ - page_; }
    /* Where a fiber starts on the stack. */
    void *top(uint32_t stack) const;
    /* Where the scheduler's stack starts, which lies behind all others. */
    void *scheduler_top() const { return base_ + (capacity + 1) * stride_; }
    /* Whether the address lies in a page that no stack may grow into. */
    bool in_guard(const void *address) const;

private:
    unsigned char *base_ = nullptr;
    size_t stride_ = 0;
    size_t page_ = 0;
    uint32_t committed_ = 0;
    uint32_t free_count_ = 0;
    uint16_t free_[capacity];
};

}  // namespace smtl

#endif
