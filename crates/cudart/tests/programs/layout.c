/* The header's structures are laid out as the library fills them in: every property is the attribute of its number. */
#include "check.h"

#include <cuda_runtime.h>
#include <string.h>

int main(void) {
    struct {
        struct cudaDeviceProp prop;
        unsigned char guard[64];
    } filled;
    memset(&filled, 0xab, sizeof filled);
    OK(cudaGetDeviceProperties(&filled.prop, 0));
    for (size_t i = 0; i < sizeof filled.guard; i++) CHECK(filled.guard[i] == 0xab);
    const struct cudaDeviceProp *p = &filled.prop;
    CHECK(strlen(p->name) > 0 && strlen(p->name) < sizeof p->name);
    const struct {
        enum cudaDeviceAttr attribute;
        long long value;
    } fields[] = {
        {cudaDevAttrMaxThreadsPerBlock, p->maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, p->maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimZ, p->maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, p->maxGridSize[0]},
        {cudaDevAttrMaxSharedMemoryPerBlock, (long long)p->sharedMemPerBlock},
        {cudaDevAttrWarpSize, p->warpSize},
        {cudaDevAttrTextureAlignment, (long long)p->textureAlignment},
        {cudaDevAttrMultiProcessorCount, p->multiProcessorCount},
        {cudaDevAttrIntegrated, p->integrated},
        {cudaDevAttrCanMapHostMemory, p->canMapHostMemory},
        {cudaDevAttrConcurrentKernels, p->concurrentKernels},
        {cudaDevAttrAsyncEngineCount, p->asyncEngineCount},
        {cudaDevAttrUnifiedAddressing, p->unifiedAddressing},
        {cudaDevAttrComputeCapabilityMajor, p->major},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (long long)p->sharedMemPerMultiprocessor},
        {cudaDevAttrManagedMemory, p->managedMemory},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, (long long)p->sharedMemPerBlockOptin},
        {cudaDevAttrHostRegisterSupported, p->hostRegisterSupported},
        {cudaDevAttrMemoryPoolsSupported, p->memoryPoolsSupported},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        int value = -1;
        OK(cudaDeviceGetAttribute(&value, fields[i].attribute, 0));
        CHECK(value == fields[i].value);
    }
    CHECK(cudaDeviceGetAttribute(&(int){0}, (enum cudaDeviceAttr)9999, 0) == cudaErrorInvalidValue);

    char *pinned;
    OK(cudaMallocHost((void **)&pinned, 4096));
    struct cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, pinned + 100));
    CHECK(attributes.type == cudaMemoryTypeHost && attributes.device == 0);
    CHECK(attributes.devicePointer == pinned + 100 && attributes.hostPointer == pinned + 100);
    OK(cudaFreeHost(pinned));

    CHECK(strcmp(cudaGetErrorName(cudaErrorInvalidClusterSize), "cudaErrorInvalidClusterSize") == 0);
    CHECK(strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorNotReady), "device not ready") == 0);
    int version;
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version == CUDART_VERSION);
    return EXIT_SUCCESS;
}
