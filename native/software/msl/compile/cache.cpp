#include "cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "checksum.h"
#include "file.h"
#include "support/settings.h"

namespace smtl::msl {
namespace {

constexpr const char *manifest_name = "manifest";
constexpr const char *locks_name = "locks";

// Code is loaded from the cache, so nobody else may write to it. Checks what was opened, since a name may come to stand
// for something else. Returns what is wrong; empty if nothing is.
std::string objection_to(int file) {
    struct stat status;
    if (fstat(file, &status) != 0) return std::strerror(errno);
    if (status.st_uid != geteuid()) return "it belongs to another user";
    return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? "others than its owner may write to it" : "";
}

// One line for each file below the open folder: name, size and checksum. False if anything is not a file or a folder of
// the user's own.
bool describe(const Descriptor &folder, const std::string &prefix, std::vector<std::string> &lines) {
    if (folder.number() < 0 || !objection_to(folder.number()).empty()) return false;
    for (const std::string &name : folder.names()) {
        if (prefix.empty() && name == manifest_name) continue;
        const Descriptor file(folder, name, 0);
        if (!file.is_folder()) {
            Checksum sum;
            const auto add = [&](std::string_view piece) { sum.add(piece); };
            if (!file.is_file() || !objection_to(file.number()).empty() || !file.read_in_pieces(add)) return false;
            lines.push_back(prefix + name + " " + std::to_string(sum.size()) + " " + std::to_string(sum.value()) +
                            "\n");
        } else if (!describe(file, prefix + name + "/", lines)) {
            return false;
        }
    }
    return true;
}

// What the folder's manifest has to say; empty if the folder cannot be trusted.
std::string describe(const Descriptor &folder) {
    std::vector<std::string> lines;
    if (!describe(folder, "", lines)) return {};
    std::sort(lines.begin(), lines.end());
    std::string text = "smtl 1\n";
    for (const std::string &line : lines) text += line;
    return text;
}

bool intact(const std::string &path) {
    const Descriptor folder(path, O_DIRECTORY);
    if (folder.number() < 0) return false;
    const Descriptor file(folder, manifest_name, 0);
    const auto manifest = file.is_file() && objection_to(file.number()).empty() ? file.read() : std::nullopt;
    return manifest && !manifest->empty() && *manifest == describe(folder);
}

// The compiler and the linker leave files as the process's mask has them.
bool make_private(const std::string &folder) {
    std::error_code error;
    std::filesystem::recursive_directory_iterator item(folder, error);
    for (; !error && item != std::filesystem::recursive_directory_iterator(); item.increment(error)) {
        std::filesystem::permissions(
            item->path(), std::filesystem::perms::group_all | std::filesystem::perms::others_all,
            std::filesystem::perm_options::remove | std::filesystem::perm_options::nofollow, error);
        if (error) return false;
    }
    return !error;
}

// Whoever may rename the folders above can put another folder there. Folders that a group may write to are accepted: on
// most systems the user is the group's only member, and what is loaded is checked once more. Folders that are still to
// be made will be the user's own.
std::string objection_to_parents(const std::string &path) {
    std::error_code error;
    std::filesystem::path nearest = std::filesystem::path(path).parent_path();
    while (!std::filesystem::exists(nearest, error) && nearest.has_relative_path()) nearest = nearest.parent_path();
    for (std::filesystem::path above = std::filesystem::canonical(nearest, error); !error;
         above = above.parent_path()) {
        struct stat status;
        if (stat(above.c_str(), &status) != 0) return std::strerror(errno);
        if (status.st_uid != 0 && status.st_uid != geteuid())
            return above.string() + ", which it lies in, belongs to another user";
        if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0)
            return "everybody may write to " + above.string() + ", which it lies in";
        if (above == above.root_path()) break;
    }
    return error ? error.message() : "";
}

// Why nothing may be kept there; empty if it may.
std::string objection_to(const std::string &path) {
    // Clang includes files of it by their names in quotes.
    if (path == "/") return "it is the system's topmost folder";
    if (path.find_first_of("\"\\\n") != std::string::npos)
        return "its path has a quotation mark, a backslash or a line break";
    // First of all: what is refused stays as it was.
    if (std::string objection = objection_to_parents(path); !objection.empty()) return objection;
    std::error_code error;
    const bool made = make_folders(path);
    int cause = errno;
    const Descriptor folder(path, O_DIRECTORY);
    if (made) cause = errno;
    if (folder.number() < 0)
        return std::filesystem::is_symlink(path, error)
                   ? "it is a symbolic link"
                   : std::string("it cannot be made or read: ") + std::strerror(cause);
    for (const std::string &objection : {objection_to(folder.number()), objection_to_parents(path)})
        if (!objection.empty()) return objection;
    return TemporaryFolder(path).made() ? "" : std::string("it cannot be written to: ") + std::strerror(errno);
}

// What a killed process left behind.
void remove_stale(const std::string &root) {
    std::error_code error;
    const auto limit = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
    std::filesystem::directory_iterator item(root, error);
    for (; !error && item != std::filesystem::directory_iterator(); item.increment(error)) {
        if (!item->path().filename().string().starts_with(temporary_prefix)) continue;
        std::error_code ignored;
        const auto written = item->last_write_time(ignored);
        if (!ignored && written < limit) remove_tree(item->path().string());
    }
}

std::string preferred_root() {
    const auto variable = [](const char *name) -> std::string {
        const char *value = std::getenv(name);
        return value ? value : "";
    };
    if (const std::string own = smtl_settings_get()->cache; !own.empty())
        return std::filesystem::absolute(own).string();
    if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with("/")) return cache + "/software-metal";
    if (const std::string home = variable("HOME"); home.starts_with("/")) return home + "/.cache/software-metal";
    return {};
}

// Keeps other processes from building the same entry. Each key has a byte of one file, far behind its end: a lock needs
// no byte that is there. A process that is stopped keeps its locks, so the wait for one is bounded; after it two
// processes build the entry.
class ProcessLock {
public:
    ProcessLock(const std::string &root, const std::string &key) : file_(root + "/" + locks_name, O_RDWR | O_CREAT) {
        constexpr auto most = std::chrono::minutes(1);
        constexpr auto longest_pause = std::chrono::milliseconds(20);
        const auto limit = std::chrono::steady_clock::now() + most;
        offset_ = static_cast<off_t>(checksum(key) >> 2);
        auto pause = std::chrono::milliseconds(1);
        while (file_.number() >= 0 && !set(F_WRLCK) && (errno == EAGAIN || errno == EACCES) &&
               std::chrono::steady_clock::now() < limit) {
            std::this_thread::sleep_for(pause);
            pause = std::min(2 * pause, longest_pause);
        }
    }
    ProcessLock(const ProcessLock &) = delete;
    ProcessLock &operator=(const ProcessLock &) = delete;
    // A child of fork() may hold the file open, so closing it is not enough.
    ~ProcessLock() { (void)set(F_UNLCK); }

private:
    bool set(short type) const {
        struct flock lock = {};
        lock.l_type = type;
        lock.l_whence = SEEK_SET;
        lock.l_start = offset_;
        lock.l_len = 1;
        // Locks of the open file, not of the process: another thread's closing of the file would release those.
        return fcntl(file_.number(), F_OFD_SETLK, &lock) == 0;
    }

    Descriptor file_;
    off_t offset_;
};

// An entry's name ends in a hash. The folder may hold other things of the user's, which stay.
bool names_entry(std::string_view name) {
    constexpr std::size_t digits = 64;
    const std::size_t hash = name.rfind('-') + 1;
    return hash != 0 && name.size() - hash == digits &&
           name.find_first_not_of("0123456789abcdef", hash) == std::string_view::npos;
}

// What takes little room and is in use as long as a process runs.
bool is_lasting(std::string_view name) {
    return name.starts_with("headers-") || name.starts_with("compiler-") || name.starts_with("stdlib-");
}

// Calls `take(name, bytes)` for each file of an entry, by its manifest, whose bytes it returns.
template <class Take> std::size_t for_each_file(const std::string &folder, Take &&take) {
    const std::string manifest = read_file(folder + "/" + manifest_name).value_or("");
    for (std::size_t line = manifest.find('\n'); line != std::string::npos && line + 1 < manifest.size();
         line = manifest.find('\n', line + 1)) {
        const std::size_t blank = manifest.find(' ', line);
        if (blank == std::string::npos) break;
        take(manifest.substr(line + 1, blank - line - 1), std::strtoull(manifest.c_str() + blank, nullptr, 10));
    }
    return manifest.size();
}

std::uint64_t size_of_entry(const std::string &folder) {
    std::uint64_t bytes = 0;
    const std::size_t of_manifest =
        for_each_file(folder, [&](const std::string &, std::uint64_t size) { bytes += size; });
    return bytes + of_manifest;
}

}  // namespace

namespace {

thread_local Cache::Uses *uses = nullptr;

}  // namespace

Cache::Uses::Uses() : outer_(uses) { uses = this; }

Cache::Uses::~Uses() {
    uses = outer_;
    if (outer_) outer_->keys_.merge(keys_);
}

void Cache::note(const std::string &key) {
    if (uses) uses->keys_.insert(key);
}

Cache &Cache::shared() {
    struct Owned {
        uid_t user;
        Owned *next;
        Cache cache;
    };
    static std::atomic<Owned *> all{nullptr};
    static std::mutex mutex;
    const uid_t user = geteuid();
    const auto known = [&] {
        Owned *owned = all.load(std::memory_order_acquire);
        while (owned && owned->user != user) owned = owned->next;
        return owned;
    };
    if (Owned *const owned = known()) return owned->cache;
    const std::lock_guard lock(mutex);
    if (Owned *const owned = known()) return owned->cache;
    Owned *const first = all.load(std::memory_order_relaxed);
    // Other threads may still compile at the end: the caches stay, and they find that their folders are gone.
    if (!first)
        (void)std::atexit([] {
            for (Owned *owned = all; owned; owned = owned->next) owned->cache.remove_private_folder();
        });
    auto *const owned = new Owned{user, first, Cache(preferred_root(), smtl_settings_get()->cache_size)};
    all.store(owned, std::memory_order_release);
    return owned->cache;
}

Cache::Cache(std::string preferred, std::uint64_t most_bytes) : root_(std::move(preferred)), most_bytes_(most_bytes) {
    // Without "..", behind which folders that are still to be made would lead elsewhere.
    root_ = std::filesystem::path(root_).lexically_normal().string();
    while (root_.size() > 1 && root_.ends_with("/")) root_.pop_back();
    problem_ = root_.empty() ? "" : objection_to(root_);
    if (!root_.empty() && problem_.empty()) {
        remove_stale(root_);
        return;
    }
    if (!problem_.empty()) {
        problem_ = "the compile cache " + root_ + " is not used: " + problem_;
        std::fprintf(stderr, "software Metal: %s\n", problem_.c_str());
    }
    const char *temporary = std::getenv("TMPDIR");
    root_ = make_unique_folder(std::string(temporary && *temporary == '/' ? temporary : "/tmp") + "/software-metal-");
    private_to_ = getpid();
}

Cache::~Cache() { remove_private_folder(); }

bool Cache::restore() const {
    return !root_.empty() && (access(root_.c_str(), F_OK) == 0 || objection_to(root_).empty());
}

std::string Cache::not_written(const std::string &what) const {
    const std::string why = why_not_written(root_);
    return what + " cannot be written to " + root_ + (why.empty() ? little_room(root_) : why);
}

// A child of fork() that ends leaves the folder to its parent.
void Cache::remove_private_folder() const {
    if (private_to_ == getpid() && !root_.empty()) remove_tree(root_);
}

std::shared_ptr<std::mutex> Cache::lock_for(const std::string &key) {
    const std::lock_guard guard(mutex_);
    std::erase_if(locks_, [](const auto &item) { return item.second.expired(); });
    std::weak_ptr<std::mutex> &known = locks_[key];
    std::shared_ptr<std::mutex> lock = known.lock();
    if (!lock) known = lock = std::make_shared<std::mutex>();
    return lock;
}

std::string Cache::find(const std::string &key) const {
    const std::string path = root_ + "/" + key;
    if (root_.empty() || !intact(path)) return {};
    note(key);
    // Marks the entry as used now, for prune().
    (void)utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    return path;
}

bool Cache::is_missing(const std::string &key) const {
    const std::string folder = root_ + "/" + key;
    bool missing = msl::is_missing(folder + "/" + manifest_name);
    for_each_file(folder, [&](const std::string &name, std::uint64_t) {
        missing = missing || msl::is_missing(folder + "/" + name);
    });
    return missing;
}

void Cache::prune(std::chrono::system_clock::time_point recent) const {
    if (most_bytes_ == 0 || root_.empty()) return;
    struct Item {
        std::chrono::system_clock::time_point used;
        std::uint64_t bytes;
        std::string path;
    };
    std::vector<Item> items;
    std::uint64_t total = 0;
    std::error_code error;
    std::filesystem::directory_iterator entry(root_, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::string path = entry->path().string(), name = entry->path().filename().string();
        struct stat status;
        if (!names_entry(name) || stat(path.c_str(), &status) != 0) continue;
        const std::uint64_t bytes = size_of_entry(path);
        total += bytes;
        const auto used = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec) +
                          std::chrono::nanoseconds(status.st_mtim.tv_nsec);
        if (!is_lasting(name) && used < recent) items.push_back({used, bytes, path});
    }
    if (total <= most_bytes_) return;
    std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) { return a.used < b.used; });
    for (const Item &item : items) {
        if (total <= most_bytes_ / 4 * 3) break;
        // Out of sight at once, even for those who look meanwhile.
        TemporaryFolder old(root_);
        if (old.made() && std::rename(item.path.c_str(), (old.path() + "/old").c_str()) == 0) total -= item.bytes;
    }
}

std::string Cache::entry(const std::string &key, const Builder &build) {
    if (root_.empty()) return {};
    const std::shared_ptr<std::mutex> lock = lock_for(key);
    const std::lock_guard guard(*lock);
    if (std::string found = find(key); !found.empty()) return found;
    const ProcessLock process_lock(root_, key);
    if (std::string found = find(key); !found.empty()) return found;
    // Looking through all entries costs as much as a fraction of a build.
    constexpr unsigned builds_between = 64;
    constexpr auto in_use = std::chrono::minutes(10);
    if (built_.fetch_add(1, std::memory_order_relaxed) % builds_between == 0)
        prune(std::chrono::system_clock::now() - in_use);
    std::string built = build_entry(key, build);
    if (!built.empty()) note(key);
    return built;
}

std::string Cache::build_entry(const std::string &key, const Builder &build) {
    TemporaryFolder folder(root_);
    if (!folder.made() || !build(folder.path())) return {};
    if (!make_private(folder.path())) return {};
    const std::string manifest = describe(Descriptor(folder.path(), O_DIRECTORY));
    if (manifest.empty() || !write_file(folder.path() + "/" + manifest_name, manifest)) return {};
    const std::string path = root_ + "/" + key;
    if (folder.rename_to(path)) return path;
    // Another process was first after all, or the entry there is damaged and has to make room.
    if (intact(path)) return path;
    {
        TemporaryFolder old(root_);
        if (old.made()) (void)std::rename(path.c_str(), (old.path() + "/damaged").c_str());
    }
    if (folder.rename_to(path) || intact(path)) return path;
    return {};
}

}  // namespace smtl::msl
