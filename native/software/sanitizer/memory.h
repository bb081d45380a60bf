/* What the sanitizer knows about a piece of memory that kernels see. */
#ifndef SMTL_SANITIZER_MEMORY_H
#define SMTL_SANITIZER_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cells.h"
#include "sanitizer.h"
#include "windows.h"

namespace smtl::sanitize {

enum class memory_kind : uint8_t {
    buffer,
    inline_bytes,          /* of setBytes */
    threadgroup_argument,
    threadgroup_variable,
};

constexpr bool is_threadgroup(memory_kind kind) {
    return kind == memory_kind::threadgroup_argument || kind == memory_kind::threadgroup_variable;
}

}  // namespace smtl::sanitize

struct smtl_watched {
    uintptr_t base = 0;
    size_t length = 0;
    size_t capacity = 0; /* the most that `length` can be, if each launch gets the memory anew */
    /* Addresses that belong to it or to nobody. Outside windows, its own addresses alone. */
    smtl::sanitize::window range;
    bool in_window = false; /* the rest of the range can be mapped */
    smtl::sanitize::memory_kind kind = smtl::sanitize::memory_kind::buffer;
    uint32_t index = 0; /* of a threadgroup argument */
    std::string label;
    bool freed = false;
    bool tracked = true;

    /* Which bytes kernels have written; NULL: all count as written. */
    std::unique_ptr<smtl::sanitize::written_bytes> written;
    /* Who accessed the bytes. Parts of a shared allocation share it, since they may lie over one another. */
    std::shared_ptr<smtl::sanitize::cell_store> cells = std::make_shared<smtl::sanitize::cell_store>();
    size_t cells_offset = 0; /* of these bytes among those of `cells` */
    size_t cells_length = 0; /* of all bytes of `cells`, for a part */
    smtl_watched *whole = nullptr; /* that this is a part of; NULL once it is freed */
    std::vector<smtl_watched *> parts;

    int file = -1;               /* of a shared allocation */
    uintptr_t mapped = 0;        /* where its pages are; 0: they are the caller's */
    size_t mapped_length = 0;

    int64_t offset_of(uintptr_t address) const { return int64_t(address - base); }
    bool holds(uintptr_t address, size_t size) const {
        return address >= base && size <= length && address - base <= length - size;
    }
};

namespace smtl::sanitize {

/* The memory whose range the address lies in; NULL if there is none. Valid while the caller is the running launch. */
smtl_watched *find_watched(uintptr_t address);

/* Memory that the sanitizer itself hands to a launch, at the same address every time. */
smtl_watched *slot_for_bytes(uint32_t index);
smtl_watched *slot_for_threadgroup_memory(uint32_t index);

/* Deletes what was freed while a launch might still have looked at it, and forgets what parts have left. */
void forget_freed();
/* Forgets all accesses so far. */
void forget_accesses();

}  // namespace smtl::sanitize

#endif
