// Address spaces as clang's SYCL has them: a type keeps its space, overloads and templates see it, and the processor's
// one memory serves them all. A pointer or reference that names no space (the thread's own, those of the library, and
// `this`) takes any other, and none takes it back.
#pragma once

#if !defined(__OPENCL_CPP_VERSION__)
#define SMTL_DEVICE __attribute__((opencl_global))
#define SMTL_CONSTANT_SPACE __attribute__((opencl_global_host))
#define SMTL_CONSTANT const SMTL_CONSTANT_SPACE
#define SMTL_THREADGROUP __attribute__((opencl_local))
#endif
