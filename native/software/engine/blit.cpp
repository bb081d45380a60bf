#include "blit.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "pool.h"
#include "support/settings.h"

namespace smtl {
namespace {

/* Less than this is moved before another thread has woken up. */
constexpr size_t worth_sharing = 256 << 10;
/* Taking a smaller part would cost too much, and more parts would go through the memory in small pieces. */
constexpr size_t smallest_part = 128 << 10;
constexpr size_t most_parts = 16;
constexpr size_t cache_line = 64;

void move(const smtl_blit &blit, size_t begin, size_t end) {
    if (blit.from != nullptr)
        std::memcpy(blit.to + begin, blit.from + begin, end - begin);
    else
        std::memset(blit.to + begin, blit.value, end - begin);
}

/* The bytes of all blits, one after the other, in parts. The caller takes them from the front and the pool's threads
 * from the back: when the same memory is moved again, each finds in its caches what it had before. */
class divisible_blits : public divisible_work {
public:
    divisible_blits(const smtl_blit *blits, size_t count, size_t size)
        : blits_(blits), blits_end_(blits + count), size_(size),
          part_((std::max(smallest_part, size / most_parts) + cache_line - 1) / cache_line * cache_line),
          count_((size + part_ - 1) / part_) {}

    void work_from_front() {
        for (size_t part = 0; take(); ++part) move_part(part);
    }
    bool has_parts() const override { return taken_.load(std::memory_order_relaxed) < count_; }
    bool join(core &) override {
        while (take()) move_part(count_ - 1 - from_back_.fetch_add(1, std::memory_order_relaxed));
        return true;
    }
    uint64_t part_count() const override { return count_; }

private:
    /* Counts a part as taken, from either end. False if all are taken. */
    bool take() { return has_parts() && taken_.fetch_add(1, std::memory_order_relaxed) < count_; }
    void move_part(size_t part) {
        const size_t begin = part * part_, end = std::min(begin + part_, size_);
        const auto begins_later = [](size_t at, const smtl_blit &blit) { return at < blit.before; };
        const smtl_blit *blit = std::upper_bound(blits_, blits_end_, begin, begins_later) - 1;
        for (; blit != blits_end_ && blit->before < end; ++blit)
            move(*blit, std::max(begin, blit->before) - blit->before, std::min(end - blit->before, blit->size));
    }

    const smtl_blit *const blits_, *const blits_end_;
    const size_t size_, part_, count_;
    std::atomic<size_t> taken_{0}, from_back_{0};
};

bool is_worth_sharing(size_t size) {
    return size >= worth_sharing && smtl_settings_get()->threads > 1 && !smtl_settings_get()->shuffle.on;
}

}  // namespace
}  // namespace smtl

void smtl_blits_run(const smtl_blit *blits, size_t count) {
    const size_t size = count == 0 ? 0 : blits[count - 1].before + blits[count - 1].size;
    if (smtl::is_worth_sharing(size)) {
        smtl::divisible_blits parts(blits, count, size);
        smtl::shared_work shared(parts);
        shared.offer();
        parts.work_from_front();
    } else {
        for (size_t i = 0; i < count; ++i) smtl::move(blits[i], 0, blits[i].size);
    }
}

void smtl_blit_copy(void *to, const void *from, size_t size) {
    const smtl_blit blit = {static_cast<uint8_t *>(to), static_cast<const uint8_t *>(from), size, 0, 0};
    smtl_blits_run(&blit, 1);
}

void smtl_blit_fill(void *to, uint8_t value, size_t size) {
    const smtl_blit blit = {static_cast<uint8_t *>(to), nullptr, size, 0, value};
    smtl_blits_run(&blit, 1);
}
