// Helpers on whole buffers of metal_bridge.hpp.
#ifndef METAL_BRIDGE_UTILITIES_HPP
#define METAL_BRIDGE_UTILITIES_HPP

#include "metal_bridge_batch.hpp"

namespace metal_bridge {

// Copies and fills that come after all that was committed to the queues of the buffers' devices, and wait.
class MetalMemoryUtils {
public:
    MetalMemoryUtils() = delete;

    // Copies `bytes` of `source` to `destination`, of any storage mode each and of one device or two: on the GPU, or on
    // this thread where both are shared.
    static bool CopyBuffer(MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                           size_t source_offset, size_t bytes, Error &error) {
        if (source && destination && mtb_buffer_device_id(source.Get()) != mtb_buffer_device_id(destination.Get()) &&
            !Drain(source, error))
            return false;
        Batch batch = Batch::Begin(destination.memory_.Get(), destination.queue_.Get(), error);
        return batch && batch.CopyBuffer(destination, destination_offset, source, source_offset, bytes, error) &&
               batch.Run(error);
    }
    // The whole of `source` to the start of `destination`.
    static bool CopyBuffer(MetalBuffer &destination, const MetalBuffer &source, Error &error) {
        return CopyBuffer(destination, 0, source, 0, source.Size(), error);
    }
    // Sets `bytes` from `offset` on to zero.
    static bool ZeroBuffer(MetalBuffer &buffer, size_t offset, size_t bytes, Error &error) {
        Batch batch = Batch::Begin(buffer.memory_.Get(), buffer.queue_.Get(), error);
        return batch && batch.FillBuffer(buffer, offset, bytes, 0, error) && batch.Run(error);
    }
    static bool ZeroBuffer(MetalBuffer &buffer, Error &error) { return ZeroBuffer(buffer, 0, buffer.Size(), error); }

#if METAL_BRIDGE_EXCEPTIONS
    static void CopyBuffer(MetalBuffer &destination, size_t destination_offset, const MetalBuffer &source,
                           size_t source_offset, size_t bytes) {
        detail::OrThrow([&](Error &error) {
            return CopyBuffer(destination, destination_offset, source, source_offset, bytes, error);
        });
    }
    static void CopyBuffer(MetalBuffer &destination, const MetalBuffer &source) {
        detail::OrThrow([&](Error &error) { return CopyBuffer(destination, source, error); });
    }
    static void ZeroBuffer(MetalBuffer &buffer, size_t offset, size_t bytes) {
        detail::OrThrow([&](Error &error) { return ZeroBuffer(buffer, offset, bytes, error); });
    }
    static void ZeroBuffer(MetalBuffer &buffer) {
        detail::OrThrow([&](Error &error) { return ZeroBuffer(buffer, error); });
    }
#endif

private:
    // Waits for what was committed to the queue of the buffer's device.
    static bool Drain(const MetalBuffer &buffer, Error &error) {
        Batch nothing = Batch::Begin(buffer.memory_.Get(), buffer.queue_.Get(), error);
        return nothing && nothing.Run(error);
    }
};

}  // namespace metal_bridge

#endif
