/* Where a kernel's `threadgroup` variables are. They are thread-local in the machine code, and compilers find such
 * variables through a function of the dynamic loader, which they believe to keep most vector and mask registers. The
 * loader's own does not where it has to allocate: on a thread's first use of a library, and after any library has been
 * loaded. So kernels bring their own, which hides the loader's; the engine has the address ready in the core. */
#ifndef SMTL_VARIABLES_H
#define SMTL_VARIABLES_H

#include "touch.h"

#if defined(__x86_64__)
struct smtl_variable {
    size_t module;
    size_t offset;
};

/* Weak: each part that is linked has it. */
extern "C" SMTL_UNINSTRUMENTED __attribute__((used, weak, visibility("hidden"))) void *
__tls_get_addr(smtl_variable *variable) {
    return static_cast<char *>(smtl::current_core()->static_memory) + variable->offset;
}
#endif

#endif
