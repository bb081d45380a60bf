// Order in metal_bridge.hpp: events among streams, callbacks, exceptions in them, several devices.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

using namespace metal_bridge;

static uint8_t first_byte(const MetalBuffer &buffer) {
    uint8_t byte = 0;
    buffer.CopyToHost(&byte, 1);
    return byte;
}

// One stream waits for the other, and that one for the CPU; nothing of it blocks this thread.
static void events(const Device &device) {
    const Stream first = Stream::Create(device), second = Stream::Create(device);
    const Event event = Event::Create(device);
    MetalBuffer buffer = MetalBuffer::Create(device, 64, false);
    MetalMemoryUtils::ZeroBuffer(buffer);
    std::atomic<uint64_t> reached{0};
    event.Notify(2, [&](uint64_t value) { reached = value; });
    uint8_t byte = 0;
    second.Wait(event, 2);
    second.FillBuffer(buffer, 0, 1, 2);
    Pending last = second.CopyToHost(buffer, 0, &byte, 1);
    first.Wait(event, 1);
    first.FillBuffer(buffer, 0, 1, 1);
    first.Signal(event, 2);
    Error error;
    CHECK(!last.WaitFor(std::chrono::milliseconds(20), error) && error.Status() == MTB_TIMEOUT && !last.IsCompleted());
    CHECK(!event.Wait(1, std::chrono::milliseconds(1), error) && error.Status() == MTB_TIMEOUT && event.Value() == 0);
    event.Signal(1);
    last.WaitFor(Forever);
    event.Wait(2);
    CHECK(byte == 2 && last.IsCompleted() && event.Value() == 2);
    CHECK(Eventually([&] { return reached == 2; }));

    CHECK(!event.Signal(1, error) && error.Status() == MTB_OUT_OF_RANGE);
    CHECK(!event.Notify(3, nullptr, error) && error.Status() == MTB_INVALID_ARGUMENT);
    CHECK(!Event().Signal(1, error) && error.Status() == MTB_INVALID_ARGUMENT && Event().Value() == 0);
    CHECK(!first.Wait(Event(), 1, error) && error.Status() == MTB_INVALID_ARGUMENT);
    CHECK(!Stream().Signal(event, 9, error) && error.Status() == MTB_INVALID_ARGUMENT);
    // One that never comes goes with its event.
    event.Notify(9, [&](uint64_t value) { reached = value; });
    CHECK(reached == 2);
}

// A stream that stands still takes so many transfers, and then refuses one when its time is over.
static void a_full_stream(const Device &device) {
    const Stream stream = Stream::Create(device);
    const Event event = Event::Create(device);
    MetalBuffer buffer = MetalBuffer::Create(device, 64, false);
    stream.Wait(event, 1);
    Batch batch = stream.Begin();
    Pending last;
    Error error;
    const auto fill = [&](uint8_t value, std::chrono::nanoseconds time) {
        batch.FillBuffer(buffer, 0, 64, value);
        Pending filled = batch.CommitFor(time, error);
        return filled ? (last = std::move(filled), true) : false;
    };
    size_t filled = 0;
    while (fill(1, std::chrono::nanoseconds(0))) filled++;
    CHECK(filled >= 1024 && error.Status() == MTB_TIMEOUT);
    CHECK(!fill(2, std::chrono::milliseconds(20)) && error.Status() == MTB_TIMEOUT && !last.IsCompleted());
    event.Signal(1);
    last.Wait();
    CHECK(first_byte(buffer) == 1);
}

struct Count {
    explicit Count(std::atomic<int> &count) : count_(&count) { ++*count_; }
    Count(const Count &other) : count_(other.count_) { ++*count_; }
    Count &operator=(const Count &) = delete;
    ~Count() { --*count_; }

    std::atomic<int> *count_;
};

// Callbacks come in order, may throw and may commit more; what they hold is let go of.
static void callbacks(const Device &device) {
    const Stream stream = Stream::Create(device);
    MetalBuffer buffer = MetalBuffer::Create(device, 64, false);
    std::atomic<int> calls{0}, held{0};
    {
        const Count held_by_callback(held);
        Batch batch = stream.Begin();
        batch.FillBuffer(buffer, 0, 64, 3);
        Pending done = batch.Commit([&, held_by_callback](const Error &error) {
            CHECK(!error && held > 1);
            calls++;
            throw std::runtime_error("expected: the test's completion throws");
        });
        Pending thrown = stream.CallHostFunction([&, held_by_callback] {
            calls++;
            throw 5;
        });
        stream.FillBuffer(buffer, 0, 64, 4);
        done.Wait();
        thrown.Wait();
        const Event event = Event::Create(device);
        event.Notify(1, [&, held_by_callback](uint64_t) {
            calls++;
            throw std::runtime_error("expected: the test's notification throws");
        });
        event.Signal(1);
        CHECK(Eventually([&] { return calls >= 3; }));
        // The stream works as before.
        stream.Synchronize();
        CHECK(first_byte(buffer) == 4);

        batch.FillBuffer(buffer, 0, 64, 5);
        Event chained = Event::Create(device);
        Pending next = batch.Commit([&](const Error &) {
            stream.FillBuffer(buffer, 0, 64, 6);
            stream.Signal(chained, 1);
        });
        chained.Wait(1);
        next.Wait();
        stream.Synchronize();
        CHECK(first_byte(buffer) == 6);
        Error error;
        CHECK(!batch.Commit(nullptr, error) && error.Status() == MTB_INVALID_ARGUMENT);
        CHECK(!Batch().Commit([held_by_callback](const Error &) {}, error) && error.Status() == MTB_INVALID_ARGUMENT);
        CHECK(!stream.CallHostFunction(nullptr, error) && error.Status() == MTB_INVALID_ARGUMENT);
    }
    CHECK(Eventually([&] { return held <= 0; }));
    CHECK(calls == 3);
}

// From one device to another and back, as peers and by way of system memory.
static void devices() {
    if (Device::Count() < 2) return;
    Device near = Device::At(0), far = Device::At(1);
    CHECK(near.IsPeerOf(far) == far.IsPeerOf(near) && !near.IsPeerOf(Device()));
    std::vector<uint8_t> bytes(100001, 7), back(bytes.size());
    for (bool shared : {false, true}) {
        MetalBuffer there = MetalBuffer::Create(far, bytes.size(), shared);
        MetalBuffer here = MetalBuffer::Create(near, bytes.size(), !shared);
        // After what is under way on the other device.
        const Stream ahead = Stream::Default(far);
        const Event gate = Event::Create(far);
        ahead.FillBuffer(there, 0, there.Size(), 1);
        ahead.CallHostFunction([] {});
        ahead.CopyFromHost(there, 0, bytes.data(), bytes.size());
        MetalMemoryUtils::CopyBuffer(here, there);
        here.CopyToHost(back.data(), back.size());
        CHECK(back == bytes);
        // Without a wait: events order the streams of the two.
        const Stream stream = Stream::Create(near);
        ahead.FillBuffer(there, 0, there.Size(), 9);
        ahead.Signal(gate, 1);
        stream.Wait(gate, 1);
        stream.CopyBuffer(here, 0, there, 0, there.Size());
        stream.CopyToHost(here, 0, back.data(), back.size()).Wait();
        CHECK(back == std::vector<uint8_t>(back.size(), 9));
        Error error;
        CHECK(!stream.CopyToHost(there, 0, back.data(), 1, error) && error.Status() == MTB_WRONG_DEVICE);
    }
    const auto statistics = near.MemoryStatistics();
    CHECK(statistics.transfers[MTB_TRANSFER_PEER].count + statistics.transfers[MTB_TRANSFER_PEER_STAGED].count == 4);
    CHECK(near.IsPeerOf(far) || statistics.transfers[MTB_TRANSFER_PEER].count == 0);
}

int main() {
    Device device = Device::Default();
    events(device);
    a_full_stream(device);
    callbacks(device);
    devices();
    std::puts("C++ order: fine");
}
