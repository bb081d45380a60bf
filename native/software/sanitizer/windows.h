/* Address space in windows, one for each piece of memory that kernels see: the memory lies in the middle, and an index
 * that runs off it ends, as a rule, in a part of the window where nothing is. */
#ifndef SMTL_SANITIZER_WINDOWS_H
#define SMTL_SANITIZER_WINDOWS_H

#include <cstddef>
#include <cstdint>
#include <deque>

namespace smtl::sanitize {

struct window {
    uintptr_t begin = 0, end = 0;
    uintptr_t middle() const { return begin + (end - begin) / 2; }
    bool contains(uintptr_t address) const { return address >= begin && address < end; }
    explicit operator bool() const { return begin != 0; }
};

class windows {
public:
    windows();
    windows(const windows &) = delete;
    windows &operator=(const windows &) = delete;

    /* A window whose middle can hold `length` bytes; an empty one if none is left. Takes the window that has been free
     * the longest, so that accesses to memory long freed are still recognised. */
    window take(size_t length);
    void give_back(window taken);
    /* The number of the window that an address lies in, below `count()`; `count()` for other addresses. */
    size_t index_of(uintptr_t address) const;
    size_t count() const { return large_count_ + small_count_; }

    /* Maps memory at `address`, in a window: zeroed, or that of `file` from `offset` on. */
    static bool map(uintptr_t address, size_t length, int file, size_t offset);
    static void unmap(uintptr_t address, size_t length);
    /* Maps zeroed memory outside windows, if nothing is there. */
    static bool map_free(uintptr_t address, size_t length);

private:
    static constexpr size_t large = size_t(64) << 30, small = size_t(4) << 30;

    window at(size_t index) const;

    uintptr_t begin_ = 0;
    size_t large_count_ = 0, small_count_ = 0;
    std::deque<size_t> free_large_, free_small_;
};

}  // namespace smtl::sanitize

#endif
