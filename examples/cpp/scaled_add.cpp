// A kernel on memory that the GPU has alone, with metal_bridge.hpp: numbers go up, are worked on and come back, in the
// order of a stream; the program waits once, at the end.
#include "metal_bridge.hpp"

#include <cstdio>
#include <vector>

using namespace metal_bridge;

static const char source[] = R"(
#include <metal_stdlib>
using namespace metal;
kernel void scaled_add(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                       constant float &scale [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    y[i] += scale * x[i];
}
)";

static int run() {
    Device device = Device::Default().value();
    const Kernel kernel = Kernel::Create(Library::FromSource(device, source).value(), "scaled_add").value();

    constexpr size_t Count = 10000;
    std::vector<float> x(Count), y(Count, 1), results(Count);
    for (size_t i = 0; i < Count; i++) x[i] = float(i);

    // Scratch memory, which the next round would find again; and weights that stay resident.
    Arena arena = Arena::Create(device, false).value();
    MetalBuffer sums = arena.Allocate(Count * sizeof(float)).value();
    MetalBuffer weights = MetalBuffer::Create(device, Count * sizeof(float), false).value();
    Stream stream = Stream::Create(device).value();
    ResidencySet resident;
    if (device.SupportsResidencySets()) {
        resident = ResidencySet::Create(device).value();
        resident.Add(weights).value();
        resident.Commit().value();
        resident.Request(std::chrono::seconds(10)).value();
        stream.AddResidencySet(resident).value();
    }

    // Two uploads are one command buffer; two dispatches are another.
    Batch uploads = stream.Begin().value();
    uploads.CopyFromHost(weights, 0, x.data(), weights.Size()).value();
    uploads.CopyFromHost(sums, 0, y.data(), sums.Size()).value();
    uploads.Commit().value();
    const Grid grid = Grid::Threads(Size(Count), Size(kernel.ThreadExecutionWidth()));
    Compute compute = stream.BeginCompute().value();
    compute.Dispatch(kernel, grid, {weights, sums, Argument::Value(2.0f)}).value();
    compute.Dispatch(kernel, grid, {weights, sums, Argument::Value(0.5f)}).value();
    compute.Commit().value();
    Pending download = stream.CopyToHost(sums, 0, results.data(), sums.Size()).value();

    download.Wait().value();
    if (resident) stream.RemoveResidencySet(resident).value();
    size_t wrong = 0;
    for (size_t i = 0; i < Count; i++) wrong += results[i] != 1 + 2.5f * x[i];
    std::printf("%s: 1 + 2.5 * %g = %g\n%s", device.Name(), double(x.back()), double(results.back()),
                device.Statistics().c_str());
    return wrong ? 1 : 0;
}

int main() {
    try {
        return run();
    } catch (const Error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
