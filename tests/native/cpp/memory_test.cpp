// Memory in metal_bridge.hpp: rows, patterns, budgets, arenas, residency, statistics.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <cstring>
#include <numeric>
#include <vector>

using namespace metal_bridge;

static std::vector<uint8_t> contents(const MetalBuffer &buffer) {
    std::vector<uint8_t> bytes(buffer.Size());
    buffer.CopyToHost(bytes.data(), bytes.size()).value();
    return bytes;
}

// Rows to the device, between buffers and back, by streams and by batches, against a model.
static void rows(const Device &device) {
    constexpr size_t Pitch = 40, Rows = 20, Width = 11;
    const Stream stream = Stream::Default(device);
    MetalBuffer first = MetalBuffer::Create(device, Pitch * Rows, false).value(),
                second = MetalBuffer::Create(device, Pitch * Rows).value();
    stream.FillBuffer(first, 0, first.Size(), 1).value();
    stream.FillBuffer(second, 0, second.Size(), 2).value();
    std::vector<uint8_t> in(Width * Rows), out(Rows * 13, 9), last(out);
    std::vector<uint8_t> model(Pitch * Rows, 1), other(Pitch * Rows, 2);
    std::iota(in.begin(), in.end(), uint8_t(5));

    stream.CopyFromHost2D(first, {3, Pitch, Width, Rows}, in.data(), Width).value();
    stream.CopyBuffer2D(second, {7, Pitch - 1, Width, Rows}, first, 3, Pitch).value();
    Pending down = stream.CopyToHost2D(second, {7, Pitch - 1, Width, Rows}, out.data(), 13).value();
    for (size_t row = 0; row < Rows; row++) {
        std::memcpy(&model[3 + row * Pitch], &in[row * Width], Width);
        std::memcpy(&other[7 + row * (Pitch - 1)], &in[row * Width], Width);
        std::memcpy(&last[row * 13], &in[row * Width], Width);
    }
    down.Wait().value();
    CHECK(out == last && contents(first) == model && contents(second) == other);

    const uint16_t pattern = 0x0403;
    Batch batch = stream.Begin().value();
    batch.FillPattern(first, {2, Pitch, 6, Rows}, &pattern, sizeof pattern).value();
    batch.CopyBuffer2D(second, {0, Pitch, 6, Rows}, first, 2, Pitch).value();
    batch.CopyToHost2D(second, {0, Pitch, 6, 2}, out.data(), 6).value();
    batch.CopyFromHost2D(second, {30, Pitch, 1, 2}, in.data(), 1).value();
    batch.Run().value();
    for (size_t i = 0; i < 12; i++) CHECK(out[i] == (i % 2 ? 4 : 3));
    CHECK(contents(second)[30] == in[0] && contents(second)[30 + Pitch] == in[1]);

    CHECK(batch.CopyFromHost2D(first, {0, 5, 6, 2}, in.data(), 6).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(batch.CopyToHost2D(first, {1, Pitch, Pitch, Rows}, out.data(), Pitch).error().Status() == MTB_OUT_OF_RANGE);
    CHECK(batch.CopyBuffer2D(first, {0, Pitch, 4, 3}, first, 1, Pitch).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(batch.FillPattern(first, {0, 0, 3, 1}, &pattern, 3).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(batch.FillPattern(first, {0, 0, SIZE_MAX - 1, 1}, &pattern, 2).error().Status() == MTB_OUT_OF_RANGE);
}

static void budgets() {
    MemoryOptions options{};
    options.budget = options.cache_limit = 1 << 20;
    Device device = Device::Default(options).value();
    CHECK(device.Budget() == 1 << 20);
    CHECK(MetalBuffer::Create(device, 2 << 20, true).error().Status() == MTB_OVER_BUDGET);
    MetalBuffer buffer = MetalBuffer::Create(device, 600 << 10, false).value();
    try {
        MetalBuffer::Create(device, 600 << 10, false).value();
        CHECK(!"it is beyond the budget");
    } catch (const Error &over) {
        CHECK(over.Status() == MTB_OVER_BUDGET && std::strstr(over.Message(), "1048576"));
    }
    CHECK(device.MemoryStatistics().buffers.objects_in_use == 1);
    CHECK(device.Trim() == 0);
    buffer = MetalBuffer();
    CHECK(device.MemoryStatistics().buffers.objects_kept == 1 && device.Trim(std::chrono::hours(1)) == 0);
    CHECK(device.Trim() >= 600 << 10 && device.MemoryStatistics().held == 0);

    const uint8_t byte = 1;
    MetalBuffer::Create(device, 1, false).value().CopyFromHost(&byte, 1).value();
    CHECK(device.MemoryStatistics().transfers[MTB_TRANSFER_HOST_TO_PRIVATE].count == 1);
    device.ResetStatistics();
    CHECK(device.MemoryStatistics().transfers[MTB_TRANSFER_HOST_TO_PRIVATE].count == 0);
    CHECK(Device().Budget() == 0 && Device().Trim() == 0 && !*Device().Name());
}

static void arenas(const Device &device) {
    for (bool shared : {true, false}) {
        Arena arena = Arena::Create(device, shared, 1 << 16, 1 << 17).value();
        MetalBuffer first = arena.Allocate(1000).value(), second = arena.Allocate(1000).value();
        CHECK(first.Size() == 1000 && first.IsShared() == shared && arena.Statistics().objects_in_use == 2);
        CHECK(arena.Statistics().misses == 1 && arena.Statistics().hits == 1);
        const std::vector<uint8_t> bytes(1000, 77);
        first.CopyFromHost(bytes.data(), 1000).value();
        MetalMemoryUtils::CopyBuffer(second, first).value();
        CHECK(contents(second) == bytes);
        CHECK(arena.Allocate(1 << 18).error().Status() == MTB_OVER_BUDGET);
        CHECK(arena.Allocate(0).error().Status() == MTB_INVALID_ARGUMENT);
        CHECK(arena.Trim() == 0);
        first = MetalBuffer();
        second = MetalBuffer();
        CHECK(arena.Trim() == 1 << 16 && arena.Statistics().objects_in_use == 0);
        // Its buffers outlive it.
        first = arena.Allocate(10).value();
        arena = Arena();
        MetalMemoryUtils::ZeroBuffer(first).value();
        CHECK(contents(first) == std::vector<uint8_t>(10));
        CHECK(!arena && arena.Allocate(1).error().Status() == MTB_INVALID_ARGUMENT && arena.Trim() == 0);
    }
    CHECK(Arena::Create(Device(), true, 0, 0).error().Status() == MTB_INVALID_ARGUMENT);
}

static void residency(const Device &device) {
    Error error;
    if (!device.SupportsResidencySets()) {
        CHECK(ResidencySet::Create(device).error().Status() == MTB_UNSUPPORTED);
        return;
    }
    MetalBuffer weights = MetalBuffer::Create(device, 1 << 16, false).value(),
                other = MetalBuffer::Create(device, 16).value();
    const Stream stream = Stream::Create(device).value();
    ResidencySet set = ResidencySet::Create(device).value();
    set.Add(weights).value();
    CHECK(set.AllocatedSize() == 0);
    set.Commit().value();
    CHECK(set.AllocatedSize() >= 1 << 16);
    set.Request(Forever).value();
    stream.AddResidencySet(set).value();
    stream.FillBuffer(weights, 0, 16, 1).value().Wait().value();
    stream.RemoveResidencySet(set).value();
    set.End().value();
    CHECK(set.Remove(other).error().Status() == MTB_NOT_FOUND);
    set.Remove(weights).value();
    set.Commit().value();
    CHECK(set.AllocatedSize() == 0);
    CHECK(set.Add(MetalBuffer()).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(stream.AddResidencySet(ResidencySet()).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(ResidencySet().Request(Forever).error().Status() == MTB_INVALID_ARGUMENT);
}

// What the C ABI made is a buffer like others.
static void adopted(const Device &device) {
    static int freed;
    const size_t page = mtb_page_size();
    void *pages = std::aligned_alloc(page, page);
    std::memset(pages, 6, page);
    {
        MetalBuffer wrapped = MetalBuffer::Adopt(device, mtb_buffer_create_no_copy(
                                                             device.Get(), pages, page, MTB_STORAGE_SHARED,
                                                             [](void *bytes, size_t, void *) {
                                                                 freed++;
                                                                 std::free(bytes);
                                                             },
                                                             nullptr, nullptr));
        MetalBuffer hidden = MetalBuffer::Create(device, page, MTB_STORAGE_PRIVATE).value();
        MetalMemoryUtils::CopyBuffer(hidden, wrapped).value();
        CHECK(contents(hidden) == std::vector<uint8_t>(page, 6) && hidden.StorageMode() == MTB_STORAGE_PRIVATE);
        CHECK(freed == 0);
    }
    CHECK(freed == 1 && !MetalBuffer::Adopt(device, nullptr));
}

int main() {
    Device device = Device::Default().value();
    rows(device);
    budgets();
    arenas(device);
    residency(device);
    adopted(device);
    std::puts("C++ memory: fine");
}
