// What programs for CUDA typically do, each in a few lines: arrays on host and device, pitched images, managed memory,
// mapped memory, the CPU busy while the device works, streams with callbacks, bandwidth measured with events.
#include "check.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#define CUDA(call) (check_call((call), #call, __LINE__))

static void check_call(cudaError_t code, const char *call, int line) {
    if (code == cudaSuccess) return;
    fprintf(stderr, "line %d: %s: %s (%s)\n", line, call, cudaGetErrorName(code), cudaGetErrorString(code));
    exit(EXIT_FAILURE);
}

static const char source[] = R"(
#include <metal_stdlib>
using namespace metal;
kernel void add(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]], device float *c [[buffer(2)]],
                constant int &count [[buffer(3)]], uint block [[threadgroup_position_in_grid]],
                uint width [[threads_per_threadgroup]], uint thread_number [[thread_position_in_threadgroup]])
{
    int i = int(block * width + thread_number);
    if (i < count)
        c[i] = a[i] + b[i];
}
kernel void increment(device int *values [[buffer(0)]], constant int &by [[buffer(1)]],
                      uint i [[thread_position_in_grid]])
{
    values[i] += by;
}
kernel void brighten(device uchar *image [[buffer(0)]], constant ulong &pitch [[buffer(1)]],
                     uint2 at [[thread_position_in_grid]])
{
    image[at.y * pitch + at.x] += 10;
}
)";

static cudaMetalModule_t module;

static cudaMetalFunction_t kernel(const char *name) {
    cudaMetalFunction_t function;
    CUDA(cudaMetalGetFunction(&function, module, name));
    return function;
}

template <class T> struct device_delete {
    void operator()(T *pointer) const { CUDA(cudaFree(pointer)); }
};
template <class T> using device_array = std::unique_ptr<T[], device_delete<T>>;

template <class T> static device_array<T> make_device_array(size_t count) {
    T *pointer;
    CUDA(cudaMalloc(&pointer, count * sizeof(T)));
    return device_array<T>(pointer);
}

static void vector_add() {
    const int count = 50000;
    std::vector<float> a(count), b(count), c(count);
    for (int i = 0; i < count; i++) {
        a[i] = float(i);
        b[i] = 2.0f * float(i);
    }
    auto d_a = make_device_array<float>(count), d_b = make_device_array<float>(count);
    auto d_c = make_device_array<float>(count);
    CUDA(cudaMemcpy(d_a.get(), a.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(d_b.get(), b.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    float *p_a = d_a.get(), *p_b = d_b.get(), *p_c = d_c.get();
    int length = count;
    void *arguments[] = {&p_a, &p_b, &p_c, &length};
    const int threads = 256;
    CUDA(cudaLaunchKernel(kernel("add"), (count + threads - 1) / threads, threads, arguments));
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(c.data(), d_c.get(), count * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) CHECK(std::fabs(a[i] + b[i] - c[i]) <= 1e-5f);
}

/* The CPU asks while the device copies, computes, and copies back. */
static void busy_cpu() {
    const int count = 1 << 18;
    const size_t bytes = count * sizeof(int);
    int *host, *device, by = 26;
    CUDA(cudaMallocHost(&host, bytes));
    memset(host, 0, bytes);
    CUDA(cudaMalloc(&device, bytes));
    CUDA(cudaMemset(device, 255, bytes));
    cudaEvent_t start, stop;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaProfilerStart());
    void *arguments[] = {&device, &by};
    CUDA(cudaEventRecord(start, 0));
    CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, 0));
    CUDA(cudaLaunchKernel(kernel("increment"), count / 512, 512, arguments, 0, 0));
    CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, 0));
    CUDA(cudaEventRecord(stop, 0));
    CUDA(cudaProfilerStop());
    cudaError_t answer;
    while ((answer = cudaEventQuery(stop)) == cudaErrorNotReady) CHECK(cudaPeekAtLastError() == cudaSuccess);
    CUDA(answer);
    float ms;
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    CHECK(ms >= 0.0f);
    for (int i = 0; i < count; i++) CHECK(host[i] == 26);
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(stop));
    CUDA(cudaFreeHost(host));
    CUDA(cudaFree(device));
}

struct workload {
    int number;
    std::vector<int> data;
    int *device;
    bool done;
};

static void CUDART_CB finished(cudaStream_t, cudaError_t status, void *data) {
    CHECK(status == cudaSuccess);
    static_cast<workload *>(data)->done = true;
}

/* Several streams, pageable and registered memory, a callback at the end of each. */
static void callbacks() {
    const int streams = 4, count = 8192;
    CUDA(cudaSetDeviceFlags(cudaDeviceBlockingSync));
    std::vector<workload> workloads(streams);
    std::vector<cudaStream_t> stream(streams);
    for (int i = 0; i < streams; i++) {
        workload &w = workloads[i];
        w = {i, std::vector<int>(count, i), nullptr, false};
        CUDA(cudaStreamCreateWithFlags(&stream[i], i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        CUDA(cudaHostRegister(w.data.data(), count * sizeof(int), cudaHostRegisterPortable));
        CUDA(cudaMallocAsync(&w.device, count * sizeof(int), stream[i]));
        CUDA(cudaMemcpyAsync(w.device, w.data.data(), count * sizeof(int), cudaMemcpyHostToDevice, stream[i]));
        int by = 100 * i;
        void *arguments[] = {&w.device, &by};
        CUDA(cudaLaunchKernel(kernel("increment"), count / 128, 128, arguments, 0, stream[i]));
        CUDA(cudaMemcpyAsync(w.data.data(), w.device, count * sizeof(int), cudaMemcpyDeviceToHost, stream[i]));
        CUDA(cudaFreeAsync(w.device, stream[i]));
        CUDA(cudaStreamAddCallback(stream[i], finished, &w, 0));
    }
    for (int i = 0; i < streams; i++) {
        CUDA(cudaStreamSynchronize(stream[i]));
        CHECK(workloads[i].done && workloads[i].data == std::vector<int>(count, 101 * i));
        CUDA(cudaHostUnregister(workloads[i].data.data()));
        CUDA(cudaStreamDestroy(stream[i]));
    }
}

static void image() {
    const size_t width = 300, height = 200;
    std::vector<unsigned char> picture(width * height);
    std::iota(picture.begin(), picture.end(), 0);
    std::vector<unsigned char> result(picture.size());
    unsigned char *device;
    size_t pitch;
    CUDA(cudaMallocPitch(&device, &pitch, width, height));
    CUDA(cudaMemset2D(device, pitch, 0, width, height));
    CUDA(cudaMemcpy2D(device, pitch, picture.data(), width, width, height, cudaMemcpyHostToDevice));
    unsigned long long bytes = pitch;
    void *arguments[] = {&device, &bytes};
    CUDA(cudaLaunchKernel(kernel("brighten"), dim3(width / 20, height / 20), dim3(20, 20), arguments));
    CUDA(cudaMemcpy2D(result.data(), width, device, pitch, width, height, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < picture.size(); i++) CHECK(result[i] == static_cast<unsigned char>(picture[i] + 10));
    CUDA(cudaFree(device));
}

/* An allocator makes any container one that CPU and device share. */
template <class T> struct managed_allocator {
    using value_type = T;
    managed_allocator() = default;
    template <class U> managed_allocator(const managed_allocator<U> &) {}
    T *allocate(size_t count) {
        T *pointer;
        CUDA(cudaMallocManaged(&pointer, count * sizeof(T)));
        return pointer;
    }
    void deallocate(T *pointer, size_t) { CUDA(cudaFree(pointer)); }
    template <class U> bool operator==(const managed_allocator<U> &) const { return true; }
    template <class U> bool operator!=(const managed_allocator<U> &) const { return false; }
};

static void managed() {
    std::vector<int, managed_allocator<int>> values(1000);
    std::iota(values.begin(), values.end(), 0);
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamAttachMemAsync(stream, values.data()));
    int *pointer = values.data() + 10, by = 5;
    void *arguments[] = {&pointer, &by};
    CUDA(cudaLaunchKernel(kernel("increment"), 99, 10, arguments, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < 1000; i++) CHECK(values[i] == (i < 10 ? i : i + 5));
    CUDA(cudaStreamDestroy(stream));
}

static void mapped() {
    int *host, *device, by = 7;
    CUDA(cudaSetDeviceFlags(cudaDeviceMapHost));
    CUDA(cudaHostAlloc(&host, 64 * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined));
    for (int i = 0; i < 64; i++) host[i] = i;
    CUDA(cudaHostGetDevicePointer(&device, host, 0));
    void *arguments[] = {&device, &by};
    CUDA(cudaLaunchKernel(kernel("increment"), 1, 64, arguments));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) CHECK(host[i] == i + 7);
    CUDA(cudaFreeHost(host));
}

static void bandwidth() {
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    CHECK(properties.computeMode != cudaComputeModeProhibited);
    const size_t bytes = 4 << 20;
    void *host, *device;
    CUDA(cudaHostAlloc(&host, bytes, cudaHostAllocDefault));
    CUDA(cudaMalloc(&device, bytes));
    cudaEvent_t start, stop;
    CUDA(cudaEventCreateWithFlags(&start, cudaEventBlockingSync));
    CUDA(cudaEventCreate(&stop, cudaEventBlockingSync));
    CUDA(cudaEventRecord(start));
    for (int i = 0; i < 10; i++) CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaEventRecord(stop));
    CUDA(cudaEventSynchronize(stop));
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    CHECK(ms > 0.0f);
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(stop));
    CUDA(cudaFree(device));
    CUDA(cudaFreeHost(host));
}

int main() {
    int count = 0;
    CUDA(cudaGetDeviceCount(&count));
    CUDA(cudaSetDevice(count - 1));
    CUDA(cudaFree(nullptr));
    CUDA(cudaMetalRegisterSource(&module, source));
    vector_add();
    busy_cpu();
    callbacks();
    image();
    managed();
    mapped();
    bandwidth();
    CUDA(cudaMetalUnregisterSource(module));
    CUDA(cudaDeviceReset());
    return EXIT_SUCCESS;
}
