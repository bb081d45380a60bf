// metal_bridge.hpp as a program without exceptions uses it: every call with a place for its error.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <vector>

using namespace metal_bridge;

#if METAL_BRIDGE_EXCEPTIONS
#error "this program is compiled without exceptions"
#endif

int main()
{
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
    std::puts("C++ without exceptions: fine");
}
