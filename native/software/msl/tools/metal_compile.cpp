// Compiles Metal sources with the software Metal's compiler, and says what is in them:
//   metal_compile [-I folder] [-D name[=value]] [--safe] [--all] source.metal...
// --all also generates code for every kernel, with function constants that are zero.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "msl/msl.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool generate_all(smtl_library *library) {
    bool good = true;
    const smtl_function_constant *constants = nullptr;
    std::vector<smtl_constant_value> zeros(smtl_library_function_constants(library, &constants));
    for (std::size_t i = 0; i < zeros.size(); ++i) zeros[i] = {nullptr, constants[i].index, constants[i].data_type, {}};
    const std::size_t count = smtl_library_function_count(library);
    for (std::size_t i = 0; i < count; ++i) {
        const char *name = smtl_library_function_name(library, i);
        const auto start = std::chrono::steady_clock::now();
        char *log = nullptr;
        char *path = smtl_library_specialize(library, name, zeros.data(), zeros.size(), nullptr, &log);
        std::printf("  %-60s %s %.2f s\n", name, path ? "ok" : "FAILED", seconds_since(start));
        if (!path && log) std::printf("%s", log);
        good = good && path;
        std::free(path);
        std::free(log);
    }
    return good;
}

}  // namespace

int main(int argc, char **argv) {
    std::vector<const char *> folders;
    std::vector<std::string> names, values;
    std::vector<const char *> files;
    smtl_compile_options options{};
    options.math_mode = SMTL_MATH_FAST;
    bool all = false;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "-I" && i + 1 < argc) {
            folders.push_back(argv[++i]);
        } else if (argument == "-D" && i + 1 < argc) {
            const std::string macro = argv[++i];
            const std::size_t equals = macro.find('=');
            names.push_back(macro.substr(0, equals));
            values.push_back(equals == std::string::npos ? "1" : macro.substr(equals + 1));
        } else if (argument == "--safe") {
            options.math_mode = SMTL_MATH_SAFE;
        } else if (argument == "--all") {
            all = true;
        } else {
            files.push_back(argv[i]);
        }
    }
    std::vector<smtl_macro> macros;
    for (std::size_t i = 0; i < names.size(); ++i) macros.push_back({names[i].c_str(), values[i].c_str()});
    options.macros = macros.data();
    options.macro_count = macros.size();
    options.include_paths = folders.data();
    options.include_path_count = folders.size();

    bool good = !files.empty();
    for (const char *file : files) {
        std::ifstream stream(file, std::ios::binary);
        if (!stream) {
            std::fprintf(stderr, "%s: %s\n", file, std::strerror(errno));
            good = false;
            continue;
        }
        const std::string source{std::istreambuf_iterator<char>(stream), {}};
        options.name = file;
        const auto start = std::chrono::steady_clock::now();
        char *log = nullptr;
        smtl_library *library = smtl_library_compile(source.data(), source.size(), &options, &log);
        if (log) std::printf("%s", log);
        std::free(log);
        if (!library) {
            std::printf("%s: FAILED\n", file);
            good = false;
            continue;
        }
        std::printf("%s: %zu kernels, %zu function constants, %.2f s\n", file, smtl_library_function_count(library),
                    smtl_library_function_constants(library, nullptr), seconds_since(start));
        if (all) good = generate_all(library) && good;
        smtl_library_release(library);
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
