/* Programs call these around the part that they want profiled. Both succeed and do nothing: there is no profiler. */
#ifndef METAL_CUDA_PROFILER_API_H
#define METAL_CUDA_PROFILER_API_H

#include "driver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#ifdef __cplusplus
}
#endif
#endif
