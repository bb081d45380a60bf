// Devices of metal_bridge.hpp: a GPU with a memory of its own, and how much that memory holds and may hold.
#ifndef METAL_BRIDGE_DEVICE_HPP
#define METAL_BRIDGE_DEVICE_HPP

#include "metal_bridge_error.hpp"
#include "metal_bridge_memory.h"

#include <vector>

namespace metal_bridge {

namespace detail {
using DeviceHandle = Handle<mtb_device, mtb_device_release>;
using MemoryHandle = Handle<mtb_memory, mtb_memory_release>;
using QueueHandle = Handle<mtb_command_queue, mtb_command_queue_release>;

inline MemoryHandle Share(const MemoryHandle &memory) {
    return MemoryHandle(memory ? mtb_memory_retain(memory.Get()) : nullptr);
}
inline QueueHandle Share(const QueueHandle &queue) {
    return QueueHandle(queue ? mtb_command_queue_retain(queue.Get()) : nullptr);
}
}  // namespace detail

// A device's budget, and how much of what was released it keeps for the next allocation. Zeroes (`MemoryOptions{}`) are
// the defaults.
using MemoryOptions = mtb_memory_options;

// A GPU, with a memory (staging, caches, budget, statistics) and a queue for the transfers of its buffers.
class Device {
public:
    Device() noexcept = default;

    // The system's preferred device.
    static Result<Device> Default(const MemoryOptions &options = MemoryOptions{}) {
        return FromHandle(detail::Make<detail::DeviceHandle>(mtb_device_create_default), options);
    }
    // The device at `index`, below Count().
    static Result<Device> At(size_t index, const MemoryOptions &options = MemoryOptions{}) {
        const auto make = [&](mtb_error **e) { return mtb_device_create_at(index, e); };
        return FromHandle(detail::Make<detail::DeviceHandle>(make), options);
    }
    static size_t Count() noexcept { return mtb_device_count(); }

    // All zero for an empty device. The device owns the name in it.
    mtb_device_info Info() const noexcept {
        mtb_device_info info;
        mtb_device_get_info(device_.Get(), &info);
        return info;
    }
    // The device owns the text; empty for an empty device.
    const char *Name() const noexcept {
        const char *name = Info().name;
        return name ? name : "";
    }
    // Where the device is in the machine and among its peers; all zero for an empty device.
    mtb_device_position Position() const noexcept {
        mtb_device_position position;
        mtb_device_get_position(device_.Get(), &position);
        return position;
    }
    // Whether copies of private memory from one device to the other need not go by way of system memory.
    bool IsPeerOf(const Device &other) const noexcept {
        const uint64_t group = mtb_device_peer_group_id(device_.Get());
        return group != 0 && group == mtb_device_peer_group_id(other.device_.Get());
    }
    bool SupportsResidencySets() const noexcept { return mtb_device_supports_residency_sets(device_.Get()); }

    // What was transferred, by kind, and what the pools hold. All zero for an empty device.
    mtb_memory_statistics MemoryStatistics() const noexcept {
        mtb_memory_statistics statistics;
        mtb_memory_get_statistics(memory_.Get(), &statistics);
        return statistics;
    }
    // What was transferred from and to each other device. Empty for an empty device.
    std::vector<mtb_pair_statistics> PairStatistics() const {
        std::vector<mtb_pair_statistics> pairs(mtb_memory_get_pair_statistics(memory_.Get(), nullptr, 0));
        // Meanwhile other threads may have reset them.
        size_t count = mtb_memory_get_pair_statistics(memory_.Get(), pairs.data(), pairs.size());
        if (count < pairs.size()) pairs.resize(count);
        return pairs;
    }
    // MemoryStatistics as a table for people.
    std::string Statistics() const {
        char *report = mtb_memory_copy_report(memory_.Get());
        std::string text(report ? report : "");
        mtb_string_free(report);
        return text;
    }
    // Lets counts and times begin again at zero. What is in use and kept does not change.
    void ResetStatistics() noexcept { mtb_memory_reset_statistics(memory_.Get()); }
    // Bytes that Metal may have allocated for this device's memory, in use and kept.
    uint64_t Budget() const noexcept { return MemoryStatistics().budget; }
    // Gives back to Metal what the memory keeps and nobody used for `idle`. Returns the number of bytes.
    uint64_t Trim(std::chrono::nanoseconds idle = std::chrono::nanoseconds::zero()) noexcept {
        return mtb_memory_trim(memory_.Get(), detail::Nanoseconds(idle));
    }

    explicit operator bool() const noexcept { return bool(device_); }
    mtb_device *Get() const noexcept { return device_.Get(); }
    mtb_memory *Memory() const noexcept { return memory_.Get(); }
    // The queue whose order the transfers of the device's buffers keep. Kernels that use these buffers belong there too
    // (Stream::Default).
    mtb_command_queue *Queue() const noexcept { return queue_.Get(); }

private:
    friend class Arena;
    friend class MetalBuffer;
    friend class Stream;

    static Result<Device> FromHandle(Result<detail::DeviceHandle> handle, const MemoryOptions &options) {
        if (!handle) return handle.error();
        auto memory = detail::Make<detail::MemoryHandle>(
            [&](mtb_error **e) { return mtb_memory_create(handle->Get(), &options, e); });
        if (!memory) return memory.error();
        auto queue = detail::Make<detail::QueueHandle>(
            [&](mtb_error **e) { return mtb_command_queue_create(handle->Get(), 0, e); });
        if (!queue) return queue.error();
        Device device;
        device.device_ = *std::move(handle);
        device.memory_ = *std::move(memory);
        device.queue_ = *std::move(queue);
        return device;
    }

    detail::DeviceHandle device_;
    detail::MemoryHandle memory_;
    detail::QueueHandle queue_;
};

}  // namespace metal_bridge

#endif
