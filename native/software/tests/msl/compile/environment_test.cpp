// What a process has in its environment, or may not do, decides for that process alone: the next one with the same
// cache compiles as ever.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "compiled_source.h"
#include "msl/compile/cache.h"
#include "msl/compile/file.h"
#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"

namespace fs = std::filesystem;

namespace {

fs::path folder;

// The log of a kernel that does not compile; empty if it runs.
std::string problem(int number) {
    const compiled source("kernel void k(device float *x) { x[0] += " + std::to_string(number) + "; }\n");
    if (!source.library) return source.log;
    std::string error;
    const std::string path = source.specialize("k", {}, &error);
    if (path.empty()) return error;
    std::vector<float> values = {1};
    error = run(path, {&values}, 1);
    return values[0] == 1 + static_cast<float>(number) ? error : "a wrong value";
}

// Whether `body` is true in a process of its own, in which nothing has been compiled.
bool in_child(const std::function<bool()> &body) {
    const pid_t child = fork();
    if (child == 0) {
        const bool good = body();
        std::exit(good ? 0 : 1);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0;
}

bool compiles(int number) {
    const std::string said = problem(number);
    std::fputs(said.c_str(), stderr);
    return said.empty();
}

bool fails_with(int number, const std::string &words) { return says(problem(number), words); }

// A cache that has no standard library yet compiles it for seconds. Those who need no cache of their own share one, and
// each compiles numbers of its own.
void use_cache(const char *name = "shared") { setenv("SOFTWARE_METAL_CACHE", (folder / name).c_str(), 1); }

// Of what a compiler writes when it crashes, a full disk may keep pieces from the middle. They are no message.
void test_pieces_of_a_crash() {
    const fs::path here = folder / "crash";
    fs::create_directory(here);
    const auto errors = [&](const std::string &script) {
        return smtl::msl::run_process({"/bin/sh", "-c", script}, "", here).errors;
    };
    const std::string piece = "echo '1. <eof> parser at end of file' >&2; ", said = "echo 'error: no' >&2; ";
    CHECK(errors(piece + "exit 135").starts_with("error: /bin/sh failed without a message"));
    CHECK(errors(piece + "kill -7 $$").starts_with("error: /bin/sh was ended by signal 7"));
    CHECK(errors(piece + "exit 1") == "1. <eof> parser at end of file\n");
    CHECK(errors(said + "exit 135") == "error: no\n");
    CHECK(errors(said + "kill -7 $$").starts_with("error: no\nerror: /bin/sh was ended by signal 7"));
}

void test_no_path() {
    use_cache();
    CHECK(in_child([] { return unsetenv("PATH") == 0 && compiles(1); }));
    CHECK(in_child([] { return setenv("PATH", "", 1) == 0 && compiles(2); }));
    CHECK(in_child([] { return setenv("PATH", ".:bin", 1) == 0 && compiles(4); }));
    CHECK(in_child([] { return setenv("PATH", "/nonexistent", 1) == 0 && fails_with(3, "finds no linker"); }));
    CHECK(in_child([] { return compiles(3); }));
}

void test_linker_that_goes() {
    use_cache();
    const fs::path other = folder / "bin";
    fs::create_directory(other);
    fs::create_symlink("/usr/bin/ld", other / "ld");
    const std::string path = ".:" + other.string() + "::" + std::getenv("PATH");
    CHECK(in_child([&] { return setenv("PATH", path.c_str(), 1) == 0 && compiles(11); }));
    fs::remove(other / "ld");
    CHECK(in_child([&] { return setenv("PATH", path.c_str(), 1) == 0 && compiles(12); }));
    CHECK(in_child([] { return compiles(13); }));
}

void test_variables_of_the_linker() {
    use_cache();
    for (const char *variable : {"LD_RUN_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GNUTARGET", "SOURCE_DATE_EPOCH"})
        CHECK(in_child([&] { return setenv(variable, "/tmp", 1) == 0 && compiles(14); }));
    CHECK(in_child([] { return compiles(14); }));
}

// Whether it fails so while no file may be longer. What sanitizers write at the end may be.
bool fails_with_files_of(rlim_t bytes, int number, const std::string &words) {
    rlimit before{};
    (void)getrlimit(RLIMIT_FSIZE, &before);
    const rlimit low{bytes, before.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &low) != 0) return false;
    const std::string said = problem(number);
    (void)setrlimit(RLIMIT_FSIZE, &before);
    return says(said, words);
}

void test_limits_of_the_process() {
    use_cache("limits");
    CHECK(in_child([] { return fails_with_files_of(1 << 9, 1, "(ulimit -f)"); }));
    CHECK(in_child([] { return fails_with_files_of(1 << 20, 1, "wrote a file of more than 1048576 bytes"); }));
    CHECK(in_child([] { return compiles(1); }));
}

std::vector<std::string> kernels_of(const char *cache) {
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder / cache))
        if (const std::string name = entry.path().filename(); name.starts_with("kernel-")) names.push_back(name);
    return names;
}

// Binary archives are for programs with other caches: a kernel has one name in all of them. A folder that has moved
// still has its kernels.
void test_caches_elsewhere() {
    const std::vector<std::string> made = kernels_of("limits"), shared = kernels_of("shared");
    CHECK(made.size() == 1 && std::find(shared.begin(), shared.end(), made.front()) != shared.end());
    fs::rename(folder / "limits", folder / "moved");
    use_cache("moved");
    CHECK(in_child([] { return compiles(1); }) && kernels_of("moved") == made);
}

// Sources with literals that differ by the place of our headers are two.
void test_places_in_literals() {
    use_cache();
    CHECK(in_child([] {
        for (const std::string &text : {smtl::msl::Toolchain::shared().headers, std::string()}) {
            const compiled source("constant char t[] = \"" + text +
                                  "\"; kernel void k(device float *x) { x[0] = sizeof(t); }\n");
            std::vector<float> values(1);
            const std::string error = run(source.specialize("k", {}), {&values}, 1);
            if (!error.empty() || values[0] != static_cast<float>(text.size() + 1)) return false;
        }
        return true;
    }));
}

constexpr uid_t nobody = 65534;

// A process that may not read what it writes says so, and leaves a cache that the next one can use.
void test_umask_without_the_owners_rights() {
    const fs::path parent = folder / "umask";
    fs::create_directory(parent);
    fs::permissions(folder, fs::perms::others_exec, fs::perm_options::add);
    use_cache("umask/cache");
    // Root reads everything.
    const auto become_nobody = [&] {
        return geteuid() != 0 ||
               (chown(parent.c_str(), nobody, nobody) == 0 && setgid(nobody) == 0 && setuid(nobody) == 0);
    };
    for (const mode_t mask : {0777, 0477}) {
        CHECK(in_child([&] {
            if (!become_nobody()) return false;
            const mode_t before = umask(mask);
            const bool failed = fails_with(1, "umask denies it");
            (void)umask(before);
            return failed;
        }));
    }
    CHECK(in_child([&] { return become_nobody() && compiles(1) && fs::exists(parent / "cache" / "locks"); }));
}

void test_folders_of_others() {
    if (geteuid() != 0) return;
    const fs::path own = folder / "own";
    fs::create_directory(own);
    CHECK(in_child([&] {
        if (setgid(nobody) != 0 || setuid(nobody) != 0) return false;
        const smtl::msl::Cache cache((own / "cache").string());
        return says(cache.problem(), "cannot be made or read: Permission denied") &&
               smtl::msl::why_not_written(own.string()) == ": Permission denied";
    }));
}

void test_no_descriptors() {
    use_cache();
    for (const rlim_t most : {4, 5, 6, 7}) {
        CHECK(in_child([&] {
            rlimit before{};
            (void)getrlimit(RLIMIT_NOFILE, &before);
            const rlimit low{most, before.rlim_max};
            if (setrlimit(RLIMIT_NOFILE, &low) != 0) return false;
            const std::string said = problem(15);
            (void)setrlimit(RLIMIT_NOFILE, &before);
            return (most > 6 && said.empty()) || says(said, "Too many open files");
        }));
    }
    CHECK(in_child([] { return compiles(15); }));
}

// What a daemon does after it has started.
void test_other_user() {
    if (geteuid() != 0) return;
    use_cache();
    CHECK(in_child([] {
        if (!compiles(20)) return false;
        const auto server = smtl::msl::Toolchain::shared().server;
        // No server with the rights that were given up.
        const bool ended = server->process() != 0 && seteuid(nobody) == 0 && compiles(20) && server->process() == 0;
        const bool works = ended && compiles(21);
        // What sanitizers do at the end needs these rights.
        return seteuid(0) == 0 && works && compiles(22);
    }));
    CHECK(in_child(
        [] { return compiles(20) && setgid(nobody) == 0 && setuid(nobody) == 0 && compiles(20) && compiles(23); }));
}

}  // namespace

int main() {
    std::string name = "/tmp/software-metal-environment-XXXXXX";
    if (!CHECK(mkdtemp(name.data()) != nullptr)) return check::report("msl/compile/environment_test");
    folder = name;
    test_pieces_of_a_crash();
    test_no_path();
    test_linker_that_goes();
    test_variables_of_the_linker();
    test_limits_of_the_process();
    test_caches_elsewhere();
    test_places_in_literals();
    test_umask_without_the_owners_rights();
    test_folders_of_others();
    test_no_descriptors();
    test_other_user();
    fs::remove_all(folder);
    return check::report("msl/compile/environment_test");
}
