/* The counts of all kernels of the process, and the file that they are written to when the process ends. */
#ifndef SMTL_PROFILER_REGISTRY_H
#define SMTL_PROFILER_REGISTRY_H

#include <map>
#include <mutex>
#include <string>

#include "counts.h"
#include "sanitizer/locations.h"

namespace smtl::profile {

/* The counts of a kernel, and where its instructions are in the source. */
struct kernel_profile {
    kernel_counts counts;
    std::map<uint32_t, sanitize::location> lines;
};

class registry {
public:
    /* `path`: the kernel's shared object. */
    void add(const std::string &path, const std::string &kernel, const kernel_counts &counts);
    /* All of it as JSON. */
    std::string text() const;

    static registry &shared();

private:
    registry();
    void write_file() const;

    mutable std::mutex mutex_;
    /* Specializations of one kernel have one name, and shared objects of their own. */
    std::map<std::pair<std::string, std::string>, kernel_profile> kernels_;
};

}  // namespace smtl::profile

#endif
