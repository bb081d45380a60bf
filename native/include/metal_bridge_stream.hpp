// Streams and the helpers on whole buffers of metal_bridge.hpp, which includes this file.
#ifndef METAL_BRIDGE_STREAM_HPP
#define METAL_BRIDGE_STREAM_HPP

#include "metal_bridge.hpp"

namespace metal_bridge {

// A queue of its own, from the pool of the device's memory: each call takes its place in the order and returns.
class Stream {
public:
    Stream() noexcept = default;

    static Stream Create(const Device &device, Error &error)
    {
        Stream stream;
        stream.queue_ = detail::Make<detail::QueueHandle>(
            error, [&](mtb_error **e) { return mtb_memory_acquire_queue(device.memory_.Get(), e); });
        if (stream.queue_)
            stream.memory_ = detail::Share(device.memory_);
        return stream;
    }

    // Begins a batch: many transfers, one command buffer.
    Batch Begin(Error &error) const { return Batch::Begin(memory_.Get(), queue_.Get(), error); }

    // As in a batch of one.
    Pending CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes, HostMemory host,
                         Error &error) const
    {
        Batch batch = Begin(error);
        if (!batch || !batch.CopyFromHost(buffer, offset, source, bytes, host, error))
            return Pending();
        return batch.Commit(error);
    }
    Pending CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes, Error &error) const
    {
        Batch batch = Begin(error);
        if (!batch || !batch.CopyToHost(buffer, offset, destination, bytes, error))
            return Pending();
        return batch.Commit(error);
    }
    Pending CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                       size_t source_offset, size_t bytes, Error &error) const
    {
        Batch batch = Begin(error);
        if (!batch || !batch.CopyBuffer(destination, destination_offset, source, source_offset, bytes, error))
            return Pending();
        return batch.Commit(error);
    }
    Pending FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value, Error &error) const
    {
        Batch batch = Begin(error);
        if (!batch || !batch.FillBuffer(buffer, offset, bytes, value, error))
            return Pending();
        return batch.Commit(error);
    }
    // Calls `function` after all that was committed before, and has what is committed later wait for its return. It must not
    // wait for work of this stream. An exception that leaves it ends there.
    Pending CallHostFunction(std::function<void()> function, Error &error) const
    {
        auto *context = new std::function<void()>(std::move(function));
        auto commands = detail::Make<detail::CommandBufferHandle>(error, [&](mtb_error **e) {
            return mtb_queue_call_host_function(queue_.Get(), Call, nullptr, context, Free, e);
        });
        if (!commands)
            delete context;
        return Pending(std::move(commands));
    }
    // Waits for all that was committed.
    bool Synchronize(Error &error) const
    {
        Batch batch = Begin(error);
        if (!batch)
            return false;
        Pending last = batch.Commit(error);
        return last && last.Wait(error);
    }

    explicit operator bool() const noexcept { return bool(queue_); }
    mtb_queue *Queue() const noexcept { return queue_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    static Stream Create(const Device &device)
    {
        return detail::OrThrow([&](Error &error) { return Create(device, error); });
    }
    Batch Begin() const
    {
        return detail::OrThrow([&](Error &error) { return Begin(error); });
    }
    Pending CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes,
                         HostMemory host = HostMemory::Copied) const
    {
        return detail::OrThrow([&](Error &error) { return CopyFromHost(buffer, offset, source, bytes, host, error); });
    }
    Pending CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes) const
    {
        return detail::OrThrow([&](Error &error) { return CopyToHost(buffer, offset, destination, bytes, error); });
    }
    Pending CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                       size_t source_offset, size_t bytes) const
    {
        return detail::OrThrow([&](Error &error) {
            return CopyBuffer(destination, destination_offset, source, source_offset, bytes, error);
        });
    }
    Pending FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value) const
    {
        return detail::OrThrow([&](Error &error) { return FillBuffer(buffer, offset, bytes, value, error); });
    }
    Pending CallHostFunction(std::function<void()> function) const
    {
        return detail::OrThrow([&](Error &error) { return CallHostFunction(std::move(function), error); });
    }
    void Synchronize() const
    {
        detail::OrThrow([&](Error &error) { return Synchronize(error); });
    }
#endif

private:
    static void Call(void *context) noexcept
    {
        auto &function = *static_cast<std::function<void()> *>(context);
#if METAL_BRIDGE_EXCEPTIONS
        try {
            function();
        } catch (...) {
            // It must not unwind into the bridge, and there is no one to tell.
        }
#else
        function();
#endif
    }
    static void Free(void *context) noexcept { delete static_cast<std::function<void()> *>(context); }

    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

// Copies and fills that keep the order of the buffers' device, and wait.
class MetalMemoryUtils {
public:
    MetalMemoryUtils() = delete;

    // Copies `bytes` of `source` to `destination`, of any storage mode each: on the GPU, or on this thread where both are shared.
    static bool CopyBuffer(MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                           size_t source_offset, size_t bytes, Error &error)
    {
        Batch batch = Batch::Begin(destination.memory_.Get(), destination.queue_.Get(), error);
        return batch && batch.CopyBuffer(destination, destination_offset, source, source_offset, bytes, error) &&
               batch.Run(error);
    }
    // The whole of `source` to the start of `destination`.
    static bool CopyBuffer(MetalBuffer &destination, const MetalBuffer &source, Error &error)
    {
        return CopyBuffer(destination, 0, source, 0, source.Size(), error);
    }
    // Sets `bytes` from `offset` on to zero.
    static bool ZeroBuffer(MetalBuffer &buffer, size_t offset, size_t bytes, Error &error)
    {
        Batch batch = Batch::Begin(buffer.memory_.Get(), buffer.queue_.Get(), error);
        return batch && batch.FillBuffer(buffer, offset, bytes, 0, error) && batch.Run(error);
    }
    static bool ZeroBuffer(MetalBuffer &buffer, Error &error) { return ZeroBuffer(buffer, 0, buffer.Size(), error); }

#if METAL_BRIDGE_EXCEPTIONS
    static void CopyBuffer(MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                           size_t source_offset, size_t bytes)
    {
        detail::OrThrow([&](Error &error) {
            return CopyBuffer(destination, destination_offset, source, source_offset, bytes, error);
        });
    }
    static void CopyBuffer(MetalBuffer &destination, const MetalBuffer &source)
    {
        detail::OrThrow([&](Error &error) { return CopyBuffer(destination, source, error); });
    }
    static void ZeroBuffer(MetalBuffer &buffer, size_t offset, size_t bytes)
    {
        detail::OrThrow([&](Error &error) { return ZeroBuffer(buffer, offset, bytes, error); });
    }
    static void ZeroBuffer(MetalBuffer &buffer)
    {
        detail::OrThrow([&](Error &error) { return ZeroBuffer(buffer, error); });
    }
#endif
};

} // namespace metal_bridge

#endif
