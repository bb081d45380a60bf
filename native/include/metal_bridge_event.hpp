// Events of metal_bridge.hpp: order among streams, devices and the CPU.
#ifndef METAL_BRIDGE_EVENT_HPP
#define METAL_BRIDGE_EVENT_HPP

#include "metal_bridge_device.hpp"

namespace metal_bridge {

namespace detail {
using EventHandle = Handle<mtb_event, mtb_event_release>;
}  // namespace detail

// A number that only rises. Streams of any device and the CPU raise it, and wait until it has a value (Stream::Signal,
// Stream::Wait).
class Event {
public:
    // Called with the value that the event has reached.
    using Notification = std::function<void(uint64_t)>;

    Event() noexcept = default;
    // Takes over an event of the C ABI.
    explicit Event(mtb_event *owned) noexcept : event_(owned) {}

    static Result<Event> Create(const Device &device) {
        return detail::Make<Event>([&](mtb_error **e) { return mtb_event_create(device.Get(), e); });
    }

    uint64_t Value() const noexcept { return mtb_event_signaled_value(event_.Get()); }
    // Raises the event from the CPU. MTB_OUT_OF_RANGE if the event already has a larger value.
    Result<> Signal(uint64_t value) const {
        return detail::Check([&](mtb_error **e) { return mtb_event_signal(event_.Get(), value, e); });
    }
    // Waits on the CPU; MTB_TIMEOUT after `time`.
    Result<> Wait(uint64_t value, std::chrono::nanoseconds time = Forever) const {
        return detail::Check(
            [&](mtb_error **e) { return mtb_event_wait(event_.Get(), value, detail::Nanoseconds(time), e); });
    }
    // Has a thread of Metal's call `notification` once, when the event reaches `value`; not if the event goes before. A
    // notification that owns the event keeps the event, and so itself, until then.
    Result<> Notify(uint64_t value, Notification notification) const {
        using Callback = detail::Callback<Notification>;
        return Callback::Give(std::move(notification), "Event::Notify", [&](void *context) {
            return detail::Check([&](mtb_error **e) {
                return mtb_event_notify(event_.Get(), value, Reached, context, Callback::Free, e);
            });
        });
    }

    explicit operator bool() const noexcept { return bool(event_); }
    mtb_event *Get() const noexcept { return event_.Get(); }

private:
    static void Reached(uint64_t value, void *context) noexcept {
        detail::Callback<Notification>::Call(context, [&](const Notification &function) { function(value); });
    }

    detail::EventHandle event_;
};

}  // namespace metal_bridge

#endif
