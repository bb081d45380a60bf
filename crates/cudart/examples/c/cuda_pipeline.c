/* A pipeline of two streams with CUDA's runtime API on Metal: while one stream computes on its part of the data, the
 * other one copies its part to the device or back. Only the kernel is Metal's. */
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

enum {
    COUNT = 1 << 16,
    PART = 1 << 12,
    STREAMS = 2,
    THREADS = 256
};

static const char source[] = "#include <metal_stdlib>\n"
                             "using namespace metal;\n"
                             "kernel void saxpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],\n"
                             "                  constant float &a [[buffer(2)]], constant uint &count [[buffer(3)]],\n"
                             "                  uint i [[thread_position_in_grid]])\n"
                             "{\n"
                             "    if (i < count)\n"
                             "        y[i] += a * x[i];\n"
                             "}\n";

/* Ends the program if a call made an error. */
static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    const char *message = cudaMetalGetLastErrorMessage();
    fprintf(stderr, "%s: %s%s%s\n", what, cudaGetErrorString(error), message ? ": " : "", message ? message : "");
    exit(EXIT_FAILURE);
}
#define CHECK(call) check(call, #call)

int main(void) {
    cudaMetalModule_t module;
    cudaMetalFunction_t saxpy;
    CHECK(cudaMetalRegisterSource(&module, source));
    CHECK(cudaMetalGetFunction(&saxpy, module, "saxpy"));

    /* Copies of pinned memory run in stream order, and leave the CPU free. */
    float *x, *y;
    CHECK(cudaMallocHost((void **)&x, COUNT * sizeof *x));
    CHECK(cudaMallocHost((void **)&y, COUNT * sizeof *y));
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }

    cudaStream_t streams[STREAMS];
    float *device_x[STREAMS], *device_y[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        CHECK(cudaMalloc((void **)&device_x[s], PART * sizeof(float)));
        CHECK(cudaMalloc((void **)&device_y[s], PART * sizeof(float)));
    }
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start, streams[0]));

    for (int at = 0, s = 0; at < COUNT; at += PART, s = (s + 1) % STREAMS) {
        size_t bytes = PART * sizeof(float);
        CHECK(cudaMemcpyAsync(device_x[s], x + at, bytes, cudaMemcpyHostToDevice, streams[s]));
        CHECK(cudaMemcpyAsync(device_y[s], y + at, bytes, cudaMemcpyHostToDevice, streams[s]));
        float a = 2;
        unsigned count = PART;
        void *arguments[] = {&device_x[s], &device_y[s], &a, &count};
        dim3 blocks = {(PART + THREADS - 1) / THREADS, 1, 1}, threads = {THREADS, 1, 1};
        CHECK(cudaLaunchKernel(saxpy, blocks, threads, arguments, 0, streams[s]));
        CHECK(cudaMemcpyAsync(y + at, device_y[s], bytes, cudaMemcpyDeviceToHost, streams[s]));
    }

    /* The first stream waits for the second, so its end is the end of both. */
    cudaEvent_t other;
    CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    CHECK(cudaEventRecord(other, streams[1]));
    CHECK(cudaStreamWaitEvent(streams[0], other, 0));
    CHECK(cudaEventRecord(stop, streams[0]));
    CHECK(cudaEventSynchronize(stop));

    for (int i = 0; i < COUNT; i++) {
        if (y[i] != 2 * (float)i + 1) {
            fprintf(stderr, "y[%d] is %f\n", i, (double)y[i]);
            return EXIT_FAILURE;
        }
    }
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    printf("%d elements in parts of %d over %d streams: %.2f ms\n", COUNT, PART, STREAMS, (double)ms);

    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaFree(device_x[s]));
        CHECK(cudaFree(device_y[s]));
        CHECK(cudaStreamDestroy(streams[s]));
    }
    CHECK(cudaFreeHost(x));
    CHECK(cudaFreeHost(y));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaEventDestroy(other));
    CHECK(cudaMetalUnregisterSource(module));
    return EXIT_SUCCESS;
}
