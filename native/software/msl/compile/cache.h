// Compiled results on disk, by content. An entry is a folder that appears complete or not at all.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace smtl::msl {

class Cache {
public:
    // $SOFTWARE_METAL_CACHE, $XDG_CACHE_HOME/software-metal or ~/.cache/software-metal; a folder of this process alone,
    // gone when it ends, where that cannot be written to or belongs to somebody else.
    static Cache &shared();

    // Entries that have not been used for long go where all take more than `most_bytes`; 0: no bound.
    explicit Cache(std::string preferred, std::uint64_t most_bytes = 0);
    Cache(const Cache &) = delete;
    Cache &operator=(const Cache &) = delete;
    ~Cache();

    // Fills the folder that it is given; false to make no entry.
    using Builder = std::function<bool(const std::string &folder)>;

    // The folder of the entry `key`, built where it is missing or damaged; empty where the builder said no or the disk
    // failed. Threads that ask for one key at the same time wait for one builder.
    std::string entry(const std::string &key, const Builder &build);
    // The folder of the entry if it is there and intact, else empty.
    std::string find(const std::string &key) const;

    const std::string &root() const { return root_; }
    // Why the folder that was preferred is not used; empty where it is.
    const std::string &problem() const { return problem_; }

    // Removes entries, those not used for longest first, until the rest takes three quarters of the bound. What was
    // used since `recent` stays: somebody may be about to load it.
    void prune(std::chrono::system_clock::time_point recent) const;

private:
    std::shared_ptr<std::mutex> lock_for(const std::string &key);
    std::string build_entry(const std::string &key, const Builder &build);

    std::string root_, problem_;
    bool private_ = false;
    std::uint64_t most_bytes_ = 0;
    std::atomic<unsigned> built_{0};
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<std::mutex>> locks_;
};

}  // namespace smtl::msl
