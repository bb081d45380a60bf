// metal-bridge for C++17: devices, buffers and ordered transfers over the C ABI, in headers alone.
//
// Errors: every fallible call exists twice. With an `Error &` as its last parameter it sets that and returns false or an
// empty object; without, it throws the Error. Programs built without exceptions have the first form alone.
//
// Ownership: objects are moved and not copied, and give back what they own when they go; work that was committed goes on, and
// keeps what it needs. An object that was moved from, or that a failed call returned, is empty: calls on it are errors of
// status MTB_INVALID_ARGUMENT.
//
// Threads: devices, buffers, streams and pending work may be used from any thread at the same time; a batch from one.
#ifndef METAL_BRIDGE_HPP
#define METAL_BRIDGE_HPP

#include "metal_bridge_error.hpp"
#include "metal_bridge_memory.h"

#include <functional>

namespace metal_bridge {

namespace detail {
using DeviceHandle = Handle<mtb_device, mtb_device_release>;
using MemoryHandle = Handle<mtb_memory, mtb_memory_release>;
using QueueHandle = Handle<mtb_queue, mtb_queue_release>;
using BufferHandle = Handle<mtb_buffer, mtb_buffer_release>;
using TransferHandle = Handle<mtb_transfer, mtb_transfer_release>;
using CommandBufferHandle = Handle<mtb_command_buffer, mtb_command_buffer_release>;

inline MemoryHandle Share(const MemoryHandle &memory)
{
    return MemoryHandle(memory ? mtb_memory_retain(memory.Get()) : nullptr);
}
inline QueueHandle Share(const QueueHandle &queue)
{
    return QueueHandle(queue ? mtb_queue_retain(queue.Get()) : nullptr);
}
} // namespace detail

class MetalBuffer;
class Stream;

// Work that was committed: it goes on where this is dropped.
class Pending {
public:
    Pending() noexcept = default;

    // Waits until the work is done. The error is the GPU's, if it failed.
    bool Wait(Error &error) const
    {
        return detail::Check(error, [&](mtb_error **e) { return mtb_command_buffer_wait(commands_.Get(), e); });
    }
    // Whether it has ended, well or not.
    bool IsCompleted() const noexcept
    {
        return mtb_command_buffer_get_status(commands_.Get()) >= MTB_COMMAND_BUFFER_COMPLETED;
    }
    explicit operator bool() const noexcept { return bool(commands_); }
    mtb_command_buffer *Get() const noexcept { return commands_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    void Wait() const
    {
        detail::OrThrow([&](Error &error) { return Wait(error); });
    }
#endif

private:
    friend class Batch;
    friend class Stream;
    explicit Pending(detail::CommandBufferHandle commands) noexcept : commands_(std::move(commands)) {}

    detail::CommandBufferHandle commands_;
};

// A GPU, with a memory (staging, caches, budget, statistics) and a queue that the transfers of its buffers go by.
class Device {
public:
    Device() noexcept = default;

    // The system's preferred device.
    static Device Default(Error &error)
    {
        auto make = [](mtb_error **e) { return mtb_device_create_default(e); };
        return FromHandle(detail::Make<detail::DeviceHandle>(error, make), error);
    }
    // The device at `index`, below Count().
    static Device At(size_t index, Error &error)
    {
        auto make = [&](mtb_error **e) { return mtb_device_create_at(index, e); };
        return FromHandle(detail::Make<detail::DeviceHandle>(error, make), error);
    }
    static size_t Count() noexcept { return mtb_device_count(); }

    // Borrowed from the device; empty for an empty one.
    const char *Name() const noexcept
    {
        mtb_device_info info;
        mtb_device_get_info(device_.Get(), &info);
        return info.name ? info.name : "";
    }
    // What was transferred and what the pools hold, as a table for people.
    std::string Statistics() const
    {
        char *report = mtb_memory_copy_report(memory_.Get());
        std::string text(report ? report : "");
        mtb_string_free(report);
        return text;
    }

    explicit operator bool() const noexcept { return bool(device_); }
    mtb_device *Get() const noexcept { return device_.Get(); }
    mtb_memory *Memory() const noexcept { return memory_.Get(); }
    // The queue that the transfers of its buffers keep the order of: kernels that use them belong there too.
    mtb_queue *Queue() const noexcept { return queue_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    static Device Default()
    {
        return detail::OrThrow([](Error &error) { return Default(error); });
    }
    static Device At(size_t index)
    {
        return detail::OrThrow([&](Error &error) { return At(index, error); });
    }
#endif

private:
    friend class MetalBuffer;
    friend class Stream;

    static Device FromHandle(detail::DeviceHandle handle, Error &error)
    {
        Device device;
        if (error)
            return device;
        auto memory = detail::Make<detail::MemoryHandle>(
            error, [&](mtb_error **e) { return mtb_memory_create(handle.Get(), nullptr, e); });
        if (error)
            return device;
        auto queue =
            detail::Make<detail::QueueHandle>(error, [&](mtb_error **e) { return mtb_queue_create(handle.Get(), 0, e); });
        if (error)
            return device;
        device.device_ = std::move(handle);
        device.memory_ = std::move(memory);
        device.queue_ = std::move(queue);
        return device;
    }

    detail::DeviceHandle device_;
    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

// How long the host memory that a transfer reads stays as it is.
enum class HostMemory {
    // For the call: it is copied.
    Copied = MTB_HOST_COPIED,
    // Until the transfer has completed, which the caller sees to: large copies then need no staging.
    Borrowed = MTB_HOST_BORROWED,
};

// Memory that the GPU works on, from the cache of its device's memory and back there at the end.
class MetalBuffer {
public:
    MetalBuffer() noexcept = default;

    // `bytes` that CPU and GPU share, or that the GPU has alone. The contents are unspecified.
    static MetalBuffer Create(const Device &device, size_t bytes, bool shared, Error &error)
    {
        return Create(device, bytes, shared ? MTB_STORAGE_SHARED : MTB_STORAGE_PRIVATE, error);
    }
    static MetalBuffer Create(const Device &device, size_t bytes, mtb_storage_mode mode, Error &error)
    {
        MetalBuffer buffer;
        buffer.buffer_ = detail::Make<detail::BufferHandle>(
            error, [&](mtb_error **e) { return mtb_memory_allocate(device.memory_.Get(), bytes, mode, e); });
        if (error)
            return buffer;
        buffer.memory_ = detail::Share(device.memory_);
        buffer.queue_ = detail::Share(device.queue_);
        return buffer;
    }

    // Copies `bytes` from `source` to the buffer, from `offset` on, after the device's earlier work; waits.
    bool CopyFromHost(const void *source, size_t bytes, size_t offset, Error &error)
    {
        return Run(HostPlace(source), Place(offset), bytes, error);
    }
    // Copies `bytes` from the buffer, from `offset` on, to `destination`, after the device's earlier work; waits.
    bool CopyToHost(void *destination, size_t bytes, size_t offset, Error &error) const
    {
        return Run(Place(offset), HostPlace(destination), bytes, error);
    }

    // Bytes, as asked for.
    size_t Size() const noexcept { return mtb_buffer_length(buffer_.Get()); }
    bool IsShared() const noexcept { return Contents() != nullptr; }
    // Where the CPU sees the bytes; NULL for a private buffer. The caller orders what it does there with the GPU's work.
    void *Contents() const noexcept { return mtb_buffer_contents(buffer_.Get()); }
    explicit operator bool() const noexcept { return bool(buffer_); }
    mtb_buffer *Get() const noexcept { return buffer_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    static MetalBuffer Create(const Device &device, size_t bytes, bool shared = true)
    {
        return detail::OrThrow([&](Error &error) { return Create(device, bytes, shared, error); });
    }
    static MetalBuffer Create(const Device &device, size_t bytes, mtb_storage_mode mode)
    {
        return detail::OrThrow([&](Error &error) { return Create(device, bytes, mode, error); });
    }
    void CopyFromHost(const void *source, size_t bytes, size_t offset = 0)
    {
        detail::OrThrow([&](Error &error) { return CopyFromHost(source, bytes, offset, error); });
    }
    void CopyToHost(void *destination, size_t bytes, size_t offset = 0) const
    {
        detail::OrThrow([&](Error &error) { return CopyToHost(destination, bytes, offset, error); });
    }
#endif

private:
    friend class Batch;
    friend class MetalMemoryUtils;

    mtb_place Place(size_t offset) const noexcept { return {buffer_.Get(), offset, nullptr, 0}; }
    static mtb_place HostPlace(const void *bytes) noexcept { return {nullptr, 0, const_cast<void *>(bytes), 0}; }
    bool Run(mtb_place source, mtb_place destination, size_t bytes, Error &error) const;

    detail::BufferHandle buffer_;
    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

// Transfers on record for one command buffer, in the order in which they are added.
class Batch {
public:
    Batch() noexcept = default;

    // Adds a copy from host memory, which stays as it is for as long as `host` says.
    bool CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes, HostMemory host, Error &error)
    {
        return Copy(MetalBuffer::HostPlace(source), buffer.Place(offset), bytes, host, error);
    }
    // Adds a copy to host memory, which stays there, for nobody else, until the batch has completed.
    bool CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes, Error &error)
    {
        return Copy(buffer.Place(offset), MetalBuffer::HostPlace(destination), bytes, HostMemory::Borrowed, error);
    }
    // Adds a copy between buffers, which must not overlap.
    bool CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                    size_t source_offset, size_t bytes, Error &error)
    {
        return Copy(source.Place(source_offset), destination.Place(destination_offset), bytes, HostMemory::Copied, error);
    }
    // Adds a fill with a byte.
    bool FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value, Error &error)
    {
        return detail::Check(error, [&](mtb_error **e) {
            return mtb_transfer_fill(transfer_.Get(), buffer.Place(offset), bytes, 1, &value, 1, e);
        });
    }
    // Commits what was added, and empties the batch.
    Pending Commit(Error &error)
    {
        return Pending(detail::Make<detail::CommandBufferHandle>(error, [&](mtb_error **e) {
            return mtb_transfer_commit(transfer_.Get(), nullptr, nullptr, nullptr, e);
        }));
    }
    // Commits and waits. Where the CPU sees source and destination, this thread copies.
    bool Run(Error &error)
    {
        return detail::Check(error, [&](mtb_error **e) { return mtb_transfer_run(transfer_.Get(), e); });
    }
    explicit operator bool() const noexcept { return bool(transfer_); }

#if METAL_BRIDGE_EXCEPTIONS
    void CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes,
                      HostMemory host = HostMemory::Copied)
    {
        detail::OrThrow([&](Error &error) { return CopyFromHost(buffer, offset, source, bytes, host, error); });
    }
    void CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes)
    {
        detail::OrThrow([&](Error &error) { return CopyToHost(buffer, offset, destination, bytes, error); });
    }
    void CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                    size_t source_offset, size_t bytes)
    {
        detail::OrThrow([&](Error &error) {
            return CopyBuffer(destination, destination_offset, source, source_offset, bytes, error);
        });
    }
    void FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value)
    {
        detail::OrThrow([&](Error &error) { return FillBuffer(buffer, offset, bytes, value, error); });
    }
    Pending Commit()
    {
        return detail::OrThrow([&](Error &error) { return Commit(error); });
    }
    void Run()
    {
        detail::OrThrow([&](Error &error) { return Run(error); });
    }
#endif

private:
    friend class MetalBuffer;
    friend class MetalMemoryUtils;
    friend class Stream;

    static Batch Begin(mtb_memory *memory, mtb_queue *queue, Error &error)
    {
        Batch batch;
        batch.transfer_ = detail::Make<detail::TransferHandle>(
            error, [&](mtb_error **e) { return mtb_transfer_create(memory, queue, e); });
        return batch;
    }
    bool Copy(mtb_place source, mtb_place destination, size_t bytes, HostMemory host, Error &error)
    {
        return detail::Check(error, [&](mtb_error **e) {
            return mtb_transfer_copy(transfer_.Get(), source, destination, bytes, 1, mtb_host_memory(host), e);
        });
    }

    detail::TransferHandle transfer_;
};

inline bool MetalBuffer::Run(mtb_place source, mtb_place destination, size_t bytes, Error &error) const
{
    Batch batch = Batch::Begin(memory_.Get(), queue_.Get(), error);
    return batch && batch.Copy(source, destination, bytes, HostMemory::Borrowed, error) && batch.Run(error);
}

} // namespace metal_bridge

#include "metal_bridge_stream.hpp"

#endif
