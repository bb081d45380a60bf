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
