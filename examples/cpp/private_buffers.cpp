// Moves numbers through memory that the GPU has alone, with metal_bridge.hpp.
#include "metal_bridge.hpp"

#include <cstdio>
#include <vector>

using metal_bridge::Device;
using metal_bridge::Error;
using metal_bridge::MetalBuffer;
using metal_bridge::MetalMemoryUtils;
using metal_bridge::Pending;
using metal_bridge::Stream;

static int run() {
    Device device = Device::Default().value();
    const std::vector<float> weights = {1.5f, 2.5f, 3.5f, 4.5f};
    const size_t bytes = weights.size() * sizeof(float);

    // Private memory: the CPU never sees it, so the bytes go by way of staging.
    MetalBuffer buffer = MetalBuffer::Create(device, bytes, false).value();
    buffer.CopyFromHost(weights.data(), bytes).value();

    // A second buffer: zeroes, but for two of the numbers.
    MetalBuffer part = MetalBuffer::Create(device, bytes, false).value();
    MetalMemoryUtils::ZeroBuffer(part).value();
    MetalMemoryUtils::CopyBuffer(part, 0, buffer, 2 * sizeof(float), 2 * sizeof(float)).value();
    std::vector<float> back(weights.size());
    part.CopyToHost(back.data(), bytes).value();
    std::printf("%g %g %g %g\n", double(back[0]), double(back[1]), double(back[2]), double(back[3]));

    // The same without waiting: a stream keeps the order, and this thread is free until it wants the numbers.
    Stream stream = Stream::Create(device).value();
    stream.CopyFromHost(buffer, 0, back.data(), bytes).value();
    stream.FillBuffer(buffer, sizeof(float), sizeof(float), 0).value();
    std::vector<float> last(weights.size());
    Pending download = stream.CopyToHost(buffer, 0, last.data(), bytes).value();
    download.Wait().value();
    std::printf("%g %g %g %g\n", double(last[0]), double(last[1]), double(last[2]), double(last[3]));

    std::printf("%s", device.Statistics().c_str());
    return back == std::vector<float>{3.5f, 4.5f, 0, 0} && last == std::vector<float>{3.5f, 0, 0, 0} ? 0 : 1;
}

int main() {
    try {
        return run();
    } catch (const Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
