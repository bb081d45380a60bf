// Checks Metal sources as strictly as Apple's compiler does: metal_lint [-I folder]... source.metal...
// Prints what is wrong and exits with 1 where something is.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "msl/msl.h"

int main(int argc, char **argv) {
    std::vector<const char *> folders, files;
    for (int i = 1; i < argc; ++i)
        if (std::strcmp(argv[i], "-I") == 0 && i + 1 < argc)
            folders.push_back(argv[++i]);
        else
            files.push_back(argv[i]);
    bool good = !files.empty();
    for (const char *file : files) {
        std::ifstream stream(file, std::ios::binary);
        if (!stream) {
            std::fprintf(stderr, "%s: %s\n", file, std::strerror(errno));
            good = false;
            continue;
        }
        const std::string source{std::istreambuf_iterator<char>(stream), {}};
        smtl_compile_options options{};
        options.include_paths = folders.data();
        options.include_path_count = folders.size();
        options.name = file;
        char *log = nullptr;
        good = smtl_lint(source.data(), source.size(), &options, &log) && good;
        if (log) std::printf("%s", log);
        std::free(log);
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
