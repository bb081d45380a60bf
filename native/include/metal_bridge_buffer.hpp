// Buffers of metal_bridge.hpp, and work that was committed.
#ifndef METAL_BRIDGE_BUFFER_HPP
#define METAL_BRIDGE_BUFFER_HPP

#include "metal_bridge_device.hpp"

namespace metal_bridge {

namespace detail {
using BufferHandle = Handle<mtb_buffer, mtb_buffer_release>;
using CommandBufferHandle = Handle<mtb_command_buffer, mtb_command_buffer_release>;
using TransferHandle = Handle<mtb_transfer, mtb_transfer_release>;
}  // namespace detail

// Work that was committed. It goes on if this object goes.
class Pending {
public:
    Pending() noexcept = default;
    // Takes over a committed command buffer of the C ABI.
    explicit Pending(mtb_command_buffer *owned) noexcept : commands_(owned) {}

    // Waits until the work and its callbacks are done. If the GPU failed, the error is the GPU's.
    Result<> Wait() const {
        return detail::Check([&](mtb_error **e) { return mtb_command_buffer_wait(commands_.Get(), e); });
    }
    // The same, for no longer than `time`: then the error is MTB_TIMEOUT, and the work goes on.
    Result<> WaitFor(std::chrono::nanoseconds time) const {
        return detail::Check([&](mtb_error **e) {
            return mtb_command_buffer_wait_timeout(commands_.Get(), detail::Nanoseconds(time), e);
        });
    }
    // Whether the work has ended, with success or without.
    bool IsCompleted() const noexcept {
        return mtb_command_buffer_get_status(commands_.Get()) >= MTB_COMMAND_BUFFER_COMPLETED;
    }
    // When the work ran, in seconds of the host's monotonic clock; zero before it has completed.
    mtb_times Times() const noexcept { return mtb_command_buffer_get_times(commands_.Get()); }

    explicit operator bool() const noexcept { return bool(commands_); }
    mtb_command_buffer *Get() const noexcept { return commands_.Get(); }

private:
    detail::CommandBufferHandle commands_;
};

namespace detail {
// Commits a command buffer once `encode` has encoded the last of it.
template <class Encode> Result<Pending> CommitCommands(CommandBufferHandle commands, Encode encode) {
    const auto committed = Check([&](mtb_error **e) {
        const mtb_status status = encode(commands.Get(), e);
        return status == MTB_OK ? mtb_command_buffer_commit(commands.Get(), e) : status;
    });
    if (!committed) return committed.error();
    return Pending(commands.Take());
}

// Copies `bytes` after the device's earlier work, and waits. A Batch would do the same, but is built on MetalBuffer.
inline Result<> RunCopy(const MemoryHandle &memory, const QueueHandle &queue, const mtb_place &source,
                        const mtb_place &destination, size_t bytes) {
    const auto transfer =
        Make<TransferHandle>([&](mtb_error **e) { return mtb_transfer_create(memory.Get(), queue.Get(), e); });
    if (!transfer) return transfer.error();
    return Check([&](mtb_error **e) {
        const mtb_status status =
            mtb_transfer_copy(transfer->Get(), source, destination, bytes, 1, MTB_HOST_BORROWED, e);
        return status == MTB_OK ? mtb_transfer_run(transfer->Get(), e) : status;
    });
}
}  // namespace detail

// Memory that the GPU works on. It comes from the cache of its device's memory, and goes back there at the end.
class MetalBuffer {
public:
    MetalBuffer() noexcept = default;

    // `bytes` that CPU and GPU share, or that the GPU has alone. The contents are unspecified.
    static Result<MetalBuffer> Create(const Device &device, size_t bytes, bool shared = true) {
        return Create(device, bytes, shared ? MTB_STORAGE_SHARED : MTB_STORAGE_PRIVATE);
    }
    static Result<MetalBuffer> Create(const Device &device, size_t bytes, mtb_storage_mode mode) {
        const auto make = [&](mtb_error **e) { return mtb_memory_allocate(device.memory_.Get(), bytes, mode, e); };
        return FromHandle(detail::Make<detail::BufferHandle>(make), device.memory_, device.queue_);
    }
    // Takes over the reference to a buffer of that device that the C ABI gave, such as one of
    // mtb_buffer_create_no_copy; empty for NULL.
    static MetalBuffer Adopt(const Device &device, mtb_buffer *owned) {
        return *FromHandle(detail::BufferHandle(owned), device.memory_, device.queue_);
    }

    // Copies `bytes` from `source` to the buffer, from `offset` on, after the device's earlier work; waits.
    Result<> CopyFromHost(const void *source, size_t bytes, size_t offset = 0) {
        return detail::RunCopy(memory_, queue_, Host(source), At(offset), bytes);
    }
    // Copies `bytes` from the buffer, from `offset` on, to `destination`, after the device's earlier work; waits.
    Result<> CopyToHost(void *destination, size_t bytes, size_t offset = 0) const {
        return detail::RunCopy(memory_, queue_, At(offset), Host(destination), bytes);
    }

    // Bytes, as asked for.
    size_t Size() const noexcept { return mtb_buffer_length(buffer_.Get()); }
    mtb_storage_mode StorageMode() const noexcept { return mtb_buffer_storage_mode(buffer_.Get()); }
    bool IsShared() const noexcept { return buffer_ && StorageMode() == MTB_STORAGE_SHARED; }
    // The address that the CPU sees; NULL for a private buffer. The caller orders its own accesses with the GPU's. Of a
    // managed buffer it is the CPU's own copy, which misses what the GPU has written since: CopyToHost reads that.
    void *Contents() const noexcept { return mtb_buffer_contents(buffer_.Get()); }
    // The address that the GPU sees; zero if the system does not tell.
    uint64_t GpuAddress() const noexcept { return mtb_buffer_gpu_address(buffer_.Get()); }
    explicit operator bool() const noexcept { return bool(buffer_); }
    mtb_buffer *Get() const noexcept { return buffer_.Get(); }

private:
    friend class Arena;
    friend class Batch;
    friend class MetalMemoryUtils;

    static Result<MetalBuffer> FromHandle(Result<detail::BufferHandle> handle, const detail::MemoryHandle &memory,
                                          const detail::QueueHandle &queue) {
        if (!handle) return handle.error();
        MetalBuffer buffer;
        buffer.buffer_ = *std::move(handle);
        if (!buffer) return buffer;
        buffer.memory_ = detail::Share(memory);
        buffer.queue_ = detail::Share(queue);
        return buffer;
    }
    mtb_place At(size_t offset) const noexcept { return {buffer_.Get(), offset, nullptr, 0}; }
    static mtb_place Host(const void *bytes) noexcept { return {nullptr, 0, const_cast<void *>(bytes), 0}; }

    detail::BufferHandle buffer_;
    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

}  // namespace metal_bridge

#endif
