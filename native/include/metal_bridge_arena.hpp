// Arenas and residency sets of metal_bridge.hpp: scratch memory, and memory that stays where the GPU has it at hand.
#ifndef METAL_BRIDGE_ARENA_HPP
#define METAL_BRIDGE_ARENA_HPP

#include "metal_bridge_buffer.hpp"

namespace metal_bridge {

namespace detail {
using ArenaHandle = Handle<mtb_arena, mtb_arena_release>;
using ResidencySetHandle = Handle<mtb_residency_set, mtb_residency_set_release>;
} // namespace detail

// Scratch buffers out of Metal's heaps, which grow with the need: for activations, the same place token after token.
class Arena {
public:
    Arena() noexcept = default;

    // Of shared or private memory. Heaps are made of `block_bytes` at a time (0: 16 MiB), of `limit` bytes in all (0:
    // the device's budget, against which they count).
    static Arena Create(const Device &device, bool shared, size_t block_bytes, size_t limit, Error &error) {
        const mtb_storage_mode mode = shared ? MTB_STORAGE_SHARED : MTB_STORAGE_PRIVATE;
        Arena arena;
        arena.arena_ = detail::Make<detail::ArenaHandle>(
            error, [&](mtb_error **e) { return mtb_arena_create(device.memory_.Get(), mode, block_bytes, limit, e); });
        if (error) return arena;
        arena.memory_ = detail::Share(device.memory_);
        arena.queue_ = detail::Share(device.queue_);
        return arena;
    }

    // A buffer whose place is free again once it is gone and the GPU is done with it. MTB_OVER_BUDGET past the limit.
    MetalBuffer Allocate(size_t bytes, Error &error) const {
        auto make = [&](mtb_error **e) { return mtb_arena_allocate(arena_.Get(), bytes, e); };
        return MetalBuffer::FromHandle(detail::Make<detail::BufferHandle>(error, make), memory_, queue_);
    }
    // Gives heaps with nothing in them back to Metal. Returns the bytes.
    uint64_t Trim() noexcept { return mtb_arena_trim(arena_.Get()); }
    // Misses are the buffers that needed a new heap. All zero for an empty arena.
    mtb_pool_statistics Statistics() const noexcept {
        mtb_pool_statistics statistics;
        mtb_arena_get_statistics(arena_.Get(), &statistics);
        return statistics;
    }

    explicit operator bool() const noexcept { return bool(arena_); }
    mtb_arena *Get() const noexcept { return arena_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    static Arena Create(const Device &device, bool shared, size_t block_bytes = 0, size_t limit = 0) {
        return detail::OrThrow([&](Error &error) { return Create(device, shared, block_bytes, limit, error); });
    }
    MetalBuffer Allocate(size_t bytes) const {
        return detail::OrThrow([&](Error &error) { return Allocate(bytes, error); });
    }
#endif

private:
    detail::ArenaHandle arena_;
    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

// Buffers that stay where the GPU has them at hand, and are kept alive (Device::SupportsResidencySets).
class ResidencySet {
public:
    ResidencySet() noexcept = default;

    static ResidencySet Create(const Device &device, Error &error) {
        ResidencySet set;
        set.set_ = detail::Make<detail::ResidencySetHandle>(
            error, [&](mtb_error **e) { return mtb_residency_set_create(device.Get(), e); });
        return set;
    }

    // What is added and removed takes effect at the next commit.
    bool Add(const MetalBuffer &buffer, Error &error) {
        return detail::Check(error,
                             [&](mtb_error **e) { return mtb_residency_set_add_buffer(set_.Get(), buffer.Get(), e); });
    }
    bool Remove(const MetalBuffer &buffer, Error &error) {
        return detail::Check(
            error, [&](mtb_error **e) { return mtb_residency_set_remove_buffer(set_.Get(), buffer.Get(), e); });
    }
    bool Commit(Error &error) {
        return detail::Check(error, [&](mtb_error **e) { return mtb_residency_set_commit(set_.Get(), e); });
    }
    // Asks for the set to be made resident, and again every half second for as long as `keep_alive` (Forever: until
    // End, or until the set goes): systems let idle memory go, and decoding slows down until it is back.
    bool Request(std::chrono::nanoseconds keep_alive, Error &error) {
        return detail::Check(error, [&](mtb_error **e) {
            return mtb_residency_set_request(set_.Get(), detail::Nanoseconds(keep_alive), e);
        });
    }
    // No more requests, and the set need not be resident.
    bool End(Error &error) {
        return detail::Check(error, [&](mtb_error **e) { return mtb_residency_set_end(set_.Get(), e); });
    }
    // Bytes of what has been committed to the set.
    uint64_t AllocatedSize() const noexcept { return mtb_residency_set_allocated_size(set_.Get()); }

    explicit operator bool() const noexcept { return bool(set_); }
    mtb_residency_set *Get() const noexcept { return set_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    static ResidencySet Create(const Device &device) {
        return detail::OrThrow([&](Error &error) { return Create(device, error); });
    }
    void Add(const MetalBuffer &buffer) {
        detail::OrThrow([&](Error &error) { return Add(buffer, error); });
    }
    void Remove(const MetalBuffer &buffer) {
        detail::OrThrow([&](Error &error) { return Remove(buffer, error); });
    }
    void Commit() {
        detail::OrThrow([&](Error &error) { return Commit(error); });
    }
    void Request(std::chrono::nanoseconds keep_alive) {
        detail::OrThrow([&](Error &error) { return Request(keep_alive, error); });
    }
    void End() {
        detail::OrThrow([&](Error &error) { return End(error); });
    }
#endif

private:
    detail::ResidencySetHandle set_;
};

}  // namespace metal_bridge

#endif
