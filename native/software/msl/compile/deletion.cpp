#include "deletion.h"

#include <algorithm>
#include <string>

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
        if (deleted || is_missing(toolchain.headers + "/smtl/abi.h")) (void)Toolchain::unpack_headers();
        const Cache::Uses uses;
        const std::size_t lost = TemporaryFolder::lost();
        {
            // Whoever deletes the cache deletes this folder too, or an entry in use.
            const TemporaryFolder mark(cache.root());
            if (work()) return true;
        }
        deleted =
            restored && (TemporaryFolder::lost() != lost || is_missing(cache.root()) || Toolchain::misses_headers() ||
                         std::any_of(uses.keys().begin(), uses.keys().end(),
                                     [&](const std::string &key) { return cache.is_missing(key); }));
        if (!deleted) return false;
    }
    return false;
}

}  // namespace smtl::msl
