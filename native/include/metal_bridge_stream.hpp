// Streams of metal_bridge.hpp: transfers, kernels and functions of the CPU in one order, without waiting.
#ifndef METAL_BRIDGE_STREAM_HPP
#define METAL_BRIDGE_STREAM_HPP

#include "metal_bridge_arena.hpp"
#include "metal_bridge_batch.hpp"
#include "metal_bridge_event.hpp"
#include "metal_bridge_kernel.hpp"

namespace metal_bridge {

// A queue: each call takes its place in the order and returns. Streams are ordered among each other by events.
class Stream {
public:
    Stream() noexcept = default;

    // A queue of its own, from the pool of the device's memory.
    static Stream Create(const Device &device, Error &error) {
        Stream stream;
        stream.queue_ = detail::Make<detail::QueueHandle>(
            error, [&](mtb_error **e) { return mtb_memory_acquire_queue(device.memory_.Get(), e); });
        if (stream.queue_) stream.memory_ = detail::Share(device.memory_);
        return stream;
    }
    // The device's own queue, whose order the calls of MetalBuffer and MetalMemoryUtils keep. Empty for an empty
    // device.
    static Stream Default(const Device &device) noexcept {
        Stream stream;
        stream.queue_ = detail::Share(device.queue_);
        stream.memory_ = detail::Share(device.memory_);
        return stream;
    }

    // Begins a batch: many transfers, one command buffer.
    Batch Begin(Error &error) const { return Batch::Begin(memory_.Get(), queue_.Get(), error); }
    // Begins a compute pass: many dispatches, one command buffer.
    Compute BeginCompute(Error &error) const {
        Compute compute;
        compute.commands_ = MakeCommands(error);
        if (compute.commands_)
            compute.encoder_ = detail::Make<detail::ComputeHandle>(error, [&](mtb_error **e) {
                return mtb_compute_encoder_create(compute.commands_.Get(), MTB_DISPATCH_SERIAL, e);
            });
        return compute;
    }

    // As in a batch of one.
    Pending CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes, HostMemory host,
                         Error &error) const {
        return Single(error,
                      [&](Batch &batch) { return batch.CopyFromHost(buffer, offset, source, bytes, host, error); });
    }
    Pending CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes, Error &error) const {
        return Single(error, [&](Batch &batch) { return batch.CopyToHost(buffer, offset, destination, bytes, error); });
    }
    Pending CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                       size_t source_offset, size_t bytes, Error &error) const {
        return Single(error, [&](Batch &batch) {
            return batch.CopyBuffer(destination, destination_offset, source, source_offset, bytes, error);
        });
    }
    Pending FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value, Error &error) const {
        return Single(error, [&](Batch &batch) { return batch.FillBuffer(buffer, offset, bytes, value, error); });
    }
    Pending CopyFromHost2D(const MetalBuffer &buffer, const Rectangle &rows, const void *source, size_t pitch,
                           HostMemory host, Error &error) const {
        return Single(error,
                      [&](Batch &batch) { return batch.CopyFromHost2D(buffer, rows, source, pitch, host, error); });
    }
    Pending CopyToHost2D(const MetalBuffer &buffer, const Rectangle &rows, void *destination, size_t pitch,
                         Error &error) const {
        return Single(error, [&](Batch &batch) { return batch.CopyToHost2D(buffer, rows, destination, pitch, error); });
    }
    Pending CopyBuffer2D(const MetalBuffer &destination, const Rectangle &rows, const MetalBuffer &source,
                         size_t source_offset, size_t source_pitch, Error &error) const {
        return Single(error, [&](Batch &batch) {
            return batch.CopyBuffer2D(destination, rows, source, source_offset, source_pitch, error);
        });
    }
    Pending FillPattern(const MetalBuffer &buffer, const Rectangle &rows, const void *pattern, size_t pattern_size,
                        Error &error) const {
        return Single(error,
                      [&](Batch &batch) { return batch.FillPattern(buffer, rows, pattern, pattern_size, error); });
    }
    // As in a compute pass of one.
    Pending Dispatch(const Kernel &kernel, const Grid &grid, Compute::Arguments arguments, Error &error) const {
        Compute compute = BeginCompute(error);
        if (!compute || !compute.Dispatch(kernel, grid, arguments, error)) return Pending();
        return compute.Commit(error);
    }
    // Calls `function` after all that was committed before, and has what is committed later wait for its return.
    Pending CallHostFunction(std::function<void()> function, Error &error) const {
        using Callback = detail::Callback<std::function<void()>>;
        return Pending(Callback::Give(std::move(function), "Stream::CallHostFunction", error, [&](void *context) {
            return detail::Make<detail::CommandBufferHandle>(error, [&](mtb_error **e) {
                return mtb_queue_call_host_function(queue_.Get(), Call, nullptr, context, Callback::Free, e);
            });
        }));
    }

    // Raises the event once all that was committed before is done.
    Pending Signal(const Event &event, uint64_t value, Error &error) const {
        return Commands(error, [&](mtb_command_buffer *commands, mtb_error **e) {
            return mtb_command_buffer_encode_signal(commands, event.Get(), value, e);
        });
    }
    // Has what is committed later wait until the event is there; this thread does not.
    Pending Wait(const Event &event, uint64_t value, Error &error) const {
        return Commands(error, [&](mtb_command_buffer *commands, mtb_error **e) {
            return mtb_command_buffer_encode_wait(commands, event.Get(), value, e);
        });
    }
    // Has the set's buffers resident for what is committed later.
    bool AddResidencySet(const ResidencySet &set, Error &error) const {
        return detail::Check(error,
                             [&](mtb_error **e) { return mtb_queue_add_residency_set(queue_.Get(), set.Get(), e); });
    }
    bool RemoveResidencySet(const ResidencySet &set, Error &error) const {
        return detail::Check(error,
                             [&](mtb_error **e) { return mtb_queue_remove_residency_set(queue_.Get(), set.Get(), e); });
    }
    // Waits for all that was committed.
    bool Synchronize(Error &error) const {
        Batch nothing = Begin(error);
        return nothing && nothing.Run(error);
    }

    explicit operator bool() const noexcept { return bool(queue_); }
    mtb_queue *Queue() const noexcept { return queue_.Get(); }

#if METAL_BRIDGE_EXCEPTIONS
    static Stream Create(const Device &device) {
        return detail::OrThrow([&](Error &error) { return Create(device, error); });
    }
    Batch Begin() const {
        return detail::OrThrow([&](Error &error) { return Begin(error); });
    }
    Compute BeginCompute() const {
        return detail::OrThrow([&](Error &error) { return BeginCompute(error); });
    }
    Pending CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes,
                         HostMemory host = HostMemory::Copied) const {
        return detail::OrThrow([&](Error &error) { return CopyFromHost(buffer, offset, source, bytes, host, error); });
    }
    Pending CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes) const {
        return detail::OrThrow([&](Error &error) { return CopyToHost(buffer, offset, destination, bytes, error); });
    }
    Pending CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                       size_t source_offset, size_t bytes) const {
        return detail::OrThrow([&](Error &error) {
            return CopyBuffer(destination, destination_offset, source, source_offset, bytes, error);
        });
    }
    Pending FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value) const {
        return detail::OrThrow([&](Error &error) { return FillBuffer(buffer, offset, bytes, value, error); });
    }
    Pending CopyFromHost2D(const MetalBuffer &buffer, const Rectangle &rows, const void *source, size_t pitch,
                           HostMemory host = HostMemory::Copied) const {
        return detail::OrThrow([&](Error &error) { return CopyFromHost2D(buffer, rows, source, pitch, host, error); });
    }
    Pending CopyToHost2D(const MetalBuffer &buffer, const Rectangle &rows, void *destination, size_t pitch) const {
        return detail::OrThrow([&](Error &error) { return CopyToHost2D(buffer, rows, destination, pitch, error); });
    }
    Pending CopyBuffer2D(const MetalBuffer &destination, const Rectangle &rows, const MetalBuffer &source,
                         size_t source_offset, size_t source_pitch) const {
        return detail::OrThrow(
            [&](Error &error) { return CopyBuffer2D(destination, rows, source, source_offset, source_pitch, error); });
    }
    Pending FillPattern(const MetalBuffer &buffer, const Rectangle &rows, const void *pattern,
                        size_t pattern_size) const {
        return detail::OrThrow([&](Error &error) { return FillPattern(buffer, rows, pattern, pattern_size, error); });
    }
    Pending Dispatch(const Kernel &kernel, const Grid &grid, Compute::Arguments arguments) const {
        return detail::OrThrow([&](Error &error) { return Dispatch(kernel, grid, arguments, error); });
    }
    Pending CallHostFunction(std::function<void()> function) const {
        return detail::OrThrow([&](Error &error) { return CallHostFunction(std::move(function), error); });
    }
    Pending Signal(const Event &event, uint64_t value) const {
        return detail::OrThrow([&](Error &error) { return Signal(event, value, error); });
    }
    Pending Wait(const Event &event, uint64_t value) const {
        return detail::OrThrow([&](Error &error) { return Wait(event, value, error); });
    }
    void AddResidencySet(const ResidencySet &set) const {
        detail::OrThrow([&](Error &error) { return AddResidencySet(set, error); });
    }
    void RemoveResidencySet(const ResidencySet &set) const {
        detail::OrThrow([&](Error &error) { return RemoveResidencySet(set, error); });
    }
    void Synchronize() const {
        detail::OrThrow([&](Error &error) { return Synchronize(error); });
    }
#endif

private:
    detail::CommandBufferHandle MakeCommands(Error &error) const {
        return detail::Make<detail::CommandBufferHandle>(error, [&](mtb_error **e) {
            return mtb_command_buffer_create(queue_.Get(), MTB_REFERENCES_RETAINED, MTB_ROOM_TIMEOUT, e);
        });
    }
    // A command buffer of what `encode` encodes.
    template <class Encode> Pending Commands(Error &error, Encode encode) const {
        auto commands = MakeCommands(error);
        if (!commands || !detail::Check(error, [&](mtb_error **e) { return encode(commands.Get(), e); }) ||
            !detail::Check(error, [&](mtb_error **e) { return mtb_command_buffer_commit(commands.Get(), e); }))
            return Pending();
        return Pending(std::move(commands));
    }
    // A batch of what `add` adds.
    template <class Add> Pending Single(Error &error, Add add) const {
        Batch batch = Begin(error);
        if (!batch || !add(batch)) return Pending();
        return batch.Commit(error);
    }
    static void Call(void *context) noexcept {
        detail::Callback<std::function<void()>>::Call(context,
                                                      [](const std::function<void()> &function) { function(); });
    }

    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

} // namespace metal_bridge

#endif
