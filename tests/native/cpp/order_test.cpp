// Order in metal_bridge.hpp: events among streams, callbacks, exceptions in them, several devices.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

using namespace metal_bridge;

static uint8_t first_byte(const MetalBuffer &buffer) {
    uint8_t byte = 0;
    buffer.CopyToHost(&byte, 1).value();
    return byte;
}

// One stream waits for the other, and that one for the CPU; nothing of it blocks this thread.
static void events(const Device &device) {
    const Stream first = Stream::Create(device).value(), second = Stream::Create(device).value();
    const Event event = Event::Create(device).value();
    MetalBuffer buffer = MetalBuffer::Create(device, 64, false).value();
    MetalMemoryUtils::ZeroBuffer(buffer).value();
    std::atomic<uint64_t> reached{0};
    event.Notify(2, [&](uint64_t value) { reached = value; }).value();
    uint8_t byte = 0;
    second.Wait(event, 2).value();
    second.FillBuffer(buffer, 0, 1, 2).value();
    Pending last = second.CopyToHost(buffer, 0, &byte, 1).value();
    first.Wait(event, 1).value();
    first.FillBuffer(buffer, 0, 1, 1).value();
    first.Signal(event, 2).value();
    CHECK(last.WaitFor(std::chrono::milliseconds(20)).error().Status() == MTB_TIMEOUT && !last.IsCompleted());
    CHECK(event.Wait(1, std::chrono::milliseconds(1)).error().Status() == MTB_TIMEOUT && event.Value() == 0);
    event.Signal(1).value();
    last.WaitFor(Forever).value();
    event.Wait(2).value();
    CHECK(byte == 2 && last.IsCompleted() && event.Value() == 2);
    CHECK(Eventually([&] { return reached == 2; }));

    CHECK(event.Signal(1).error().Status() == MTB_OUT_OF_RANGE);
    CHECK(event.Notify(3, nullptr).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(Event().Signal(1).error().Status() == MTB_INVALID_ARGUMENT && Event().Value() == 0);
    CHECK(first.Wait(Event(), 1).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(Stream().Signal(event, 9).error().Status() == MTB_INVALID_ARGUMENT);
    // A notification that never comes is released with its event.
    event.Notify(9, [&](uint64_t value) { reached = value; }).value();
    CHECK(reached == 2);
}

// A stream that stands still takes a number of transfers, and then refuses one when its timeout is over.
static void a_full_stream(const Device &device) {
    const Stream stream = Stream::Create(device).value();
    const Event event = Event::Create(device).value();
    MetalBuffer buffer = MetalBuffer::Create(device, 64, false).value();
    stream.Wait(event, 1).value();
    Batch batch = stream.Begin().value();
    Pending last;
    const auto fill = [&](uint8_t value, std::chrono::nanoseconds time) {
        batch.FillBuffer(buffer, 0, 64, value).value();
        auto filled = batch.CommitFor(time);
        if (filled) last = *std::move(filled);
        return filled.error().Status();
    };
    size_t filled = 0;
    mtb_status status;
    while ((status = fill(1, std::chrono::nanoseconds(0))) == MTB_OK) filled++;
    CHECK(filled >= 1024 && status == MTB_TIMEOUT);
    CHECK(fill(2, std::chrono::milliseconds(20)) == MTB_TIMEOUT && !last.IsCompleted());
    event.Signal(1).value();
    last.Wait().value();
    CHECK(first_byte(buffer) == 1);
}

struct Count {
    explicit Count(std::atomic<int> &count) : count_(&count) { ++*count_; }
    Count(const Count &other) : count_(other.count_) { ++*count_; }
    Count &operator=(const Count &) = delete;
    ~Count() { --*count_; }

    std::atomic<int> *count_;
};

// Callbacks come in order, may throw and may commit more; what they hold is released.
static void callbacks(const Device &device) {
    const Stream stream = Stream::Create(device).value();
    MetalBuffer buffer = MetalBuffer::Create(device, 64, false).value();
    std::atomic<int> calls{0}, held{0};
    {
        const Count held_by_callback(held);
        Batch batch = stream.Begin().value();
        batch.FillBuffer(buffer, 0, 64, 3).value();
        Pending done = batch
                           .Commit([&, held_by_callback](const Error &error) {
                               CHECK(!error && held > 1);
                               calls++;
                               throw std::runtime_error("expected: the test's completion throws");
                           })
                           .value();
        Pending thrown = stream
                             .CallHostFunction([&, held_by_callback] {
                                 calls++;
                                 throw 5;
                             })
                             .value();
        stream.FillBuffer(buffer, 0, 64, 4).value();
        done.Wait().value();
        thrown.Wait().value();
        const Event event = Event::Create(device).value();
        event
            .Notify(1,
                    [&, held_by_callback](uint64_t) {
                        calls++;
                        throw std::runtime_error("expected: the test's notification throws");
                    })
            .value();
        event.Signal(1).value();
        CHECK(Eventually([&] { return calls >= 3; }));
        // The stream works as before.
        stream.Synchronize().value();
        CHECK(first_byte(buffer) == 4);

        batch.FillBuffer(buffer, 0, 64, 5).value();
        Event chained = Event::Create(device).value();
        Pending next = batch
                           .Commit([&](const Error &) {
                               stream.FillBuffer(buffer, 0, 64, 6).value();
                               stream.Signal(chained, 1).value();
                           })
                           .value();
        chained.Wait(1).value();
        next.Wait().value();
        stream.Synchronize().value();
        CHECK(first_byte(buffer) == 6);
        batch.FillBuffer(buffer, 0, 64, 7).value();
        CHECK(batch.Commit(nullptr).error().Status() == MTB_INVALID_ARGUMENT);
        batch.Run().value();
        CHECK(first_byte(buffer) == 7);
        CHECK(Batch().Commit([held_by_callback](const Error &) {}).error().Status() == MTB_INVALID_ARGUMENT);
        CHECK(stream.CallHostFunction(nullptr).error().Status() == MTB_INVALID_ARGUMENT);
    }
    CHECK(Eventually([&] { return held <= 0; }));
    CHECK(calls == 3);
}

// Copies from one device to another and back, as peers and by way of system memory.
static void devices() {
    if (Device::Count() < 2) return;
    Device near = Device::At(0).value(), far = Device::At(1).value();
    CHECK(near.IsPeerOf(far) == far.IsPeerOf(near) && !near.IsPeerOf(Device()));
    const mtb_device_position here_is = near.Position(), there_is = far.Position();
    CHECK((here_is.peer_group_id != 0) == near.IsPeerOf(far) && here_is.peer_group_id == there_is.peer_group_id);
    CHECK(!near.IsPeerOf(far) || (here_is.peer_index != there_is.peer_index && here_is.peer_count >= 2));
    CHECK(here_is.location_number != there_is.location_number && Device().Position().peer_count == 0);
    std::vector<uint8_t> bytes(100001, 7), back(bytes.size());
    for (bool shared : {false, true}) {
        MetalBuffer there = MetalBuffer::Create(far, bytes.size(), shared).value();
        MetalBuffer here = MetalBuffer::Create(near, bytes.size(), !shared).value();
        // The copy comes after the work that is under way on the other device.
        const Stream ahead = Stream::Default(far);
        const Event gate = Event::Create(far).value();
        ahead.FillBuffer(there, 0, there.Size(), 1).value();
        ahead.CallHostFunction([] {}).value();
        ahead.CopyFromHost(there, 0, bytes.data(), bytes.size()).value();
        MetalMemoryUtils::CopyBuffer(here, there).value();
        here.CopyToHost(back.data(), back.size()).value();
        CHECK(back == bytes);
        // The CPU does not wait: events order the streams of the two devices.
        const Stream stream = Stream::Create(near).value();
        ahead.FillBuffer(there, 0, there.Size(), 9).value();
        ahead.Signal(gate, 1).value();
        stream.Wait(gate, 1).value();
        stream.CopyBuffer(here, 0, there, 0, there.Size()).value();
        stream.CopyToHost(here, 0, back.data(), back.size()).value().Wait().value();
        CHECK(back == std::vector<uint8_t>(back.size(), 9));
        CHECK(stream.CopyToHost(there, 0, back.data(), 1).error().Status() == MTB_WRONG_DEVICE);
    }
    const auto statistics = near.MemoryStatistics();
    CHECK(statistics.transfers[MTB_TRANSFER_PEER].count + statistics.transfers[MTB_TRANSFER_PEER_STAGED].count == 4);
    CHECK(near.IsPeerOf(far) || statistics.transfers[MTB_TRANSFER_PEER].count == 0);
    uint64_t count = 0;
    for (const mtb_pair_statistics &pair : near.PairStatistics()) count += pair.transfers.count;
    CHECK(count == 4 && Device().PairStatistics().empty());
}

int main() {
    Device device = Device::Default().value();
    events(device);
    a_full_stream(device);
    callbacks(device);
    devices();
    std::puts("C++ order: fine");
}
