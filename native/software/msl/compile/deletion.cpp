#include "deletion.h"

#include <unistd.h>

#include "cache.h"
#include "file.h"
#include "toolchain.h"

namespace smtl::msl {
namespace {

constexpr int attempts = 4;

}  // namespace

bool despite_deletion(const std::function<bool()> &work, bool &deleted) {
    const Toolchain &toolchain = Toolchain::shared();
    deleted = false;
    // Without a compiler no work needs the cache.
    if (!toolchain.problem.empty()) return work();
    Cache &cache = Cache::shared();
    for (int attempt = 0; attempt < attempts; ++attempt) {
        const bool restored = cache.restore();
        if (deleted || access((toolchain.headers + "/smtl/abi.h").c_str(), R_OK) != 0)
            (void)Toolchain::unpack_headers();
        // Whoever deletes the cache deletes this folder too.
        const TemporaryFolder mark(cache.root());
        if (work()) return true;
        deleted = restored && (access((mark.made() ? mark.path() : cache.root()).c_str(), F_OK) != 0 ||
                               !Toolchain::headers_are_intact());
        if (!deleted) return false;
    }
    return false;
}

}  // namespace smtl::msl
