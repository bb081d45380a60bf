// What clang adds because it compiles for a device of SYCL, and what is taken out again: a list in precompiled headers,
// attributes of functions.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "msl/compile/deferred_checks.h"
#include "msl/compile/file.h"
#include "msl/compile/process.h"
#include "msl/compile/toolchain.h"
#include "msl/machine_code/device_attributes.h"

namespace fs = std::filesystem;
using namespace smtl::msl;

namespace {

constexpr const char *functions = "inline int twice(int a) { return a + a; }\n"
                                  "template <typename T> T same(T a) { return a; }\n"
                                  "inline int four() { return same(twice(2)); }\n";

bool compile(const std::string &folder, const char *text, const std::vector<std::string> &more) {
    (void)unlink((folder + "/input").c_str());
    if (!write_file(folder + "/input", text)) return false;
    std::vector<std::string> arguments = Toolchain::shared().compile_arguments({});
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.emplace_back("-");
    const ProcessResult result = run_process(arguments, folder + "/input", folder);
    if (!result.succeeded) std::fprintf(stderr, "%s\n", result.errors.c_str());
    return result.succeeded;
}

std::string precompile(const std::string &folder) {
    const std::string header = folder + "/header.pch";
    return compile(folder, functions, {"-fpch-instantiate-templates", "-x", "c++-header", "-o", header}) ? header : "";
}

void test_the_list_is_taken_out_once(const std::string &folder) {
    const std::string header = precompile(folder);
    const std::string before = read_file(header).value_or("");
    CHECK(before.size() > 1000);
    const int version = Toolchain::shared().version;
    CHECK(!forget_deferred_checks(header, 1000));
    CHECK(read_file(header) == before);
    CHECK(forget_deferred_checks(header, version));
    const std::string after = read_file(header).value_or("");
    CHECK(after.size() == before.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < before.size(); ++i) different += before[i] != after[i];
    CHECK(different > 0 && different <= 3);
    CHECK(!forget_deferred_checks(header, version));
    CHECK(compile(folder, "int five() { return four() + same(1); }\n",
                  {"-include-pch", header, "-x", "c++", "-c", "-o", folder + "/object"}));
}

// The reader stays within a header that ends early or says something else.
void test_damaged_headers_are_refused_or_read(const std::string &folder) {
    const std::string whole = read_file(precompile(folder)).value_or(""), header = folder + "/damaged.pch";
    const int version = Toolchain::shared().version;
    CHECK(!forget_deferred_checks(folder + "/missing.pch", version));
    std::uint64_t state = 1;
    const auto random = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
    for (int i = 0; i < 300; ++i) {
        std::string damaged = whole.substr(0, i % 3 == 0 ? random() % whole.size() : whole.size());
        for (int j = 0; j < i % 7 && !damaged.empty(); ++j) {
            damaged[random() % damaged.size()] = static_cast<char>(random());
            damaged[random() % std::min<std::size_t>(damaged.size(), 400)] ^= 1 << random() % 8;
        }
        (void)unlink(header.c_str());
        CHECK(write_file(header, damaged));
        (void)forget_deferred_checks(header, version);
        CHECK(read_file(header).value_or("").size() == damaged.size());
    }
}

void test_device_attributes_are_dropped() {
    CHECK(drop_device_attributes("call void @convergent () #1\n"
                                 "attributes #1 = { alwaysinline convergent mustprogress norecurse nounwind }\n"
                                 "attributes #2 = { convergent }\n"
                                 "attributes #3 = { nounwind }") ==
          "call void @convergent () #1\n"
          "attributes #1 = { alwaysinline mustprogress nounwind }\n"
          "attributes #2 = { }\n"
          "attributes #3 = { nounwind }");
}

}  // namespace

int main() {
    const TemporaryFolder folder(fs::temp_directory_path().string());
    CHECK(folder.made() && Toolchain::shared().problem.empty());
    test_the_list_is_taken_out_once(folder.path());
    (void)unlink((folder.path() + "/header.pch").c_str());
    test_damaged_headers_are_refused_or_read(folder.path());
    test_device_attributes_are_dropped();
    return check::report("msl/device_mode_test");
}
