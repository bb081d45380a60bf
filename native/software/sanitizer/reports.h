/* Findings, which are kept and written to standard error. */
#ifndef SMTL_SANITIZER_REPORTS_H
#define SMTL_SANITIZER_REPORTS_H

#include <cstdint>
#include <string>

#include "locations.h"
#include "include/SoftwareMetal/SoftwareMetal.h"

namespace smtl::sanitize {

struct extent {
    uint32_t x = 0, y = 0, z = 0;
    std::string text() const;
};

/* Who did what, where. */
struct party {
    std::string kernel;
    location where;
    bool write = false, atomic = false, whole_simdgroup = false;
    uint64_t size = 0;
    extent in_grid, threadgroup, in_threadgroup;
};

struct finding {
    smtl_report_kind kind = SMTL_REPORT_BOUNDS;
    std::string headline; /* "write of 4 bytes ..." */
    std::string details;  /* further lines, each with its line feed */
    party actor;
    bool has_other = false;
    party other;
    std::string object;
    int32_t argument = -1;
    int64_t offset = 0;
    uint64_t length = 0;
};

/* Counts one more finding on these lines. False if there has been none yet. */
bool count_again(smtl_report_kind kind, const location &where, const location &other, const std::string &kernel);
/* Keeps the finding, prints it, and returns its headline. */
std::string report(finding found);

}  // namespace smtl::sanitize

#endif
