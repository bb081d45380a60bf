#include "stacks.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "core.h"

namespace smtl {
namespace {

std::mutex budget_mutex;
uint64_t reserved = 0;

/* At two mappings for each stack, half of the mappings; the rest is the process's. */
uint64_t all_stacks() {
    static const uint64_t count = [] {
        constexpr uint64_t usual = 65530, most = uint64_t(1) << 20;
        unsigned long mappings = usual;
        if (FILE *const file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
            if (std::fscanf(file, "%lu", &mappings) != 1) mappings = usual;
            std::fclose(file);
        }
        return std::min<uint64_t>(mappings, most) / 4;
    }();
    return count;
}

}  // namespace

core *create_core() {
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    const auto whole_pages = [page](size_t bytes) { return (bytes + page - 1) / page * page; };

    /* Reserves twice the size, which holds an aligned arena, and gives the rest back. */
    void *reserved = mmap(nullptr, 2 * SMTL_ARENA_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return nullptr;
    const auto start = reinterpret_cast<uintptr_t>(reserved);
    const uintptr_t arena = (start + SMTL_ARENA_SIZE - 1) & ~(SMTL_ARENA_SIZE - 1);
    if (arena != start) munmap(reserved, arena - start);
    if (arena != start + SMTL_ARENA_SIZE)
        munmap(reinterpret_cast<void *>(arena + SMTL_ARENA_SIZE), start + SMTL_ARENA_SIZE - arena);

    const size_t core_size = whole_pages(sizeof(core));
    const size_t stride = (SMTL_ARENA_SIZE - core_size) / stack_set::strides / page * page;
    if (mprotect(reinterpret_cast<void *>(arena), core_size, PROT_READ | PROT_WRITE) == 0) {
        core *const result = new (reinterpret_cast<void *>(arena)) core;
        if (result->stacks.initialise(reinterpret_cast<unsigned char *>(arena + core_size), stride, page))
            return result;
    }
    munmap(reinterpret_cast<void *>(arena), SMTL_ARENA_SIZE);
    return nullptr;
}

void destroy_core(core &done) {
    done.~core();
    munmap(&done, SMTL_ARENA_SIZE);
}

bool stack_set::initialise(unsigned char *base, size_t stride, size_t page) {
    base_ = base;
    stride_ = stride;
    page_ = page;
    return mprotect(bottom(capacity), size(), PROT_READ | PROT_WRITE) == 0;
}

bool stack_set::commit(uint32_t count) {
    while (committed_ < count) {
        if (mprotect(bottom(committed_), size(), PROT_READ | PROT_WRITE) != 0) return false;
        ++committed_;
    }
    return true;
}

/* All stacks are back already, unless a kernel was abandoned or stacks were added. */
void stack_set::reset() {
    if (free_count_ == committed_) return;
    free_count_ = 0;
    for (uint32_t stack = committed_; stack-- > 0;) give_back(stack);
}

/* If all tops had the same offset in their pages, all fibers would share a few sets of the first-level cache. Steps of
 * five lines spread the tops over the lines of a page. */
void *stack_set::top(uint32_t stack) const {
    constexpr size_t step = 5 * 64, spread = 4096;
    return base_ + (stack + 1) * stride_ - stack * step % spread;
}

bool stack_set::in_guard(const void *address) const {
    const auto *at = static_cast<const unsigned char *>(address);
    if (at < base_ || at >= base_ + strides * stride_) return false;
    return size_t(at - base_) % stride_ < page_;
}

uint64_t reserve_stacks(uint64_t wanted) {
    const std::lock_guard lock(budget_mutex);
    const uint64_t left = all_stacks() - reserved;
    if (wanted > left && reserved != 0) return 0;
    const uint64_t granted = std::min(wanted, left);
    reserved += granted;
    return granted;
}

void return_stacks(uint64_t count) {
    const std::lock_guard lock(budget_mutex);
    reserved -= count;
}

uint64_t stacks_to_keep() { return all_stacks() / 4; }

}  // namespace smtl
