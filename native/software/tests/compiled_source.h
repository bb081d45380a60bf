// Compiles a Metal source, keeps what the compiler says of it, and runs its kernels over vectors.
#ifndef SMTL_TESTS_COMPILED_SOURCE_H
#define SMTL_TESTS_COMPILED_SOURCE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "engine/engine.h"
#include "metal_program.h"
#include "msl/msl.h"

inline bool says(const std::string &text, const std::string &part) {
    if (text.find(part) != std::string::npos) return true;
    std::fprintf(stderr, "not found: %s\nin: %s\n", part.c_str(), text.c_str());
    return false;
}

struct compiled {
    smtl_library *library = nullptr;
    std::string log;

    explicit compiled(const std::string &source, const smtl_compile_options *options = nullptr) {
        char *text = nullptr;
        library = smtl_library_compile(source.data(), source.size(), options, &text);
        if (text) log = text;
        std::free(text);
    }
    compiled(const compiled &) = delete;
    compiled &operator=(const compiled &) = delete;
    ~compiled() { smtl_library_release(library); }

    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (size_t i = 0; library && i < smtl_library_function_count(library); ++i)
            found.emplace_back(smtl_library_function_name(library, i));
        return found;
    }
    bool says(const std::string &part) const { return ::says(log, part); }
    std::string specialize(const char *function, const std::vector<smtl_constant_value> &values,
                           std::string *error = nullptr) const {
        char *text = nullptr;
        char *path = smtl_library_specialize(library, function, values.data(), values.size(), nullptr, &text);
        const std::string result = path ? path : "";
        if (error && text) *error = text;
        std::free(path);
        std::free(text);
        return result;
    }
};

inline smtl_constant_value constant(uint32_t index, uint32_t type, int64_t value) {
    smtl_constant_value result{nullptr, index, type, {}};
    std::memcpy(result.bytes, &value, sizeof value);
    return result;
}
inline constexpr uint32_t type_float = 3, type_half = 16, type_int = 29, type_uint = 33, type_bool = 53,
                          type_short = 37;

// Runs a kernel over `threads` threads, one threadgroup.
inline std::string run(const std::string &path, std::vector<std::vector<float> *> buffers, uint32_t threads,
                       uint32_t memory = 0) {
    char *error = nullptr;
    smtl_kernel *kernel = smtl_kernel_load(path.c_str(), "smtl_entry", &error);
    std::string message = error ? error : "";
    std::free(error);
    if (!kernel) return "not loaded: " + message;
    launch work(kernel);
    for (uint32_t i = 0; i < buffers.size(); ++i)
        if (buffers[i]) work.buffer(i, *buffers[i]);
    if (memory) work.threadgroup_memory(0, memory);
    message = work.run({threads, 1, 1}, {threads, 1, 1});
    smtl_kernel_release(kernel);
    return message;
}

inline const std::string head = "#include <metal_stdlib>\nusing namespace metal;\n";

// Kernel `k` writes the floats that are wanted. It is given them first, in device memory, with `first` before zeros,
// and {5, 6} in constant memory.
inline void expect_results(const std::string &source, const std::vector<float> &wanted, float first = 0,
                           uint32_t memory = 0) {
    const compiled library(source);
    std::vector<float> x(wanted.size()), c = {5, 6};
    x[0] = first;
    if (!CHECK(library.library != nullptr && library.log.empty())) std::fprintf(stderr, "%s\n", library.log.c_str());
    const std::string error = library.library ? run(library.specialize("k", {}), {&x, &c}, 1, memory) : "";
    if (CHECK(error.empty() && x == wanted)) return;
    std::fprintf(stderr, "%s got:", error.c_str());
    for (const float value : x) std::fprintf(stderr, " %g", value);
    std::fprintf(stderr, "\nin: %s\n", source.c_str());
}

#endif
