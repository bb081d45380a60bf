// A process may end while threads compile: nothing that they use is destroyed before. AddressSanitizer and
// ThreadSanitizer see it if something is.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check.h"
#include "msl/msl.h"

namespace {

std::atomic<unsigned> compiled{0};

void compile_for_ever(unsigned thread) {
    for (unsigned i = 0;; ++i) {
        const std::string name =
            "k" + std::to_string(getpid()) + "_" + std::to_string(thread) + "_" + std::to_string(i);
        const std::string source = "#include <metal_stdlib>\nusing namespace metal;\nkernel void " + name +
                                   "(device float *a, uint i [[thread_position_in_grid]]) { a[i] = simd_sum(a[i]); }\n";
        char *log = nullptr;
        smtl_library *const library = smtl_library_compile(source.data(), source.size(), nullptr, &log);
        if (library) compiled.fetch_add(1);
        smtl_library_release(library);
        std::free(log);
    }
}

// The last to be called of what the process does at its end: by then the others are in the middle of a translation.
void linger() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    for (const unsigned seen = compiled.load(); compiled.load() < seen + 3; usleep(1000))
        if (std::chrono::steady_clock::now() > end) _exit(1);
}

void end_while_threads_compile() {
    std::atexit(linger);
    for (unsigned thread = 0; thread < 2; ++thread) std::thread(compile_for_ever, thread).detach();
    while (compiled.load() == 0) usleep(1000);
    std::exit(0);
}

}  // namespace

int main() {
    const pid_t child = fork();
    if (child == 0) end_while_threads_compile();
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return check::report("msl/exit_test");
}
