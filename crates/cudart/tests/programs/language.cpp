// What C++ has beside C: pointers of any type, default arguments, the constructor of dim3, destructors at the end; and
// what it may throw.
#include "check.h"

#include <cuda_runtime.h>
#include <stdexcept>
#include <vector>

static const char source[] = R"(
#include <metal_stdlib>
using namespace metal;
struct Shape { uint rows; uint columns; };
kernel void transpose(device const int *from [[buffer(0)]], device int *to [[buffer(1)]],
                      constant Shape &shape [[buffer(2)]], threadgroup int *tile [[threadgroup(0)]],
                      uint2 group [[threadgroup_position_in_grid]], uint2 in_group [[thread_position_in_threadgroup]])
{
    uint2 read = group * 8 + in_group;
    if (read.x < shape.columns && read.y < shape.rows)
        tile[in_group.y * 8 + in_group.x] = from[read.y * shape.columns + read.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint2 written = group.yx * 8 + in_group;
    if (written.x < shape.rows && written.y < shape.columns)
        to[written.y * shape.rows + written.x] = tile[in_group.x * 8 + in_group.y];
}
)";

struct Shape {
    unsigned rows, columns;
};

static void transpose() {
    cudaMetalModule_t module;
    cudaMetalFunction_t function;
    OK(cudaMetalRegisterSource(&module, source));
    OK(cudaMetalGetFunction(&function, module, "transpose"));
    const Shape shape = {50, 37};
    const size_t count = shape.rows * shape.columns;
    int *from, *to;
    OK(cudaMallocManaged(&from, count * sizeof *from));
    OK(cudaMalloc(&to, count * sizeof *to));
    for (size_t i = 0; i < count; i++) from[i] = int(i);
    Shape argument = shape;
    void *arguments[] = {&from, &to, &argument};
    dim3 grid((shape.columns + 7) / 8, (shape.rows + 7) / 8), block(8, 8);
    OK(cudaLaunchKernel(function, grid, block, arguments, 64 * sizeof(int)));
    std::vector<int> result(count);
    OK(cudaMemcpy(result.data(), to, count * sizeof *to, cudaMemcpyDeviceToHost));
    for (unsigned row = 0; row < shape.rows; row++)
        for (unsigned column = 0; column < shape.columns; column++)
            CHECK(result[column * shape.rows + row] == int(row * shape.columns + column));
    OK(cudaFree(from));
    OK(cudaFree(to));
    OK(cudaMetalUnregisterSource(module));
    CHECK(cudaLaunchKernel(function, grid, block, arguments) == cudaErrorInvalidDeviceFunction);
}

static void exceptions() {
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    int calls = 0;
    for (int i = 0; i < 3; i++) {
        OK(cudaLaunchHostFunc(
            stream,
            [](void *calls) {
                ++*static_cast<int *>(calls);
                throw std::runtime_error("thrown by a host function");
            },
            &calls));
        OK(cudaStreamAddCallback(
            stream,
            [](cudaStream_t, cudaError_t status, void *calls) {
                *static_cast<int *>(calls) += status == cudaSuccess;
                throw 5;
            },
            &calls, 0));
    }
    OK(cudaStreamSynchronize(stream));
    CHECK(calls == 6);
    OK(cudaStreamDestroy(stream));
}

// C++ destructors at the end of a program call the runtime too, when the library's own thread-local values are gone.
static struct Global {
    int *memory = nullptr;
    ~Global() {
        OK(cudaFree(memory));
        CHECK(cudaFree(memory) == cudaErrorInvalidValue);
        CHECK(cudaGetLastError() == cudaErrorInvalidValue);
        CHECK(cudaMetalGetLastErrorMessage() == nullptr);
        CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaErrorCudartUnloading);
        OK(cudaStreamSynchronize(cudaStreamLegacy));
    }
} global;

int main() {
    OK(cudaMalloc(&global.memory, 64));
    // The library has thread-local values now, which are destroyed before the global.
    CHECK(cudaFree(global.memory + 1) == cudaErrorInvalidValue);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    transpose();
    exceptions();
    float *pinned, *seen;
    OK(cudaMallocHost(&pinned, 64));
    OK(cudaHostGetDevicePointer(&seen, pinned, 0));
    CHECK(seen == pinned);
    OK(cudaMemsetAsync(pinned, 0, 64));
    cudaEvent_t event;
    OK(cudaEventCreate(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event));
    OK(cudaStreamWaitEvent(cudaStreamPerThread, event));
    OK(cudaEventSynchronize(event));
    CHECK(pinned[15] == 0.0f);
    OK(cudaEventDestroy(event));
    OK(cudaFreeHost(pinned));
    return EXIT_SUCCESS;
}
