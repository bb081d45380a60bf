/* Locations in the code of kernels, in terms of the source. */
#ifndef SMTL_SANITIZER_LOCATIONS_H
#define SMTL_SANITIZER_LOCATIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace smtl::sanitize {

struct location {
    std::string function, file;
    uint32_t line = 0;
    std::string text() const;
};

/* The line of the program that an instruction belongs to. If functions are inlined there, the innermost line that is
 * not part of the standard library. `offset` is where the instruction lies in the shared object at `path`. */
const location &locate(const std::string &path, uint32_t offset);
/* Looks many up at once, so that `locate` knows them: each run of the tool takes milliseconds. */
void locate_together(const std::string &path, const std::vector<uint32_t> &offsets);

}  // namespace smtl::sanitize

#endif
