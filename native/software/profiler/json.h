/* The profile as JSON. */
#ifndef SMTL_PROFILER_JSON_H
#define SMTL_PROFILER_JSON_H

#include <string>
#include <vector>

#include "registry.h"

namespace smtl::profile {

struct named_profile {
    std::string kernel;
    const kernel_profile *profile;
};

std::string to_json(const std::vector<named_profile> &kernels);

}  // namespace smtl::profile

#endif
