// metal_bridge.hpp as a program with exceptions uses it: values, ownership, errors, order.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <atomic>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

using namespace metal_bridge;

static_assert(!std::is_copy_constructible_v<MetalBuffer> && !std::is_copy_assignable_v<MetalBuffer>);
static_assert(std::is_nothrow_move_constructible_v<MetalBuffer> && std::is_nothrow_move_assignable_v<MetalBuffer>);
static_assert(!std::is_copy_constructible_v<Device> && std::is_nothrow_move_constructible_v<Device>);
static_assert(!std::is_copy_constructible_v<Stream> && std::is_nothrow_move_constructible_v<Stream>);
static_assert(!std::is_copy_constructible_v<Batch> && std::is_nothrow_move_constructible_v<Batch>);
static_assert(!std::is_copy_constructible_v<Pending> && std::is_nothrow_move_constructible_v<Pending>);
static_assert(std::is_base_of_v<std::exception, Error> && std::is_nothrow_copy_constructible_v<Error>);

static std::vector<uint8_t> pattern(size_t length, uint8_t seed) {
    std::vector<uint8_t> bytes(length);
    std::iota(bytes.begin(), bytes.end(), seed);
    return bytes;
}

static std::vector<uint8_t> contents(const MetalBuffer &buffer) {
    std::vector<uint8_t> bytes(buffer.Size());
    buffer.CopyToHost(bytes.data(), bytes.size()).value();
    return bytes;
}

template <class Call> static mtb_status status_of(Call call) {
    try {
        call();
    } catch (const Error &error) {
        CHECK(error && std::strlen(error.what()) > 0 && std::strlen(error.Message()) > 0);
        return error.Status();
    }
    return MTB_OK;
}

// Every storage mode, odd offsets and lengths, from small to several pages.
static void copies(const Device &device) {
    for (auto mode : {MTB_STORAGE_SHARED, MTB_STORAGE_MANAGED, MTB_STORAGE_PRIVATE}) {
        for (size_t length : {size_t(1), size_t(5), size_t(4099), size_t(300000)}) {
            MetalBuffer buffer = MetalBuffer::Create(device, length + 7, mode).value();
            CHECK(buffer.Size() == length + 7 && buffer.IsShared() == (mode == MTB_STORAGE_SHARED));
            std::vector<uint8_t> model(length + 7);
            MetalMemoryUtils::ZeroBuffer(buffer).value();
            CHECK(contents(buffer) == model);
            const auto bytes = pattern(length, 3);
            buffer.CopyFromHost(bytes.data(), length, 5).value();
            std::copy(bytes.begin(), bytes.end(), model.begin() + 5);
            CHECK(contents(buffer) == model);
            std::vector<uint8_t> part(length);
            buffer.CopyToHost(part.data(), length, 5).value();
            CHECK(part == bytes);

            MetalBuffer other = MetalBuffer::Create(device, length + 7, false).value();
            MetalMemoryUtils::CopyBuffer(other, buffer).value();
            CHECK(contents(other) == model);
            MetalMemoryUtils::CopyBuffer(other, 1, buffer, 5, length).value();
            std::copy(bytes.begin(), bytes.end(), model.begin() + 1);
            MetalMemoryUtils::ZeroBuffer(other, 2, length).value();
            std::fill_n(model.begin() + 2, length, uint8_t(0));
            CHECK(contents(other) == model);
        }
    }
}

static uint64_t buffers_in_use(const Device &device) {
    mtb_memory_statistics statistics;
    mtb_memory_get_statistics(device.Memory(), &statistics);
    return statistics.buffers.objects_in_use;
}

static void ownership(const Device &device) {
    MetalBuffer buffer = MetalBuffer::Create(device, 16).value();
    const auto bytes = pattern(16, 1);
    buffer.CopyFromHost(bytes.data(), 16).value();
    MetalBuffer moved = std::move(buffer);
    CHECK(!buffer && buffer.Size() == 0 && !buffer.IsShared() && contents(moved) == bytes);
    CHECK(status_of([&] { buffer.CopyFromHost(bytes.data(), 16).value(); }) == MTB_INVALID_ARGUMENT);
    buffer = std::move(moved);
    MetalBuffer &itself = buffer;
    buffer = std::move(itself);
    CHECK(buffer && !moved && contents(buffer) == bytes);

    // A stream's work outlives all handles to what it uses.
    std::vector<uint8_t> back(16);
    Pending last;
    {
        Stream stream = Stream::Create(device).value();
        MetalBuffer source = MetalBuffer::Create(device, 16, false).value();
        stream.CopyFromHost(source, 0, bytes.data(), 16).value();
        last = stream.CopyToHost(source, 0, back.data(), 16).value();
    }
    last.Wait().value();
    CHECK(last.IsCompleted() && back == bytes);

    const uint64_t before = buffers_in_use(device);
    {
        MetalBuffer first = MetalBuffer::Create(device, 16).value(), second = MetalBuffer::Create(device, 16).value();
        CHECK(buffers_in_use(device) == before + 2);
        first = std::move(second);
        CHECK(buffers_in_use(device) == before + 1);
    }
    CHECK(buffers_in_use(device) == before);
}

static void errors(const Device &device) {
    MetalBuffer buffer = MetalBuffer::Create(device, 100, false).value();
    const auto before = pattern(100, 9);
    buffer.CopyFromHost(before.data(), 100).value();
    std::vector<uint8_t> bytes(200);
    CHECK(status_of([&] { buffer.CopyFromHost(bytes.data(), 101).value(); }) == MTB_OUT_OF_RANGE);
    CHECK(status_of([&] { buffer.CopyFromHost(bytes.data(), 1, 100).value(); }) == MTB_OUT_OF_RANGE);
    CHECK(status_of([&] { buffer.CopyToHost(bytes.data(), 2, SIZE_MAX).value(); }) == MTB_OUT_OF_RANGE);
    CHECK(status_of([&] { buffer.CopyFromHost(nullptr, 1).value(); }) == MTB_INVALID_ARGUMENT);
    CHECK(status_of([&] { MetalMemoryUtils::CopyBuffer(buffer, 0, buffer, 5, 10).value(); }) == MTB_INVALID_ARGUMENT);
    CHECK(status_of([&] { MetalMemoryUtils::ZeroBuffer(buffer, 50, 51).value(); }) == MTB_OUT_OF_RANGE);
    CHECK(status_of([&] { MetalBuffer::Create(device, 0).value(); }) == MTB_INVALID_ARGUMENT);
    CHECK(status_of([&] { MetalBuffer::Create(Device(), 1).value(); }) == MTB_INVALID_ARGUMENT);
    CHECK(status_of([&] { Device::At(Device::Count()).value(); }) == MTB_NO_DEVICE);
    CHECK(status_of([&] { Stream().Synchronize().value(); }) == MTB_INVALID_ARGUMENT);
    CHECK(status_of([&] { Pending().Wait().value(); }) == MTB_INVALID_ARGUMENT);
    CHECK(contents(buffer) == before);

    // An error outlives the call, in any number of copies.
    Error first;
    CHECK(!first && (first = buffer.CopyFromHost(bytes.data(), 101).error()));
    const Error second = first;
    CHECK(!(first = buffer.CopyFromHost(before.data(), 100).error()) && first.Status() == MTB_OK);
    CHECK(second.Status() == MTB_OUT_OF_RANGE && std::strstr(second.what(), "mtb_transfer_copy"));
}

static void streams(const Device &device) {
    Stream stream = Stream::Create(device).value();
    MetalBuffer buffer = MetalBuffer::Create(device, 64, false).value();
    const auto bytes = pattern(64, 1);
    Batch batch = stream.Begin().value();
    batch.FillBuffer(buffer, 0, 64, 7).value();
    batch.CopyFromHost(buffer, 3, bytes.data(), 30, HostMemory::Borrowed).value();
    std::vector<uint8_t> model(64, 7), back(64);
    std::copy_n(bytes.begin(), 30, model.begin() + 3);
    batch.CopyToHost(buffer, 0, back.data(), 64).value();
    batch.Run().value();
    CHECK(back == model);
    batch.FillBuffer(buffer, 0, 1, 9).value();
    model[0] = 9;
    std::atomic<int> calls{0};
    Pending filled = batch.Commit().value();
    Pending called = stream.CallHostFunction([&] { calls++; }).value();
    Pending thrown = stream
                         .CallHostFunction([&] {
                             calls++;
                             throw std::runtime_error("expected: the test's function throws");
                         })
                         .value();
    stream.CopyToHost(buffer, 0, back.data(), 64).value();
    stream.Synchronize().value();
    filled.Wait().value();
    called.Wait().value();
    thrown.Wait().value();
    CHECK(calls == 2 && back == model);
}

int main() {
    Device device = Device::Default().value();
    CHECK(device && std::strlen(device.Name()) > 0);
    copies(device);
    ownership(device);
    errors(device);
    streams(device);
    CHECK(device.Statistics().find("host to private") != std::string::npos);
    std::puts("C++ with exceptions: fine");
}
