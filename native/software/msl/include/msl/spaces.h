// Address spaces, for sources with functions that differ in nothing else. They are those of clang's SYCL, which every
// processor takes for its one memory: a pointer that names no space takes any other, as the library's do, and none
// takes it back.
#pragma once

#if SMTL_ADDRESS_SPACES
#define SMTL_DEVICE __attribute__((opencl_global))
#define SMTL_CONSTANT const __attribute__((opencl_global_host))
#define SMTL_THREADGROUP __attribute__((opencl_local))
#endif
