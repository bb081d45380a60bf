#include "footprint.h"

#include <algorithm>
#include <bit>
#include <new>

namespace smtl::profile {
namespace {

void set(std::array<uint64_t, 64> &bits, uint64_t first, uint64_t count) {
    for (uint64_t at = first; at < first + count;) {
        const uint64_t here = std::min<uint64_t>(64 - at % 64, first + count - at);
        const uint64_t ones = here == 64 ? ~uint64_t(0) : (uint64_t(1) << here) - 1;
        bits[at / 64] |= ones << at % 64;
        at += here;
    }
}

void count(const std::array<uint64_t, 64> &bits, uint64_t &bytes, uint64_t &lines) {
    for (size_t word = 0; word < bits.size(); word += 2) {
        bytes += uint64_t(std::popcount(bits[word]) + std::popcount(bits[word + 1]));
        lines += (bits[word] | bits[word + 1]) != 0;
    }
}

}  // namespace

footprint::touched_page *footprint::page_of(uint64_t number) {
    if (number == last_number_) return last_;
    const auto known = pages_.find(number);
    if (known == pages_.end() && pages_.size() >= most_pages) return nullptr;
    if (known != pages_.end())
        last_ = &known->second;
    else
        try {
            last_ = &pages_[number];
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    last_number_ = number;
    return last_;
}

void footprint::add(uint64_t address, uint64_t size, bool reads, bool writes) {
    for (const uint64_t end = address + size; address < end;) {
        const uint64_t here = std::min(page - address % page, end - address);
        touched_page *const touched = page_of(address / page);
        complete_ = complete_ && touched != nullptr;
        if (touched != nullptr && reads) set(touched->read, address % page, here);
        if (touched != nullptr && writes) set(touched->written, address % page, here);
        address += here;
    }
}

touched_bytes footprint::count() const {
    touched_bytes total;
    for (const auto &[number, touched] : pages_) {
        profile::count(touched.read, total.read, total.lines_read);
        profile::count(touched.written, total.written, total.lines_written);
    }
    return total;
}

}  // namespace smtl::profile
