// metal_bridge.hpp as a program without exceptions uses it: every call with a place for its error.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <atomic>
#include <vector>

using namespace metal_bridge;

#if METAL_BRIDGE_EXCEPTIONS
#error "this program is compiled without exceptions"
#endif

namespace {

// Also where there is nothing to do.
void empty_objects(const Device &device, MetalBuffer &buffer) {
    const Stream stream = Stream::Default(device);
    MetalBuffer none;
    unsigned char byte = 0;
    Error errors[9];
    CHECK(!MetalMemoryUtils::CopyBuffer(buffer, none, errors[0]) &&
          !MetalMemoryUtils::CopyBuffer(none, none, errors[1]));
    CHECK(!MetalMemoryUtils::ZeroBuffer(none, errors[2]) && !none.CopyFromHost(&byte, 0, 0, errors[3]));
    CHECK(!stream.CopyToHost(none, 0, &byte, 0, errors[4]) && !stream.CopyBuffer(none, 0, buffer, 0, 0, errors[5]));
    CHECK(!stream.FillBuffer(none, 0, 0, 1, errors[6]));
    CHECK(!stream.CopyFromHost2D(none, {0, 1, 1, 0}, &byte, 1, HostMemory::Copied, errors[7]));
    CHECK(!stream.CallHostFunction(std::function<void()>(), errors[8]));
    for (const Error &error : errors)
        CHECK(error.Status() == MTB_INVALID_ARGUMENT && *error.Message() && *error.Function());
}

void memory(const Device &device) {
    Error error;
    MemoryOptions options{};
    options.budget = 1 << 20;
    const Device small = Device::Default(options, error);
    CHECK(!MetalBuffer::Create(small, 2 << 20, true, error) && error.Status() == MTB_OVER_BUDGET);
    Arena arena = Arena::Create(device, false, 0, 1 << 20, error);
    MetalBuffer scratch = arena.Allocate(64, error);
    CHECK(scratch && !error && !arena.Allocate(2 << 20, error) && error.Status() == MTB_OVER_BUDGET);
    const unsigned char rows[4] = {1, 2, 3, 4};
    unsigned char back[4] = {};
    const uint16_t pattern = 0x0909;
    const Stream stream = Stream::Default(device);
    CHECK(stream.FillPattern(scratch, {0, 0, 64, 1}, &pattern, 2, error));
    CHECK(stream.CopyFromHost2D(scratch, {1, 10, 2, 2}, rows, 2, HostMemory::Copied, error));
    CHECK(stream.CopyBuffer2D(scratch, {30, 5, 2, 2}, scratch, 1, 10, error));
    CHECK(stream.CopyToHost2D(scratch, {30, 5, 2, 2}, back, 2, error).Wait(error));
    CHECK(back[0] == 1 && back[3] == 4);
    if (!device.SupportsResidencySets()) return;
    ResidencySet set = ResidencySet::Create(device, error);
    CHECK(set.Add(scratch, error) && set.Commit(error) && set.Request(std::chrono::seconds(0), error) &&
          set.End(error));
    CHECK(stream.AddResidencySet(set, error) && stream.RemoveResidencySet(set, error) && set.Remove(scratch, error));
}

void order(const Device &device) {
    Error error, seen;
    const Stream stream = Stream::Create(device, error);
    const Event event = Event::Create(device, error);
    std::atomic<int> calls{0};
    CHECK(event.Notify(1, [&](uint64_t) { calls++; }, error) && stream.Wait(event, 1, error));
    Batch batch = stream.Begin(error);
    const Pending done = batch.Commit([&](const Error &result) { seen = result, calls++; }, error);
    CHECK(stream.Signal(event, 2, error) && !done.WaitFor(std::chrono::milliseconds(1), error));
    CHECK(error.Status() == MTB_TIMEOUT && event.Signal(1, error) && event.Wait(2, Forever, error));
    CHECK(done.Wait(error) && !seen);
    CHECK(Eventually([&] { return calls >= 2; }));
}

void kernels(const Device &device) {
    Error error;
    const Library library = Library::FromSource(
        device, "kernel void one(device int *out [[buffer(0)]], constant int &n [[buffer(1)]]) { *out = n; }", error);
    const Kernel kernel = Kernel::Create(library, "one", error);
    MetalBuffer out = MetalBuffer::Create(device, sizeof(int32_t), false, error);
    const Grid grid = Grid::Threads(Size(1), Size(1));
    const int32_t number = 41;
    CHECK(Stream::Default(device).Dispatch(kernel, grid, {out, Argument::Value(number)}, error));
    int32_t found = 0;
    CHECK(out.CopyToHost(&found, sizeof found, 0, error) && found == 41);
    CHECK(!Kernel::Create(library, "two", error) && error.Status() == MTB_NOT_FOUND);
    Compute compute = Stream::Default(device).BeginCompute(error);
    CHECK(!compute.Dispatch(kernel, grid, {}, error) && error.Status() == MTB_MISSING_ARGUMENT);
    CHECK(compute.Dispatch(kernel, grid, {out, Argument::Value(number)}, error) && compute.Commit(error).Wait(error));
}

} // namespace

int main() {
    Error error;
    Device device = Device::Default(error);
    CHECK(device && !error);
    MetalBuffer buffer = MetalBuffer::Create(device, 1000, false, error);
    CHECK(buffer && !error);
    std::vector<unsigned char> bytes(1000, 5), back(1000);
    CHECK(MetalMemoryUtils::ZeroBuffer(buffer, error));
    CHECK(buffer.CopyFromHost(bytes.data(), 998, 1, error));
    CHECK(buffer.CopyToHost(back.data(), 1000, 0, error));
    bytes.front() = bytes.back() = 0;
    CHECK(back == bytes);

    CHECK(!buffer.CopyFromHost(bytes.data(), 1000, 1, error) && error.Status() == MTB_OUT_OF_RANGE);
    CHECK(!MetalBuffer::Create(device, 0, true, error) && error.Status() == MTB_INVALID_ARGUMENT);
    CHECK(!Device::At(Device::Count(), error) && error.Status() == MTB_NO_DEVICE);
    CHECK(!Stream().Begin(error) && error.Status() == MTB_INVALID_ARGUMENT);
    CHECK(!Stream().CopyToHost(buffer, 0, back.data(), 1, error) && error);
    CHECK(!Stream().CallHostFunction([] {}, error) && error.Status() == MTB_INVALID_ARGUMENT);
    empty_objects(device, buffer);

    Stream stream = Stream::Create(device, error);
    MetalBuffer shared = MetalBuffer::Create(device, 1000, true, error);
    CHECK(stream.CopyBuffer(shared, 0, buffer, 0, 1000, error));
    CHECK(stream.FillBuffer(shared, 0, 1, 8, error));
    CHECK(!stream.FillBuffer(shared, 1000, 1, 8, error) && error);
    CHECK(stream.CopyFromHost(shared, 999, back.data() + 1, 1, HostMemory::Copied, error) && !error);
    int calls = 0;
    Pending called = stream.CallHostFunction([&] { calls++; }, error);
    CHECK(called.Wait(error) && calls == 1);
    CHECK(stream.Synchronize(error));
    bytes.front() = 8;
    bytes.back() = 5;
    CHECK(MetalMemoryUtils::CopyBuffer(buffer, shared, error) && buffer.CopyToHost(back.data(), 1000, 0, error));
    CHECK(back == bytes);
    memory(device);
    order(device);
    kernels(device);
    std::puts("C++ without exceptions: fine");
}
