/* CUDA's runtime API on Metal, with what C++ has beside C. */
#ifndef METAL_CUDA_RUNTIME_H
#define METAL_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus

/* Pointers of any type, without a cast. */
template <class T> inline cudaError_t cudaMalloc(T **devPtr, size_t size) {
    return cudaMalloc(reinterpret_cast<void **>(devPtr), size);
}

template <class T> inline cudaError_t cudaMallocAsync(T **devPtr, size_t size, cudaStream_t stream) {
    return cudaMallocAsync(reinterpret_cast<void **>(devPtr), size, stream);
}

template <class T> inline cudaError_t cudaMallocPitch(T **devPtr, size_t *pitch, size_t width, size_t height) {
    return cudaMallocPitch(reinterpret_cast<void **>(devPtr), pitch, width, height);
}

template <class T>
inline cudaError_t cudaMallocManaged(T **devPtr, size_t size, unsigned int flags = cudaMemAttachGlobal) {
    return cudaMallocManaged(reinterpret_cast<void **>(devPtr), size, flags);
}

template <class T> inline cudaError_t cudaHostAlloc(T **ptr, size_t size, unsigned int flags) {
    return cudaHostAlloc(reinterpret_cast<void **>(ptr), size, flags);
}

template <class T> inline cudaError_t cudaMallocHost(T **ptr, size_t size, unsigned int flags = cudaHostAllocDefault) {
    return cudaHostAlloc(reinterpret_cast<void **>(ptr), size, flags);
}

template <class T> inline cudaError_t cudaHostGetDevicePointer(T **pDevice, void *pHost, unsigned int flags) {
    return cudaHostGetDevicePointer(reinterpret_cast<void **>(pDevice), pHost, flags);
}

template <class T>
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *devPtr, size_t length = 0,
                                            unsigned int flags = cudaMemAttachSingle) {
    return cudaStreamAttachMemAsync(stream, static_cast<void *>(devPtr), length, flags);
}

inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags) {
    return cudaEventCreateWithFlags(event, flags);
}

/* Functions of <cuda_metal.h>, without a cast. */
inline cudaError_t cudaLaunchKernel(cudaMetalFunction_t func, dim3 gridDim, dim3 blockDim, void **args,
                                    size_t sharedMem = 0, cudaStream_t stream = 0) {
    return cudaLaunchKernel(static_cast<const void *>(func), gridDim, blockDim, args, sharedMem, stream);
}

#endif
#endif
