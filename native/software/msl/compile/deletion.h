// The cache can be deleted at any time, also while something is compiled.
#pragma once

#include <functional>

namespace smtl::msl {

// Runs `work`, which says whether it succeeded, with the cache's folder and our headers in place. Work that fails while
// somebody deletes the cache runs again. False if it failed for a reason of its own, or if the cache was deleted again
// each time: then `deleted` is true.
bool despite_deletion(const std::function<bool()> &work, bool &deleted);

// The message if `deleted` is true. The cache's path follows it.
inline constexpr const char *deleted_meanwhile =
    "compiling failed because something keeps deleting the compile cache: ";

}  // namespace smtl::msl
