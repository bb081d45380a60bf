#include "deletion.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <unistd.h>

#include "cache.h"
#include "file.h"
#include "toolchain.h"

namespace smtl::msl {
namespace {

constexpr int attempts = 4;

bool is_gone(const std::string &path) { return access(path.c_str(), F_OK) != 0 && errno == ENOENT; }

}  // namespace

bool despite_deletion(const std::function<bool()> &work, bool &deleted) {
    const Toolchain &toolchain = Toolchain::shared();
    deleted = false;
    // Without a compiler no work needs the cache.
    if (!toolchain.problem.empty()) return work();
    Cache &cache = Cache::shared();
    for (int attempt = 0; attempt < attempts; ++attempt) {
        const bool restored = cache.restore();
        if (deleted || is_gone(toolchain.headers + "/smtl/abi.h")) (void)Toolchain::unpack_headers();
        const Cache::Uses uses;
        const std::size_t lost = TemporaryFolder::lost();
        {
            // Whoever deletes the cache deletes this folder too, or an entry in use.
            const TemporaryFolder mark(cache.root());
            if (work()) return true;
        }
        deleted =
            restored && (TemporaryFolder::lost() != lost || is_gone(cache.root()) || Toolchain::misses_headers() ||
                         std::any_of(uses.keys().begin(), uses.keys().end(),
                                     [&](const std::string &key) { return cache.is_missing(key); }));
        if (!deleted) return false;
    }
    return false;
}

}  // namespace smtl::msl
