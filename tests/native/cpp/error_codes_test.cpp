// metal_bridge.hpp as a program without exceptions uses it: every result is asked for its error.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <atomic>
#include <vector>

using namespace metal_bridge;

#if METAL_BRIDGE_EXCEPTIONS
#error "this program is compiled without exceptions"
#endif

namespace {

// Also if there is nothing to do.
void empty_objects(const Device &device, MetalBuffer &buffer) {
    const Stream stream = Stream::Default(device);
    MetalBuffer none;
    unsigned char byte = 0;
    const Error errors[] = {
        MetalMemoryUtils::CopyBuffer(buffer, none).error(),
        MetalMemoryUtils::CopyBuffer(none, none).error(),
        MetalMemoryUtils::ZeroBuffer(none).error(),
        none.CopyFromHost(&byte, 0).error(),
        stream.CopyToHost(none, 0, &byte, 0).error(),
        stream.CopyBuffer(none, 0, buffer, 0, 0).error(),
        stream.FillBuffer(none, 0, 0, 1).error(),
        stream.CopyFromHost2D(none, {0, 1, 1, 0}, &byte, 1).error(),
        stream.CallHostFunction(std::function<void()>()).error(),
    };
    for (const Error &error : errors)
        CHECK(error.Status() == MTB_INVALID_ARGUMENT && *error.Message() && *error.Function());
}

void memory(const Device &device) {
    MemoryOptions options{};
    options.budget = 1 << 20;
    const Device small = *Device::Default(options);
    CHECK(MetalBuffer::Create(small, 2 << 20).error().Status() == MTB_OVER_BUDGET);
    Arena arena = *Arena::Create(device, false, 0, 1 << 20);
    auto allocated = arena.Allocate(64);
    CHECK(allocated && *allocated && !allocated.error());
    MetalBuffer scratch = *std::move(allocated);
    const auto failed = arena.Allocate(2 << 20);
    CHECK(!failed && !*failed && failed->Size() == 0 && failed.error().Status() == MTB_OVER_BUDGET);
    const unsigned char rows[4] = {1, 2, 3, 4};
    unsigned char back[4] = {};
    const uint16_t pattern = 0x0909;
    const Stream stream = Stream::Default(device);
    CHECK(stream.FillPattern(scratch, {0, 0, 64, 1}, &pattern, 2));
    CHECK(stream.CopyFromHost2D(scratch, {1, 10, 2, 2}, rows, 2));
    CHECK(stream.CopyBuffer2D(scratch, {30, 5, 2, 2}, scratch, 1, 10));
    CHECK(stream.CopyToHost2D(scratch, {30, 5, 2, 2}, back, 2)->Wait());
    CHECK(back[0] == 1 && back[3] == 4);
    if (!device.SupportsResidencySets()) return;
    ResidencySet set = *ResidencySet::Create(device);
    CHECK(set.Add(scratch) && set.Commit() && set.Request(std::chrono::seconds(0)) && set.End());
    CHECK(stream.AddResidencySet(set) && stream.RemoveResidencySet(set) && set.Remove(scratch));
}

void order(const Device &device) {
    Error seen;
    const Stream stream = *Stream::Create(device);
    const Event event = *Event::Create(device);
    std::atomic<int> calls{0};
    CHECK(event.Notify(1, [&](uint64_t) { calls++; }) && stream.Wait(event, 1));
    Batch batch = *stream.Begin();
    const Pending done = *batch.Commit([&](const Error &result) { seen = result, calls++; });
    CHECK(stream.Signal(event, 2) && done.WaitFor(std::chrono::milliseconds(1)).error().Status() == MTB_TIMEOUT);
    CHECK(event.Signal(1) && event.Wait(2));
    CHECK(done.Wait() && !seen);
    CHECK(Eventually([&] { return calls >= 2; }));
}

void kernels(const Device &device) {
    const Library library = *Library::FromSource(
        device, "kernel void one(device int *out [[buffer(0)]], constant int &n [[buffer(1)]]) { *out = n; }");
    const Kernel kernel = *Kernel::Create(library, "one");
    MetalBuffer out = *MetalBuffer::Create(device, sizeof(int32_t), false);
    const Grid grid = Grid::Threads(Size(1), Size(1));
    const int32_t number = 41;
    CHECK(Stream::Default(device).Dispatch(kernel, grid, {out, Argument::Value(number)}));
    int32_t found = 0;
    CHECK(out.CopyToHost(&found, sizeof found) && found == 41);
    CHECK(Kernel::Create(library, "two").error().Status() == MTB_NOT_FOUND);
    Compute compute = *Stream::Default(device).BeginCompute();
    CHECK(compute.Dispatch(kernel, grid, {}).error().Status() == MTB_MISSING_ARGUMENT);
    CHECK(compute.Dispatch(kernel, grid, {out, Argument::Value(number)}) && compute.Commit()->Wait());
}

}  // namespace

int main() {
    auto found = Device::Default();
    CHECK(found && *found && !found.error());
    const Device device = *std::move(found);
    MetalBuffer buffer = *MetalBuffer::Create(device, 1000, false);
    CHECK(buffer);
    std::vector<unsigned char> bytes(1000, 5), back(1000);
    CHECK(MetalMemoryUtils::ZeroBuffer(buffer));
    CHECK(buffer.CopyFromHost(bytes.data(), 998, 1));
    CHECK(buffer.CopyToHost(back.data(), 1000));
    bytes.front() = bytes.back() = 0;
    CHECK(back == bytes);

    CHECK(buffer.CopyFromHost(bytes.data(), 1000, 1).error().Status() == MTB_OUT_OF_RANGE);
    CHECK(MetalBuffer::Create(device, 0).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(Device::At(Device::Count()).error().Status() == MTB_NO_DEVICE);
    CHECK(Stream().Begin().error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(!Stream().CopyToHost(buffer, 0, back.data(), 1));
    CHECK(Stream().CallHostFunction([] {}).error().Status() == MTB_INVALID_ARGUMENT);
    empty_objects(device, buffer);

    const Stream stream = *Stream::Create(device);
    MetalBuffer shared = *MetalBuffer::Create(device, 1000);
    CHECK(stream.CopyBuffer(shared, 0, buffer, 0, 1000));
    CHECK(stream.FillBuffer(shared, 0, 1, 8));
    CHECK(!stream.FillBuffer(shared, 1000, 1, 8));
    CHECK(stream.CopyFromHost(shared, 999, back.data() + 1, 1));
    int calls = 0;
    const Pending called = *stream.CallHostFunction([&] { calls++; });
    CHECK(called.Wait() && calls == 1);
    CHECK(stream.Synchronize());
    bytes.front() = 8;
    bytes.back() = 5;
    CHECK(MetalMemoryUtils::CopyBuffer(buffer, shared) && buffer.CopyToHost(back.data(), 1000));
    CHECK(back == bytes);
    memory(device);
    order(device);
    kernels(device);
    std::puts("C++ without exceptions: fine");
}
