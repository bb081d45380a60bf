// The compile cache is deleted between compilations, in the middle of them, in part and again and again.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "compiled_source.h"

namespace fs = std::filesystem;

namespace {

fs::path cache;

std::string source_of(int number) {
    return "struct S { float x, y; };\nkernel void k(device S *s) { s[0].y = s[0].x * " + std::to_string(number) +
           "; }\n";
}

bool runs(const compiled &source, int number) {
    std::vector<float> values = {2, 0};
    std::string error;
    const std::string path = source.library ? source.specialize("k", {}, &error) : "";
    if (path.empty()) std::fprintf(stderr, "%s%s\n", source.log.c_str(), error.c_str());
    return !path.empty() && run(path, {&values}, 1).empty() && values[1] == 2 * static_cast<float>(number);
}

void remove_entries(const std::string &prefix) {
    std::vector<fs::path> entries;
    for (const fs::directory_entry &entry : fs::directory_iterator(cache))
        if (entry.path().filename().string().starts_with(prefix)) entries.push_back(entry.path());
    CHECK(!entries.empty());
    for (const fs::path &entry : entries) fs::remove_all(entry);
}

// All but what takes seconds to compile.
void remove_all_but_the_standard_library() {
    for (const fs::directory_entry &entry : fs::directory_iterator(cache)) {
        std::error_code error;  // a lock may go as it is listed
        if (!entry.path().filename().string().starts_with("stdlib-")) fs::remove_all(entry.path(), error);
    }
}

void test_between_compilations() {
    int number = 1;
    const compiled first(source_of(number));
    CHECK(runs(first, number));
    fs::remove_all(cache);
    CHECK(runs(first, number));
    remove_all_but_the_standard_library();
    const smtl_argument *arguments = nullptr;
    CHECK(smtl_library_arguments(first.library, "k", &arguments) == 1);
    const smtl_type *pointee = smtl_library_pointee(first.library, arguments);
    CHECK(pointee && pointee->member_count == 2);
    for (const char *part : {"", "headers-", "stdlib-", "library-"}) {
        remove_entries(part);
        ++number;
        CHECK(runs(compiled(source_of(number)), number));
        // If the library is known, the kernel alone is compiled.
        const compiled known(source_of(number));
        remove_entries(part);
        if (*part) remove_entries("kernel-");
        CHECK(runs(known, number));
    }
    // What somebody began to delete.
    for (const fs::directory_entry &entry : fs::directory_iterator(cache))
        if (entry.path().filename().string().starts_with("headers-")) fs::remove_all(entry.path() / "msl");
    fs::remove_all(cache / "locks");
    ++number;
    CHECK(runs(compiled(source_of(number)), number));
    char *log = nullptr;
    fs::remove_all(cache);
    CHECK(smtl_lint(source_of(number).data(), source_of(number).size(), nullptr, &log));
    std::free(log);
    // An error of the source stays one.
    remove_all_but_the_standard_library();
    CHECK(compiled("kernel void k() { x; }").log.find("undeclared identifier 'x'") != std::string::npos);
}

void test_in_the_middle() {
    int number = 100;
    for (const int milliseconds : {30, 100, 400, 1200}) {
        std::thread deleter([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
            std::error_code error;
            fs::remove_all(cache, error);
        });
        ++number;
        CHECK(runs(compiled(source_of(number)), number));
        deleter.join();
    }
}

void test_again_and_again() {
    std::atomic<bool> done{false};
    std::thread deleter([&] {
        while (!done) {
            std::error_code error;
            fs::remove_all(cache, error);
        }
    });
    const compiled hopeless(source_of(1000));
    done = true;
    deleter.join();
    // The folder may also be gone before it can be made.
    CHECK(!hopeless.library && hopeless.says(" " + cache.string()));
    CHECK(runs(compiled(source_of(1000)), 1000));
}

}  // namespace

int main() {
    std::string folder = "/tmp/software-metal-deleted-XXXXXX";
    if (!CHECK(mkdtemp(folder.data()) != nullptr)) return check::report("msl/compile/deleted_cache_test");
    cache = fs::path(folder) / "cache";
    setenv("SOFTWARE_METAL_CACHE", cache.c_str(), 1);
    test_between_compilations();
    test_in_the_middle();
    test_again_and_again();
    fs::remove_all(folder);
    return check::report("msl/compile/deleted_cache_test");
}
