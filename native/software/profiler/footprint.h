/* Which bytes of an object the threads of one launch read and write. */
#ifndef SMTL_PROFILER_FOOTPRINT_H
#define SMTL_PROFILER_FOOTPRINT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace smtl::profile {

struct touched_bytes {
    uint64_t read = 0, written = 0; /* different bytes */
    uint64_t lines_read = 0, lines_written = 0; /* different lines of 128 bytes */
};

class footprint {
public:
    void add(uint64_t address, uint64_t size, bool reads, bool writes);
    touched_bytes count() const;
    /* False: bytes were left out, because too many pages have been touched. */
    bool is_complete() const { return complete_; }

private:
    static constexpr uint64_t page = 4096;
    /* 256 MiB of touched bytes, for which the bits take 64 MiB. */
    static constexpr size_t most_pages = size_t(1) << 16;
    using bits = std::array<uint64_t, page / 64>;
    struct touched_page {
        bits read{}, written{};
    };

    touched_page *page_of(uint64_t number);

    std::unordered_map<uint64_t, touched_page> pages_;
    uint64_t last_number_ = UINT64_MAX;
    touched_page *last_ = nullptr;
    bool complete_ = true;
};

}  // namespace smtl::profile

#endif
