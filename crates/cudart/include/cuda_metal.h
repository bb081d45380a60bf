/* What programs for CUDA's runtime API on Metal need beyond CUDA: kernels in Metal's language. */
#ifndef METAL_CUDA_METAL_H
#define METAL_CUDA_METAL_H

#include "driver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cudaMetalModule_st *cudaMetalModule_t;
typedef struct cudaMetalFunction_st *cudaMetalFunction_t;

/* Compiles Metal source, for the current device at once and for other devices when they need it. cudaErrorInvalidSource
 * if it does not compile: cudaMetalGetLastErrorMessage then has the compiler's log. */
cudaError_t cudaMetalRegisterSource(cudaMetalModule_t *module, const char *source);
/* Gives a module back, with its functions. Work that was committed keeps what it needs. */
cudaError_t cudaMetalUnregisterSource(cudaMetalModule_t module);

/* A kernel of a module, for cudaLaunchKernel.
 *
 * `args` of a launch has the address of each buffer argument's value, in the order of the indices ([[buffer(0)]]
 * first). If the kernel declares a reference to constant memory, as in `constant uint &count`, the value has the size
 * of the reference's type. Every other value is a pointer to memory of the runtime's. An argument in threadgroup memory
 * gets the launch's shared memory. */
cudaError_t cudaMetalGetFunction(cudaMetalFunction_t *function, cudaMetalModule_t module, const char *name);

typedef enum cudaMetalParameter {
    cudaMetalParameterPointer = 0,
    cudaMetalParameterValue = 1
} cudaMetalParameter;

/* The same, for kernels whose source does not show plainly what the arguments are, because of macros, conditions,
 * templates, host_name or aliases (cudaMetalGetFunction then gives cudaErrorInvalidDeviceFunction, and
 * cudaMetalGetLastErrorMessage the reason): `parameters` says what each of the `count` buffer arguments is. */
cudaError_t cudaMetalGetFunctionWithParameters(cudaMetalFunction_t *function, cudaMetalModule_t module,
                                               const char *name, const cudaMetalParameter *parameters, size_t count);

/* The address that kernels of the memory's device see (for memory of the host: kernels of the current device). Programs
 * may write it into memory: kernels that are launched later may follow it. */
cudaError_t cudaMetalGetGpuAddress(unsigned long long *address, const void *ptr);

/* What went wrong in the thread's last call that failed, or NULL if the code says all. The text lives until the
 * thread's next error. */
const char *cudaMetalGetLastErrorMessage(void);

#ifdef __cplusplus
}
#endif
#endif
