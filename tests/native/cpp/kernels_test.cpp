// Kernels in metal_bridge.hpp: sources, constants, arguments, and private buffers that they work on.
#include "check.hpp"
#include "metal_bridge.hpp"

#include <cstring>
#include <numeric>
#include <vector>

using namespace metal_bridge;

static const char source[] = R"(
#include <metal_stdlib>
using namespace metal;
constant int increase [[function_constant(0)]];
constant bool is_negated [[function_constant(1)]];
struct line { float slope; float offset; };
kernel void advance(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    values[i] = (is_negated ? -values[i] : values[i]) + increase;
}
kernel void on_line(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant line &l [[buffer(2)]],
                    uint i [[thread_position_in_grid]])
{
    y[i] = l.slope * x[i] + l.offset;
}
kernel void sums(device const int *values [[buffer(0)]], device int *out [[buffer(1)]],
                 threadgroup int *part [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                 uint t [[thread_index_in_threadgroup]],
                 uint group [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]])
{
    part[t] = values[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) {
        out[group] = 0;
        for (uint k = 0; k < n; k++)
            out[group] += part[k];
    }
}
)";

struct Line {
    float slope, offset;
};

constexpr size_t Count = 1000;

static void dispatches(const Device &device, const Library &library) {
    const Kernel on_line = Kernel::Create(library, "on_line").value();
    CHECK(!std::strcmp(on_line.Name(), "on_line") && on_line.ThreadExecutionWidth() > 0);
    CHECK(on_line.MaxThreadsPerThreadgroup() >= on_line.ThreadExecutionWidth());
    std::vector<float> values(2 * Count), results(Count);
    std::iota(values.begin(), values.end(), 0.0f);
    MetalBuffer x = MetalBuffer::Create(device, values.size() * sizeof(float), false).value();
    MetalBuffer y = MetalBuffer::Create(device, results.size() * sizeof(float), false).value();
    const Stream stream = Stream::Create(device).value();
    const Grid grid = Grid::Threads(Size(Count), Size(on_line.ThreadExecutionWidth()));
    // A copy to the device, a kernel that reads from the middle on, and a copy back, without a wait in between.
    stream.CopyFromHost(x, 0, values.data(), x.Size()).value();
    stream.Dispatch(on_line, grid, {{x, Count * sizeof(float)}, y, Argument::Value(Line{2, 1})}).value();
    Pending done = stream.CopyToHost(y, 0, results.data(), y.Size()).value();
    done.Wait().value();
    CHECK(done.Times().gpu_end > 0);
    for (size_t i = 0; i < Count; i++) CHECK(results[i] == 2 * float(Count + i) + 1);
}

static void passes(const Device &device, const Library &library) {
    const Kernel advance = Kernel::Create(library, "advance", {{0, int32_t(3)}, {1, true}}).value();
    const int32_t five = 5;
    const Kernel other =
        Kernel::Create(library, "advance", {Constant::Of(0, MTB_TYPE_INT, &five, sizeof five), {1, false}}).value();
    const Kernel sums = Kernel::Create(library, "sums").value();
    std::vector<int32_t> values(64), results(4);
    std::iota(values.begin(), values.end(), 0);
    MetalBuffer numbers = MetalBuffer::Create(device, 64 * sizeof(int32_t), false).value(),
                out = MetalBuffer::Create(device, 16).value();
    numbers.CopyFromHost(values.data(), numbers.Size()).value();
    // On the device's default stream, whose order the buffers' own copies keep.
    const Stream stream = Stream::Default(device);
    const Grid threads = Grid::Threads(Size(64), Size(32));
    Compute compute = stream.BeginCompute().value();
    compute.Dispatch(advance, threads, {numbers}).value();
    compute.Dispatch(other, threads, {numbers}).value();
    compute
        .Dispatch(sums, Grid::Threadgroups(Size(4), Size(16)),
                  {numbers, out, Argument::ThreadgroupMemory(16 * sizeof(int32_t))})
        .value();
    Pending done = compute.Commit().value();
    out.CopyToHost(results.data(), out.Size()).value();
    for (int group = 0; group < 4; group++) {
        int sum = 0;
        for (int i = group * 16; i < group * 16 + 16; i++) sum += -i + 3 + 5;
        CHECK(results[size_t(group)] == sum);
    }
    done.Wait().value();
    CHECK(!compute && compute.Commit().error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(compute.Dispatch(advance, threads, {numbers}).error().Status() == MTB_INVALID_ARGUMENT);
    // What is not committed does not run.
    compute = stream.BeginCompute().value();
    compute.Dispatch(other, threads, {numbers}).value();
    compute = Compute();
    numbers.CopyToHost(values.data(), numbers.Size()).value();
    CHECK(values[0] == 8 && values[63] == -63 + 8);
}

static void errors(const Device &device, const Library &library) {
    const Error error = Library::FromSource(device, "kernel void broken(").error();
    CHECK(error.Status() == MTB_COMPILE_FAILED && std::strlen(error.Message()) > 0);
    CHECK(Library::FromSource(Device(), source).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(Library::FromSource(device, {}).value().FunctionCount() == 0);
    CHECK(Library::FromFile(device, "/no such/file.metallib").error().Status() == MTB_NOT_FOUND);
    CHECK(Kernel::Create(library, "missing").error().Status() == MTB_NOT_FOUND);
    CHECK(Kernel::Create(Library(), "advance").error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(!Kernel::Create(library, "advance"));
    CHECK(!Kernel().Name() && Kernel().MaxThreadsPerThreadgroup() == 0 && !Library().FunctionName(0));

    const Kernel on_line = Kernel::Create(library, "on_line").value();
    const Stream stream = Stream::Create(device).value();
    MetalBuffer buffer = MetalBuffer::Create(device, 64).value();
    const Grid grid = Grid::Threads(Size(1), Size(1));
    CHECK(stream.Dispatch(on_line, grid, {buffer, buffer}).error().Status() == MTB_MISSING_ARGUMENT);
    CHECK(stream.Dispatch(on_line, grid, {{buffer, 65}}).error().Status() == MTB_OUT_OF_RANGE);
    CHECK(stream.Dispatch(on_line, grid, {MetalBuffer()}).error().Status() == MTB_INVALID_ARGUMENT);
    CHECK(stream.Dispatch(Kernel(), grid, {}).error().Status() == MTB_INVALID_ARGUMENT);
    const Grid nothing = Grid::Threads(Size(1), Size(0));
    CHECK(stream.Dispatch(on_line, nothing, {buffer, buffer, Argument::Value(Line{})}));
    const Argument large = Argument::Bytes(source, MTB_MAX_INLINE_BYTES + 1);
    CHECK(stream.Dispatch(on_line, grid, {large}).error().Status() == MTB_OUT_OF_RANGE);
    CHECK(stream.Dispatch(on_line, grid, {Argument::ThreadgroupMemory(17)}).error().Status() == MTB_MISALIGNED);
    CHECK(Stream().BeginCompute().error().Status() == MTB_INVALID_ARGUMENT);
    try {
        stream.Dispatch(on_line, grid, {}).value();
        CHECK(!"nothing was bound");
    } catch (const Error &missing) {
        CHECK(missing.Status() == MTB_MISSING_ARGUMENT);
    }
}

int main() {
    Device device = Device::Default().value();
    CompileOptions options{};
    options.math_mode = MTB_MATH_SAFE;
    const Library library = Library::FromSource(device, source, options).value();
    CHECK(library.FunctionCount() == 3 && library.FunctionName(2) && !library.FunctionName(3));
    dispatches(device, library);
    passes(device, library);
    errors(device, library);
    std::puts("C++ kernels: fine");
}
