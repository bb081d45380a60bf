// Streams of metal_bridge.hpp: transfers, kernels and functions of the CPU in one order, without waiting.
#ifndef METAL_BRIDGE_STREAM_HPP
#define METAL_BRIDGE_STREAM_HPP

#include "metal_bridge_arena.hpp"
#include "metal_bridge_batch.hpp"
#include "metal_bridge_event.hpp"
#include "metal_bridge_kernel.hpp"

namespace metal_bridge {

// A queue: each call takes its position in the order and returns. Events order streams among each other.
class Stream {
public:
    Stream() noexcept = default;

    // A stream with a queue of its own, from the pool of the device's memory.
    static Result<Stream> Create(const Device &device) {
        auto queue = detail::Make<detail::QueueHandle>(
            [&](mtb_error **e) { return mtb_memory_acquire_queue(device.memory_.Get(), e); });
        if (!queue) return queue.error();
        Stream stream;
        stream.queue_ = *std::move(queue);
        stream.memory_ = detail::Share(device.memory_);
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
    Result<Batch> Begin() const { return Batch::Begin(memory_, queue_); }
    // Begins a compute pass: many dispatches, one command buffer.
    Result<Compute> BeginCompute() const {
        auto commands = MakeCommands();
        if (!commands) return commands.error();
        auto encoder = detail::Make<detail::ComputeHandle>(
            [&](mtb_error **e) { return mtb_compute_encoder_create(commands->Get(), MTB_DISPATCH_SERIAL, e); });
        if (!encoder) return encoder.error();
        Compute compute;
        compute.commands_ = *std::move(commands);
        compute.encoder_ = *std::move(encoder);
        return compute;
    }

    // As in a batch of one.
    Result<Pending> CopyFromHost(const MetalBuffer &buffer, size_t offset, const void *source, size_t bytes,
                                 HostMemory host = HostMemory::Copied) const {
        return Single(&Batch::CopyFromHost, buffer, offset, source, bytes, host);
    }
    Result<Pending> CopyToHost(const MetalBuffer &buffer, size_t offset, void *destination, size_t bytes) const {
        return Single(&Batch::CopyToHost, buffer, offset, destination, bytes);
    }
    Result<Pending> CopyBuffer(const MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                               size_t source_offset, size_t bytes) const {
        return Single(&Batch::CopyBuffer, destination, destination_offset, source, source_offset, bytes);
    }
    Result<Pending> FillBuffer(const MetalBuffer &buffer, size_t offset, size_t bytes, uint8_t value) const {
        return Single(&Batch::FillBuffer, buffer, offset, bytes, value);
    }
    Result<Pending> CopyFromHost2D(const MetalBuffer &buffer, const Rectangle &rows, const void *source, size_t pitch,
                                   HostMemory host = HostMemory::Copied) const {
        return Single(&Batch::CopyFromHost2D, buffer, rows, source, pitch, host);
    }
    Result<Pending> CopyToHost2D(const MetalBuffer &buffer, const Rectangle &rows, void *destination,
                                 size_t pitch) const {
        return Single(&Batch::CopyToHost2D, buffer, rows, destination, pitch);
    }
    Result<Pending> CopyBuffer2D(const MetalBuffer &destination, const Rectangle &rows, const MetalBuffer &source,
                                 size_t source_offset, size_t source_pitch) const {
        return Single(&Batch::CopyBuffer2D, destination, rows, source, source_offset, source_pitch);
    }
    Result<Pending> FillPattern(const MetalBuffer &buffer, const Rectangle &rows, const void *pattern,
                                size_t pattern_size) const {
        return Single(&Batch::FillPattern, buffer, rows, pattern, pattern_size);
    }
    // As in a compute pass of one.
    Result<Pending> Dispatch(const Kernel &kernel, const Grid &grid, Compute::Arguments arguments) const {
        auto compute = BeginCompute();
        if (!compute) return compute.error();
        if (Result<> added = compute->Dispatch(kernel, grid, arguments); !added) return added.error();
        return compute->Commit();
    }
    // Has a thread of Metal's call `function` after everything that was committed before; what is committed later waits
    // for its return.
    Result<Pending> CallHostFunction(std::function<void()> function) const {
        using Callback = detail::Callback<std::function<void()>>;
        return Callback::Give(std::move(function), "Stream::CallHostFunction", [&](void *context) {
            return detail::Make<Pending>([&](mtb_error **e) {
                return mtb_command_queue_call_host_function(queue_.Get(), Call, nullptr, context, Callback::Free, e);
            });
        });
    }

    // Raises the event once everything that was committed before is done.
    Result<Pending> Signal(const Event &event, uint64_t value) const {
        return Commit(event, value, mtb_command_buffer_encode_signal);
    }
    // Makes what is committed later wait until the event has the value; this thread does not wait.
    Result<Pending> Wait(const Event &event, uint64_t value) const {
        return Commit(event, value, mtb_command_buffer_encode_wait);
    }
    // Keeps the set's buffers resident for what is committed later.
    Result<> AddResidencySet(const ResidencySet &set) const {
        return detail::Check(
            [&](mtb_error **e) { return mtb_command_queue_add_residency_set(queue_.Get(), set.Get(), e); });
    }
    Result<> RemoveResidencySet(const ResidencySet &set) const {
        return detail::Check(
            [&](mtb_error **e) { return mtb_command_queue_remove_residency_set(queue_.Get(), set.Get(), e); });
    }
    // Waits for everything that was committed.
    Result<> Synchronize() const {
        return Batch::Run(memory_, queue_, [](Batch &) { return Result<>(); });
    }

    explicit operator bool() const noexcept { return bool(queue_); }
    mtb_command_queue *Queue() const noexcept { return queue_.Get(); }

private:
    Result<detail::CommandBufferHandle> MakeCommands() const {
        return detail::Make<detail::CommandBufferHandle>([&](mtb_error **e) {
            return mtb_command_buffer_create(queue_.Get(), MTB_REFERENCES_RETAINED, MTB_SLOT_TIMEOUT, e);
        });
    }
    // A command buffer with one signal or wait.
    Result<Pending> Commit(const Event &event, uint64_t value, decltype(&mtb_command_buffer_encode_signal) call) const {
        auto commands = MakeCommands();
        if (!commands) return commands.error();
        return detail::CommitCommands(*std::move(commands), [&](mtb_command_buffer *to, mtb_error **e) {
            return call(to, event.Get(), value, e);
        });
    }
    // A batch of one transfer.
    template <class... Parameters, class... Arguments>
    Result<Pending> Single(Result<> (Batch::*add)(Parameters...), Arguments &&...arguments) const {
        auto batch = Begin();
        if (!batch) return batch.error();
        if (Result<> added = ((*batch).*add)(std::forward<Arguments>(arguments)...); !added) return added.error();
        return batch->Commit();
    }
    static void Call(void *context) noexcept {
        detail::Callback<std::function<void()>>::Call(context,
                                                      [](const std::function<void()> &function) { function(); });
    }

    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

}  // namespace metal_bridge

#endif
