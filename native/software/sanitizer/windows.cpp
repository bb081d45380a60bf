#include "windows.h"

#include <sys/mman.h>

namespace smtl::sanitize {
namespace {

/* How much address space is reserved: the most that the system gives. Half of it is for large windows. */
constexpr size_t most_reserved = size_t(32) << 40, least_reserved = size_t(1) << 40;

}  // namespace

windows::windows() {
    for (size_t size = most_reserved; size >= least_reserved; size /= 2) {
        void *const reserved = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (reserved == MAP_FAILED) continue;
        begin_ = reinterpret_cast<uintptr_t>(reserved);
        large_count_ = size / 2 / large;
        small_count_ = size / 2 / small;
        break;
    }
    for (size_t i = 0; i < large_count_; ++i) free_large_.push_back(i);
    for (size_t i = 0; i < small_count_; ++i) free_small_.push_back(large_count_ + i);
}

window windows::at(size_t index) const {
    if (index < large_count_) return {begin_ + index * large, begin_ + (index + 1) * large};
    const uintptr_t first = begin_ + large_count_ * large;
    return {first + (index - large_count_) * small, first + (index - large_count_ + 1) * small};
}

size_t windows::index_of(uintptr_t address) const {
    if (address < begin_) return count();
    const size_t offset = address - begin_;
    if (offset < large_count_ * large) return offset / large;
    const size_t index = large_count_ + (offset - large_count_ * large) / small;
    return index < count() ? index : count();
}

window windows::take(size_t length) {
    for (auto *const free : {&free_large_, &free_small_}) {
        const size_t size = free == &free_large_ ? large : small;
        if (free->empty() || length > size / 4) continue;
        const size_t index = free->front();
        free->pop_front();
        return at(index);
    }
    return {};
}

void windows::give_back(window taken) {
    const size_t index = index_of(taken.begin);
    (index < large_count_ ? free_large_ : free_small_).push_back(index);
}

bool windows::map(uintptr_t address, size_t length, int file, size_t offset) {
    const int kind = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    return mmap(reinterpret_cast<void *>(address), length, PROT_READ | PROT_WRITE, MAP_FIXED | kind, file,
                off_t(offset)) != MAP_FAILED;
}

bool windows::map_free(uintptr_t address, size_t length) {
    void *const wanted = reinterpret_cast<void *>(address);
    void *const mapped =
        mmap(wanted, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped == wanted) return true;
    /* A kernel too old for the flag takes the address as a hint. */
    if (mapped != MAP_FAILED) munmap(mapped, length);
    return false;
}

void windows::unmap(uintptr_t address, size_t length) {
    mmap(reinterpret_cast<void *>(address), length, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
         -1, 0);
}

}  // namespace smtl::sanitize
