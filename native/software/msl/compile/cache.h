// Compiled results on disk, by content. An entry is a folder that appears complete or not at all.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace smtl::msl {

class Cache {
public:
    // $SOFTWARE_METAL_CACHE, $XDG_CACHE_HOME/software-metal or ~/.cache/software-metal; if that cannot be written to or
    // belongs to somebody else, a folder of this process alone, which goes when the process ends. A process that gives
    // up its user's rights has another one from then on.
    static Cache &shared();

    // If all entries take more than `most_bytes`, the least recently used ones go; 0: no bound.
    explicit Cache(std::string preferred, std::uint64_t most_bytes = 0);
    Cache(const Cache &) = delete;
    Cache &operator=(const Cache &) = delete;
    ~Cache();

    // Fills the folder that it is given; false to make no entry.
    using Builder = std::function<bool(const std::string &folder)>;

    // The folder of the entry `key`, built if it is missing or damaged; empty if the builder said no or the disk
    // failed. Threads and processes that ask for one key at the same time wait for one builder.
    std::string entry(const std::string &key, const Builder &build);
    // The folder of the entry if it is there and intact, else empty.
    std::string find(const std::string &key) const;
    // Whether the entry or a file of it is missing.
    bool is_missing(const std::string &key) const;

    // Makes the folder again if somebody deleted it; false if that cannot be.
    bool restore() const;

    const std::string &root() const { return root_; }
    // Why the preferred folder is not used; empty if it is used.
    const std::string &problem() const { return problem_; }

    // An error's text: `what` cannot be written to this cache, and why, as far as that can be found out now.
    std::string not_written(const std::string &what) const;

    // Notes the keys of all entries that this thread is given while one lives.
    class Uses {
    public:
        Uses();
        Uses(const Uses &) = delete;
        Uses &operator=(const Uses &) = delete;
        ~Uses();

        const std::set<std::string> &keys() const { return keys_; }

    private:
        friend class Cache;
        std::set<std::string> keys_;
        Uses *outer_;
    };

    // Notes an entry that is used by its path alone.
    static void note(const std::string &key);

    // Removes entries, the least recently used first, until the rest takes three quarters of the bound. What was
    // used since `recent` stays: somebody may be about to load it.
    void prune(std::chrono::system_clock::time_point recent) const;

private:
    void remove_private_folder() const;
    std::shared_ptr<std::mutex> lock_for(const std::string &key);
    std::string build_entry(const std::string &key, const Builder &build);

    std::string root_, problem_;
    int private_to_ = 0;  // the process that the folder is for, 0: for all
    std::uint64_t most_bytes_ = 0;
    std::atomic<unsigned> built_{0};
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<std::mutex>> locks_;
};

}  // namespace smtl::msl
