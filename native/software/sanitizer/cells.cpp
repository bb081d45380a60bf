#include "cells.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "support/random.h"

namespace smtl::sanitize {
namespace {

constexpr size_t word_bits = 64;

uint64_t low_bits(size_t count) { return count == word_bits ? ~uint64_t(0) : (uint64_t(1) << count) - 1; }

}  // namespace

bool lazy_pages::reserve(size_t bytes) {
    void *const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = memory;
    size_ = bytes;
    return true;
}

void lazy_pages::release() {
    if (memory_ != nullptr) munmap(memory_, size_);
    memory_ = nullptr;
}

void lazy_pages::clear() {
    if (memory_ != nullptr) madvise(memory_, size_, MADV_DONTNEED);
}

void lazy_pages::clear(size_t begin, size_t end) {
    if (memory_ == nullptr) return;
    auto *const bytes = static_cast<unsigned char *>(memory_);
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    const size_t first = std::min((begin + page - 1) / page * page, end), last = std::max(end / page * page, first);
    std::memset(bytes + begin, 0, first - begin);
    /* Whole pages go, so that none is taken for zeros. */
    madvise(bytes + first, last - first, MADV_DONTNEED);
    std::memset(bytes + last, 0, end - last);
}

void written_bytes::set(lazy_pages &bits, size_t offset, size_t size, bool value) {
    uint64_t *const words = bits.as<uint64_t>();
    const size_t end = offset + size;
    while (offset < end) {
        const size_t bit = offset % word_bits, count = std::min(word_bits - bit, end - offset);
        const uint64_t mask = low_bits(count) << bit;
        if (value)
            words[offset / word_bits] |= mask;
        else
            words[offset / word_bits] &= ~mask;
        offset += count;
    }
}

uint64_t written_bytes::get(const lazy_pages &bits, size_t offset, size_t size) {
    const uint64_t *const words = bits.as<uint64_t>() + offset / word_bits;
    const size_t bit = offset % word_bits;
    uint64_t found = words[0] >> bit;
    if (bit + size > word_bits) found |= words[1] << (word_bits - bit);
    return found & low_bits(size);
}

uint64_t written_bytes::unmarked(size_t offset, size_t size) const { return get(bits_, offset, size) ^ low_bits(size); }

unsigned char written_bytes::pattern(size_t offset) const {
    const size_t byte = first_ + offset;
    return (unsigned char)(smtl_mix(key_ + byte / 8) >> byte % 8 * 8);
}

void written_bytes::forget(unsigned char *memory, size_t offset, size_t size) {
    set(bits_, offset, size, false);
    set(doubts_, offset, size, false);
    if (memory == nullptr) return;
    size_t i = offset;
    for (; i < offset + size && (first_ + i) % 8 != 0; ++i) memory[i] = pattern(i);
    for (; i + 8 <= offset + size; i += 8) {
        const uint64_t eight = smtl_mix(key_ + (first_ + i) / 8);
        for (unsigned byte = 0; byte < 8; ++byte) memory[i + byte] = (unsigned char)(eight >> byte * 8);
    }
    for (; i < offset + size; ++i) memory[i] = pattern(i);
}

}  // namespace smtl::sanitize
