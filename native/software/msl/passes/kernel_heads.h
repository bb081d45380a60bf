// Kernels as functions of C++. After: no declaration says that it is a kernel, and parameters that take several buffers
// are values; functions for other stages of a GPU are problems.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

void edit_kernel_heads(Source &source, const Declarations &declarations);

// Reports the word if no declaration has taken it.
void reject_stray_kernels(Source &source);

}  // namespace smtl::msl
