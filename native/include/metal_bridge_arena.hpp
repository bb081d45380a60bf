// Arenas and residency sets of metal_bridge.hpp: scratch memory, and memory that stays resident.
#ifndef METAL_BRIDGE_ARENA_HPP
#define METAL_BRIDGE_ARENA_HPP

#include "metal_bridge_buffer.hpp"

namespace metal_bridge {

namespace detail {
using ArenaHandle = Handle<mtb_arena, mtb_arena_release>;
using ResidencySetHandle = Handle<mtb_residency_set, mtb_residency_set_release>;
}  // namespace detail

// Scratch buffers out of Metal's heaps, which grow with the need: for activations, the same memory token after token.
class Arena {
public:
    Arena() noexcept = default;

    // An arena of shared or private memory. It grows by heaps of `block_bytes` (0: 16 MiB), up to `limit` bytes in all
    // (0: the device's budget), and counts against that budget.
    static Result<Arena> Create(const Device &device, bool shared, size_t block_bytes = 0, size_t limit = 0) {
        const mtb_storage_mode mode = shared ? MTB_STORAGE_SHARED : MTB_STORAGE_PRIVATE;
        auto made = detail::Make<detail::ArenaHandle>(
            [&](mtb_error **e) { return mtb_arena_create(device.memory_.Get(), mode, block_bytes, limit, e); });
        if (!made) return made.error();
        Arena arena;
        arena.arena_ = *std::move(made);
        arena.memory_ = detail::Share(device.memory_);
        arena.queue_ = detail::Share(device.queue_);
        return arena;
    }

    // A buffer. Its memory is free again once the buffer is gone and the GPU is done with it. MTB_OVER_BUDGET past the
    // limit.
    Result<MetalBuffer> Allocate(size_t bytes) const {
        const auto make = [&](mtb_error **e) { return mtb_arena_allocate(arena_.Get(), bytes, e); };
        return MetalBuffer::FromHandle(detail::Make<detail::BufferHandle>(make), memory_, queue_);
    }
    // Gives heaps with nothing in them back to Metal. Returns the number of bytes.
    uint64_t Trim() noexcept { return mtb_arena_trim(arena_.Get()); }
    // Misses are the buffers that needed a new heap. All zero for an empty arena.
    mtb_pool_statistics Statistics() const noexcept {
        mtb_pool_statistics statistics;
        mtb_arena_get_statistics(arena_.Get(), &statistics);
        return statistics;
    }

    explicit operator bool() const noexcept { return bool(arena_); }
    mtb_arena *Get() const noexcept { return arena_.Get(); }

private:
    detail::ArenaHandle arena_;
    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

// Keeps its buffers resident and alive (Device::SupportsResidencySets).
class ResidencySet {
public:
    ResidencySet() noexcept = default;

    static Result<ResidencySet> Create(const Device &device) {
        return detail::Make<ResidencySet>([&](mtb_error **e) { return mtb_residency_set_create(device.Get(), e); });
    }
    // Takes over a set of the C ABI.
    explicit ResidencySet(mtb_residency_set *owned) noexcept : set_(owned) {}

    // Additions and removals take effect at the next commit.
    Result<> Add(const MetalBuffer &buffer) {
        return detail::Check([&](mtb_error **e) { return mtb_residency_set_add_buffer(set_.Get(), buffer.Get(), e); });
    }
    Result<> Remove(const MetalBuffer &buffer) {
        return detail::Check(
            [&](mtb_error **e) { return mtb_residency_set_remove_buffer(set_.Get(), buffer.Get(), e); });
    }
    Result<> Commit() {
        return detail::Check([&](mtb_error **e) { return mtb_residency_set_commit(set_.Get(), e); });
    }
    // Asks the system to make the set resident, and again every half second for as long as `keep_alive` (Forever: until
    // End, or until the set goes): systems evict idle memory, and decoding slows down until the memory is back.
    Result<> Request(std::chrono::nanoseconds keep_alive) {
        return detail::Check(
            [&](mtb_error **e) { return mtb_residency_set_request(set_.Get(), detail::Nanoseconds(keep_alive), e); });
    }
    // Ends the requests: the set need not be resident any more.
    Result<> End() {
        return detail::Check([&](mtb_error **e) { return mtb_residency_set_end(set_.Get(), e); });
    }
    // Bytes of what has been committed to the set.
    uint64_t AllocatedSize() const noexcept { return mtb_residency_set_allocated_size(set_.Get()); }

    explicit operator bool() const noexcept { return bool(set_); }
    mtb_residency_set *Get() const noexcept { return set_.Get(); }

private:
    detail::ResidencySetHandle set_;
};

}  // namespace metal_bridge

#endif
