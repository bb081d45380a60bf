/* The sanitizer's checks of a kernel. */
#ifndef SMTL_SANITIZER_CHECKED_KERNEL_H
#define SMTL_SANITIZER_CHECKED_KERNEL_H

#include <memory>

#include "engine/hooks.h"
#include "image.h"

namespace smtl::sanitize {

std::unique_ptr<kernel_checks> check_kernel(std::unique_ptr<image> code);

}  // namespace smtl::sanitize

#endif
