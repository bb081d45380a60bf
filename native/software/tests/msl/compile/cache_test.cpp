// The compile cache: many threads and processes at once, damage, folders that cannot be written to, nothing left
// behind.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "msl/compile/cache.h"
#include "msl/compile/file.h"
#include "msl/compile/hash.h"
#include "msl/msl.h"

namespace fs = std::filesystem;
using smtl::msl::Cache;

namespace {

// A source that no other run has compiled, with a kernel named k.
std::string fresh_source(int number) {
    return "kernel void k(device int *a) { a[0] = " + std::to_string(number) + " + " + std::to_string(getpid()) +
           "; }\n";
}

std::string compile(const std::string &source) {
    char *log = nullptr;
    smtl_library *library = smtl_library_compile(source.data(), source.size(), nullptr, &log);
    if (!library) std::fprintf(stderr, "%s\n", log ? log : "no log");
    std::free(log);
    if (!library) return {};
    char *path = smtl_library_specialize(library, "k", nullptr, 0, nullptr, &log);
    if (!path) std::fprintf(stderr, "%s\n", log ? log : "no log");
    std::free(log);
    const std::string result = path ? path : "";
    std::free(path);
    smtl_library_release(library);
    return result;
}

size_t count_temporary(const fs::path &root) {
    size_t count = 0;
    for (const auto &item : fs::directory_iterator(root))
        count += item.path().filename().string().starts_with(smtl::msl::temporary_prefix);
    return count;
}

void test_hash() {
    using smtl::msl::Hash;
    // SHA-256 of the length in eight bytes and the text, from an independent implementation.
    CHECK(Hash().add("abc").digest() == "ce91dc5eec0139adf091900d225971d6ad246a845bad791b5693a9d0d55dd391");
    CHECK(Hash().add(std::string(200, 'x')).digest() ==
          "8b70c0b60fdb51529836e1e5038056a912410c358ee51f650036d5c85ff9ccd1");
    CHECK(Hash().add("ab").add("c").digest() != Hash().add("a").add("bc").digest());
    CHECK(Hash().add("").digest() != Hash().digest());
}

void test_entries(const fs::path &folder) {
    Cache cache((folder / "entries").string());
    int built = 0;
    const auto build = [&](const std::string &path) {
        ++built;
        return smtl::msl::write_file(path + "/data", "some bytes");
    };
    const std::string entry = cache.entry("key", build);
    CHECK(!entry.empty() && smtl::msl::read_file(entry + "/data") == "some bytes");
    CHECK(cache.entry("key", build) == entry && built == 1);
    struct stat status;
    CHECK(stat((entry + "/data").c_str(), &status) == 0 && (status.st_mode & 077) == 0);

    // Every kind of damage is noticed, and repaired in place.
    const auto damage = [&](const char *what, auto &&how) {
        how();
        CHECK(cache.find("key").empty());
        const int before = built;
        const bool repaired = cache.entry("key", build) == entry && built == before + 1 &&
                              smtl::msl::read_file(entry + "/data") == "some bytes";
        if (!CHECK(repaired)) std::fprintf(stderr, "%s\n", what);
    };
    damage("a byte", [&] { std::fstream(entry + "/data", std::ios::in | std::ios::out).put('S'); });
    damage("truncated", [&] { fs::resize_file(entry + "/data", 3); });
    damage("longer", [&] { std::ofstream(entry + "/data", std::ios::app) << "x"; });
    damage("no file", [&] { fs::remove(entry + "/data"); });
    damage("no manifest", [&] { fs::remove(entry + "/manifest"); });
    damage("bad manifest", [&] { std::ofstream(entry + "/manifest") << "\xff\xfe garbage"; });
    damage("another file", [&] { std::ofstream(entry + "/more") << "x"; });
    damage("no folder", [&] { fs::remove_all(entry); });
    damage("a file for a folder", [&] {
        fs::remove_all(entry);
        std::ofstream(entry) << "x";
    });

    // Files that other users could have changed, or could still change, are replaced even if they are whole.
    const auto exposed = [&](const std::string &path, auto &&how) {
        damage("exposed", [&] { how(path); });
        struct stat after;
        CHECK(lstat(path.c_str(), &after) == 0 && !S_ISLNK(after.st_mode) && after.st_uid == geteuid() &&
              (after.st_mode & 077) == 0);
    };
    for (const std::string &path : {entry, entry + "/data", entry + "/manifest"}) {
        exposed(path,
                [](const std::string &what) { fs::permissions(what, fs::perms::group_write, fs::perm_options::add); });
        exposed(path,
                [](const std::string &what) { fs::permissions(what, fs::perms::others_write, fs::perm_options::add); });
        exposed(path, [](const std::string &what) {
            fs::rename(what, what + "-moved");
            fs::create_symlink(what + "-moved", what);
        });
        if (geteuid() == 0)
            exposed(path, [](const std::string &what) { CHECK(chown(what.c_str(), 12345, 12345) == 0); });
    }
    fs::remove_all(entry + "-moved");
    // Others have no access to an entry, whatever the process's mask allows.
    const mode_t mask = umask(0);
    const std::string open = cache.entry("open", [](const std::string &path) {
        std::ofstream(path + "/data") << "x";
        return fs::create_directory(path + "/inner");
    });
    umask(mask);
    CHECK(!open.empty() && !cache.find("open").empty() && stat((open + "/data").c_str(), &status) == 0 &&
          (status.st_mode & 077) == 0);

    // A builder that fails leaves no entry, and one that throws leaves the lock free.
    CHECK(cache.entry("failing", [](const std::string &) { return false; }).empty() && cache.find("failing").empty());
    try {
        (void)cache.entry("throwing", [](const std::string &) -> bool { throw std::runtime_error("builder"); });
        CHECK(false);
    } catch (const std::runtime_error &) {
        CHECK(true);
    }
    CHECK(!cache.entry("throwing", build).empty());
    CHECK(count_temporary(cache.root()) == 0);

    // Files that a killed process left are removed. Files that another process still writes stay.
    const fs::path root = cache.root(), stale = root / "software-metal-tmp-stale",
                   young = root / "software-metal-tmp-young";
    for (const fs::path &made : {stale, young, root / "tmp-mine"}) fs::create_directory(made);
    for (const fs::path &old : {stale, root / "tmp-mine"})
        fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(5));
    const Cache again(cache.root());
    CHECK(!fs::exists(stale) && fs::exists(young) && fs::exists(root / "tmp-mine"));
}

// The least recently used entries make room; what is in use, what every compilation needs, and what is not the cache's
// stay.
void test_pruning(const fs::path &folder) {
    const fs::path root = folder / "pruned";
    Cache cache(root.string(), 10000);
    const auto build = [](const std::string &path) {
        return smtl::msl::write_file(path + "/data", std::string(2000, 'x'));
    };
    const auto key = [](const std::string &kind, char digit) { return kind + "-" + std::string(64, digit); };
    const auto made_before = [&](const std::string &name, int hours) {
        fs::last_write_time(root / name, fs::file_time_type::clock::now() - std::chrono::hours(hours));
    };
    const auto stays = [&](char digit) { return fs::exists(root / key("kernel", digit)); };
    const auto now = std::chrono::system_clock::now();
    CHECK(!cache.entry(key("headers", 'a'), build).empty());
    made_before(key("headers", 'a'), 20);
    for (const char digit : {'a', 'b', 'c', 'd', 'e'}) {
        CHECK(!cache.entry(key("kernel", digit), build).empty());
        made_before(key("kernel", digit), 20 - digit + 'a');
    }
    const std::string others[] = {"photos", "kernel-sources", "kernel-" + std::string(64, 'x'), std::string(64, '0')};
    for (const std::string &other : others) {
        fs::create_directory(root / other);
        made_before(other, 1000);
    }
    CHECK(!cache.find(key("kernel", 'a')).empty());  // used now
    cache.prune(now - std::chrono::hours(1));
    CHECK(fs::exists(root / key("headers", 'a')) && stays('a') && stays('e') && count_temporary(root) == 0);
    CHECK(!stays('b') && !stays('c') && !stays('d'));
    for (const std::string &other : others) CHECK(fs::exists(root / other));
    // An entry that was removed is built again. A size of 0 sets no bound.
    CHECK(!cache.entry(key("kernel", 'b'), build).empty());
    const Cache unbounded(root.string());
    unbounded.prune(now + std::chrono::hours(1));
    CHECK(stays('a') && stays('b'));
}

// A disk without room: no entry, no damage, and sources compile again once there is room.
void test_full_disk(const fs::path &folder) {
    Cache cache((folder / "full").string());
    const auto fails = [](const std::string &path) {
        CHECK(smtl::msl::write_file(path + "/half", "half of it"));
        rlimit before;
        getrlimit(RLIMIT_FSIZE, &before);
        rlimit none = before;
        none.rlim_cur = 16;
        setrlimit(RLIMIT_FSIZE, &none);
        const bool written = smtl::msl::write_file(path + "/data", std::string(1000, 'x'));
        setrlimit(RLIMIT_FSIZE, &before);
        return written;
    };
    CHECK(cache.entry("key", fails).empty() && cache.find("key").empty() && count_temporary(cache.root()) == 0);
    CHECK(!cache.entry("key", [](const std::string &path) { return smtl::msl::write_file(path + "/data", "x"); })
               .empty());
}

// The disk is full from the first source of a process on, and when kernels of an existing library are compiled.
void test_sources_on_full_disk() {
    const std::string source = fresh_source(4000), other = fresh_source(4001);
    rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit none = before;
    none.rlim_cur = 16;
    char *log = nullptr;
    setrlimit(RLIMIT_FSIZE, &none);
    CHECK(smtl_library_compile(source.data(), source.size(), nullptr, &log) == nullptr);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(log && std::string(log).find("(ulimit -f)") != std::string::npos);
    std::free(log);
    smtl_library *library = smtl_library_compile(source.data(), source.size(), nullptr, nullptr);
    CHECK(library != nullptr);
    setrlimit(RLIMIT_FSIZE, &none);
    log = nullptr;
    CHECK(smtl_library_specialize(library, "k", nullptr, 0, nullptr, &log) == nullptr);
    CHECK(log && std::strlen(log) > 0);
    std::free(log);
    log = nullptr;
    CHECK(smtl_library_compile(other.data(), other.size(), nullptr, &log) == nullptr);
    CHECK(log && std::string(log).find("cannot be written to") != std::string::npos);
    std::free(log);
    setrlimit(RLIMIT_FSIZE, &before);
    char *path = smtl_library_specialize(library, "k", nullptr, 0, nullptr, nullptr);
    CHECK(path != nullptr && fs::exists(path));
    std::free(path);
    smtl_library_release(library);
    CHECK(!compile(other).empty() && count_temporary(Cache::shared().root()) == 0);
}

void test_unusable_folders(const fs::path &folder) {
    std::ofstream(folder / "file") << "x";
    std::string root;
    {
        Cache cache((folder / "file" / "cache").string());
        root = cache.root();
        CHECK(!root.empty() && !root.starts_with(folder.string()) && fs::is_directory(root));
        CHECK(!cache.entry("key", [](const std::string &path) { return smtl::msl::write_file(path + "/data", "x"); })
                   .empty());
    }
    CHECK(!fs::exists(root));  // the folder was this process's own, and was removed with the cache
    {
        std::optional<Cache> cache((folder / "file" / "cache").string());
        if (const pid_t child = fork(); child == 0) {
            cache.reset();
            _exit(0);
        } else {
            CHECK(child > 0 && waitpid(child, nullptr, 0) == child);
        }
        CHECK(fs::is_directory(cache->root()));  // the child's end is not the end of its parent's folder
    }
    // Folders where others could put code, and why they are not used.
    const auto refused = [&](const fs::path &path, const std::string &why) {
        const Cache cache(path.string());
        CHECK(cache.root() != path.string() && !cache.root().empty() &&
              cache.problem() == "the compile cache " + path.string() + " is not used: " + why);
    };
    for (const auto &[name, perms] :
         {std::pair("all", fs::perms::others_write), std::pair("group", fs::perms::group_write)}) {
        fs::create_directory(folder / name);
        fs::permissions(folder / name, fs::perms::owner_all | perms);
        refused(folder / name, "others than its owner may write to it");
    }
    fs::create_directory(folder / "own");
    fs::permissions(folder / "own", fs::perms::owner_all);
    fs::create_directory_symlink(folder / "own", folder / "linked");
    refused(folder / "linked", "it is a symbolic link");
    for (const char *name : {"a\"b", "a\\b", "a\nb"})
        refused(folder / name, "its path has a quotation mark, a backslash or a line break");
    refused("/", "it is the system's topmost folder");
    fs::create_directory(folder / "above");
    fs::permissions(folder / "above", fs::perms::all);
    refused(folder / "above" / "cache", "everybody may write to " + (folder / "above").string() + ", which it lies in");
    CHECK(fs::is_empty(folder / "above"));
    if (geteuid() == 0) {
        fs::create_directory(folder / "foreign");
        CHECK(chown((folder / "foreign").c_str(), 12345, 12345) == 0);
        refused(folder / "foreign", "it belongs to another user");
        refused(folder / "foreign" / "new" / "cache",
                (folder / "foreign").string() + ", which it lies in, belongs to another user");
        CHECK(fs::is_empty(folder / "foreign"));
    }
    const mode_t mask = umask(0);
    const Cache fresh((folder / "fresh" / "cache").string());
    umask(mask);
    CHECK(fresh.root() == (folder / "fresh" / "cache").string());
    // Folders that are still to be made do not lead elsewhere.
    const Cache back((folder / "none" / ".." / "own" / "cache").string());
    CHECK(back.root() == (folder / "own" / "cache").string() && !fs::exists(folder / "none"));
}

void test_threads() {
    // All threads compile one source, which is built once, and each compiles a source of its own.
    const std::string shared = fresh_source(1000);
    std::vector<std::string> paths(16);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < paths.size(); ++i)
        threads.emplace_back([&, i] { paths[i] = compile(i % 2 ? shared : fresh_source(int(i % 4))); });
    for (std::thread &thread : threads) thread.join();
    for (size_t i = 0; i < paths.size(); ++i) {
        CHECK(!paths[i].empty() && fs::exists(paths[i]));
        CHECK(i % 2 == 0 || paths[i] == paths[1]);
    }
}

void test_processes() {
    const std::string source = fresh_source(2000);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(compile(source).empty() ? 1 : 0);
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

// Processes that want one entry at the same time wait for one of them to build it.
void test_one_builder(const fs::path &folder) {
    const std::string root = (folder / "one builder").string(), started = (folder / "started").string();
    Cache cache(root);  // the children inherit all of it
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            const auto build = [&](const std::string &path) {
                std::ofstream(started, std::ios::app) << "x";
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
                return smtl::msl::write_file(path + "/data", "x");
            };
            // Each through a cache of its own or through the inherited one.
            const bool own = i % 2 == 0;
            _exit((own ? Cache(root).entry("key", build) : cache.entry("key", build)).empty() ? 1 : 0);
        }
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(smtl::msl::read_file(started) == "x");
}

void test_damaged_library() {
    const std::string source = fresh_source(3000);
    const std::string path = compile(source);
    CHECK(!path.empty());
    // Every file of the cache but headers and manifests is damaged at once, the precompiled standard library too.
    for (const auto &item : fs::recursive_directory_iterator(Cache::shared().root())) {
        if (item.is_regular_file() && item.path().filename() != "manifest" &&
            item.path().string().find("headers-") == std::string::npos) {
            fs::resize_file(item.path(), fs::file_size(item.path()) / 2);
        }
    }
    CHECK(compile(source) == path && compile(fresh_source(3001)) != path);
    CHECK(Cache::shared().find(fs::path(path).parent_path().filename().string()) == fs::path(path).parent_path());
}

}  // namespace

int main() {
    std::string folder = "/tmp/software-metal-cache-test-XXXXXX";
    if (!mkdtemp(folder.data())) return 1;
    setenv("SOFTWARE_METAL_CACHE", (folder + "/a $cache").c_str(), 1);
    test_sources_on_full_disk();
    test_hash();
    test_entries(folder);
    test_pruning(folder);
    test_full_disk(folder);
    test_unusable_folders(folder);
    // Processes first: a forked child of a process with threads would be another matter.
    test_processes();
    test_one_builder(folder);
    test_threads();
    test_damaged_library();
    CHECK(count_temporary(Cache::shared().root()) == 0);
    fs::remove_all(folder);
    return check::report("msl/compile/cache_test");
}
