/* Compiles a Metal source and runs its kernels on vectors of the test's own. */
#ifndef SMTL_TESTS_METAL_PROGRAM_H
#define SMTL_TESTS_METAL_PROGRAM_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "msl/msl.h"

struct size3 {
    uint32_t x = 1, y = 1, z = 1;
};

class metal_program {
public:
    explicit metal_program(const std::string &source, smtl_math_mode math_mode = SMTL_MATH_SAFE) {
        const std::string whole = "#include <metal_stdlib>\nusing namespace metal;\n" + source;
        char *log = nullptr;
        smtl_compile_options options{};
        options.math_mode = math_mode;
        library_ = smtl_library_compile(whole.data(), whole.size(), &options, &log);
        if (library_ == nullptr) give_up("the source does not compile", log);
        std::free(log);
    }
    ~metal_program() {
        for (const auto &[name, kernel] : kernels_) smtl_kernel_release(kernel);
        smtl_library_release(library_);
    }
    metal_program(const metal_program &) = delete;
    metal_program &operator=(const metal_program &) = delete;

    smtl_library *library() const { return library_; }
    const smtl_kernel *kernel(const std::string &name, const smtl_linking *linking = nullptr) {
        if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second;
        char *log = nullptr;
        char *path = smtl_library_specialize(library_, name.c_str(), nullptr, 0, linking, &log);
        if (path == nullptr) give_up("kernel " + name + " does not compile", log);
        std::free(log);
        char *error = nullptr;
        smtl_kernel *loaded = smtl_kernel_load(path, "smtl_entry", &error);
        if (loaded == nullptr) give_up("kernel " + name + " does not load", error);
        std::free(path);
        return kernels_[name] = loaded;
    }

private:
    [[noreturn]] static void give_up(const std::string &what, const char *why) {
        std::fprintf(stderr, "%s: %s\n", what.c_str(), why != nullptr ? why : "");
        std::exit(1);
    }

    smtl_library *library_;
    std::map<std::string, smtl_kernel *> kernels_;
};

/* One launch in the making. */
class launch {
public:
    explicit launch(const smtl_kernel *kernel) { raw.kernel = kernel; }

    template <class T> launch &buffer(uint32_t index, std::vector<T> &elements) {
        return bytes(index, elements.data(), elements.size() * sizeof(T));
    }
    template <class T> launch &constant(uint32_t index, T &value) { return bytes(index, &value, sizeof(T)); }
    launch &bytes(uint32_t index, void *address, size_t length) {
        raw.buffers[index] = address;
        raw.buffer_lengths[index] = length;
        return *this;
    }
    launch &threadgroup_memory(uint32_t index, uint32_t length) {
        raw.threadgroup_lengths[index] = length;
        return *this;
    }

    /* Returns the error; empty if the launch went well. */
    std::string run(size3 grid, size3 threadgroup) {
        const uint32_t g[] = {grid.x, grid.y, grid.z}, t[] = {threadgroup.x, threadgroup.y, threadgroup.z};
        std::memcpy(raw.threads_per_grid, g, sizeof g);
        std::memcpy(raw.threads_per_threadgroup, t, sizeof t);
        char *error = nullptr;
        const bool finished = smtl_launch_run(&raw, &failure, &error);
        const std::string message = error != nullptr ? error : "";
        std::free(error);
        return finished ? "" : message.empty() ? "failed without a message" : message;
    }

    smtl_launch raw{};
    smtl_failure failure = SMTL_FAILURE_NONE; /* of the last run */
};

/* Whether an error's text has all of these words. */
inline bool mentions(const std::string &message, std::initializer_list<const char *> words) {
    for (const char *word : words)
        if (message.find(word) == std::string::npos) {
            std::fprintf(stderr, "'%s' does not mention '%s'\n", message.c_str(), word);
            return false;
        }
    return true;
}

#endif
