// Helpers on whole buffers of metal_bridge.hpp.
#ifndef METAL_BRIDGE_UTILITIES_HPP
#define METAL_BRIDGE_UTILITIES_HPP

#include "metal_bridge_batch.hpp"

namespace metal_bridge {

// Copies and fills that come after everything that was committed to the queues of the buffers' devices, and wait.
class MetalMemoryUtils {
public:
    MetalMemoryUtils() = delete;

    // Copies `bytes` of `source` to `destination`; each may have any storage mode and any device. The GPU copies, or
    // this thread if both buffers are shared.
    static Result<> CopyBuffer(MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                               size_t source_offset, size_t bytes) {
        if (source && destination && mtb_buffer_device_id(source.Get()) != mtb_buffer_device_id(destination.Get()))
            if (Result<> drained = Drain(source); !drained) return drained;
        return Batch::Run(destination.memory_, destination.queue_, [&](Batch &batch) {
            return batch.CopyBuffer(destination, destination_offset, source, source_offset, bytes);
        });
    }
    // Copies the whole of `source` to the start of `destination`.
    static Result<> CopyBuffer(MetalBuffer &destination, const MetalBuffer &source) {
        return CopyBuffer(destination, 0, source, 0, source.Size());
    }
    // Sets `bytes` from `offset` on to zero.
    static Result<> ZeroBuffer(MetalBuffer &buffer, size_t offset, size_t bytes) {
        return Batch::Run(buffer.memory_, buffer.queue_,
                          [&](Batch &batch) { return batch.FillBuffer(buffer, offset, bytes, 0); });
    }
    static Result<> ZeroBuffer(MetalBuffer &buffer) { return ZeroBuffer(buffer, 0, buffer.Size()); }

private:
    // Waits for what was committed to the queue of the buffer's device.
    static Result<> Drain(const MetalBuffer &buffer) {
        return Batch::Run(buffer.memory_, buffer.queue_, [](Batch &) { return Result<>(); });
    }
};

}  // namespace metal_bridge

#endif
