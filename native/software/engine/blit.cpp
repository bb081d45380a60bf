#include "blit.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "pool.h"
#include "settings.h"

namespace smtl {
namespace {

/* Less is moved before another thread would have woken up. */
constexpr size_t worth_sharing = 256 << 10;
/* Parts are not so small that taking one costs much, nor so many that the memory is walked through in little pieces. */
constexpr size_t smallest_part = 128 << 10;
constexpr size_t most_parts = 16;
constexpr size_t cache_line = 64;

/* Bytes to move, in parts. The caller takes them from the front and the pool's threads from the back: where the same
 * memory is moved again, each finds in its caches what it had before. */
class divisible_blit : public divisible_work {
  public:
    divisible_blit(uint8_t *to, const uint8_t *from, uint8_t value, size_t size)
        : to_(to), from_(from), value_(value), size_(size),
          part_((std::max(smallest_part, size / most_parts) + cache_line - 1) / cache_line * cache_line),
          count_((size + part_ - 1) / part_) {}

    void work_from_front() {
        for (size_t part = 0; take(); ++part)
            move(part);
    }
    bool has_parts() const override { return taken_.load(std::memory_order_relaxed) < count_; }
    bool join(core &) override {
        while (take())
            move(count_ - 1 - from_back_.fetch_add(1, std::memory_order_relaxed));
        return true;
    }
    uint64_t part_count() const override { return count_; }

  private:
    /* So many parts are taken from both ends together as there are. */
    bool take() { return has_parts() && taken_.fetch_add(1, std::memory_order_relaxed) < count_; }
    void move(size_t part) {
        const size_t begin = part * part_, size = std::min(part_, size_ - begin);
        if (from_ != nullptr)
            std::memcpy(to_ + begin, from_ + begin, size);
        else
            std::memset(to_ + begin, value_, size);
    }

    uint8_t *const to_;
    const uint8_t *const from_;
    const uint8_t value_;
    const size_t size_, part_, count_;
    std::atomic<size_t> taken_{0}, from_back_{0};
};

void blit(void *to, const void *from, uint8_t value, size_t size) {
    divisible_blit work(static_cast<uint8_t *>(to), static_cast<const uint8_t *>(from), value, size);
    shared_work shared(work);
    shared.offer();
    work.work_from_front();
}

bool is_worth_sharing(size_t size) {
    return size >= worth_sharing && current_settings().threads > 1 && !current_settings().shuffle;
}

} // namespace
} // namespace smtl

void smtl_blit_copy(void *to, const void *from, size_t size) {
    if (smtl::is_worth_sharing(size))
        smtl::blit(to, from, 0, size);
    else
        std::memcpy(to, from, size);
}

void smtl_blit_fill(void *to, uint8_t value, size_t size) {
    if (smtl::is_worth_sharing(size))
        smtl::blit(to, nullptr, value, size);
    else
        std::memset(to, value, size);
}
