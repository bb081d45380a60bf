// Buffers of metal_bridge.hpp, and work that was committed.
#ifndef METAL_BRIDGE_BUFFER_HPP
#define METAL_BRIDGE_BUFFER_HPP

#include "metal_bridge_device.hpp"

namespace metal_bridge {

namespace detail {
using BufferHandle = Handle<mtb_buffer, mtb_buffer_release>;
using CommandBufferHandle = Handle<mtb_command_buffer, mtb_command_buffer_release>;
} // namespace detail

// Work that was committed: it goes on where this is dropped.
class Pending {
public:
    Pending() noexcept = default;

    // Waits until the work is done, and its callbacks. The error is the GPU's, if it failed.
    bool Wait(Error &error) const {
        return detail::Check(error, [&](mtb_error **e) { return mtb_command_buffer_wait(commands_.Get(), e); });
    }
    // The same, for no longer than `time`: then the error is MTB_TIMEOUT, and the work goes on.
    bool WaitFor(std::chrono::nanoseconds time, Error &error) const {
        return detail::Check(error, [&](mtb_error **e) {
            return mtb_command_buffer_wait_timeout(commands_.Get(), detail::Nanoseconds(time), e);
        });
    }
    // Whether it has ended, well or not.
    bool IsCompleted() const noexcept {
        return mtb_command_buffer_get_status(commands_.Get()) >= MTB_COMMAND_BUFFER_COMPLETED;
    }
    // When it ran, in seconds of the host's monotonic clock; zero before it has completed.
    mtb_times Times() const noexcept { return mtb_command_buffer_get_times(commands_.Get()); }

    explicit operator bool() const noexcept { return bool(commands_); }
    mtb_command_buffer *Get() const noexcept { return commands_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    void Wait() const {
        detail::OrThrow([&](Error &error) { return Wait(error); });
    }
    void WaitFor(std::chrono::nanoseconds time) const {
        detail::OrThrow([&](Error &error) { return WaitFor(time, error); });
    }
#endif

private:
    friend class Batch;
    friend class Compute;
    friend class Stream;
    explicit Pending(detail::CommandBufferHandle commands) noexcept : commands_(std::move(commands)) {}

    detail::CommandBufferHandle commands_;
};

// Memory that the GPU works on, from the cache of its device's memory and back there at the end.
class MetalBuffer {
public:
    MetalBuffer() noexcept = default;

    // `bytes` that CPU and GPU share, or that the GPU has alone. The contents are unspecified.
    static MetalBuffer Create(const Device &device, size_t bytes, bool shared, Error &error) {
        return Create(device, bytes, shared ? MTB_STORAGE_SHARED : MTB_STORAGE_PRIVATE, error);
    }
    static MetalBuffer Create(const Device &device, size_t bytes, mtb_storage_mode mode, Error &error) {
        auto make = [&](mtb_error **e) { return mtb_memory_allocate(device.memory_.Get(), bytes, mode, e); };
        return FromHandle(detail::Make<detail::BufferHandle>(error, make), device.memory_, device.queue_);
    }
    // A buffer that the C ABI gave, such as one of mtb_buffer_create_no_copy, whose reference this takes over; empty
    // for NULL. It is of that device.
    static MetalBuffer Adopt(const Device &device, mtb_buffer *owned) {
        return FromHandle(detail::BufferHandle(owned), device.memory_, device.queue_);
    }

    // Copies `bytes` from `source` to the buffer, from `offset` on, after the device's earlier work; waits.
    bool CopyFromHost(const void *source, size_t bytes, size_t offset, Error &error);
    // Copies `bytes` from the buffer, from `offset` on, to `destination`, after the device's earlier work; waits.
    bool CopyToHost(void *destination, size_t bytes, size_t offset, Error &error) const;

    // Bytes, as asked for.
    size_t Size() const noexcept { return mtb_buffer_length(buffer_.Get()); }
    mtb_storage_mode StorageMode() const noexcept { return mtb_buffer_storage_mode(buffer_.Get()); }
    bool IsShared() const noexcept { return Contents() != nullptr; }
    // Where the CPU sees the bytes; NULL for a private buffer. The caller orders what it does there with the GPU's
    // work.
    void *Contents() const noexcept { return mtb_buffer_contents(buffer_.Get()); }
    // Where the GPU sees them; zero where the system does not tell.
    uint64_t GpuAddress() const noexcept { return mtb_buffer_gpu_address(buffer_.Get()); }
    explicit operator bool() const noexcept { return bool(buffer_); }
    mtb_buffer *Get() const noexcept { return buffer_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    static MetalBuffer Create(const Device &device, size_t bytes, bool shared = true) {
        return detail::OrThrow([&](Error &error) { return Create(device, bytes, shared, error); });
    }
    static MetalBuffer Create(const Device &device, size_t bytes, mtb_storage_mode mode) {
        return detail::OrThrow([&](Error &error) { return Create(device, bytes, mode, error); });
    }
    void CopyFromHost(const void *source, size_t bytes, size_t offset = 0) {
        detail::OrThrow([&](Error &error) { return CopyFromHost(source, bytes, offset, error); });
    }
    void CopyToHost(void *destination, size_t bytes, size_t offset = 0) const {
        detail::OrThrow([&](Error &error) { return CopyToHost(destination, bytes, offset, error); });
    }
#endif

private:
    friend class Arena;
    friend class Batch;
    friend class MetalMemoryUtils;

    static MetalBuffer FromHandle(detail::BufferHandle handle, const detail::MemoryHandle &memory,
                                  const detail::QueueHandle &queue) {
        MetalBuffer buffer;
        if (!handle) return buffer;
        buffer.buffer_ = std::move(handle);
        buffer.memory_ = detail::Share(memory);
        buffer.queue_ = detail::Share(queue);
        return buffer;
    }

    detail::BufferHandle buffer_;
    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

}  // namespace metal_bridge

#include "metal_bridge_batch.hpp"

#endif
