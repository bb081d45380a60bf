// The compiler that does the work: which clang, for which processor, with which of our headers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "fork_server.h"
#include "msl/msl.h"
#include "process.h"

namespace smtl::msl {

// What changes how the standard library itself is compiled.
struct Dialect {
    smtl_math_mode math_mode = SMTL_MATH_FAST;
    // The source looks at the elements that a thread holds of a simdgroup matrix; other sources do not pay for that.
    bool thread_elements = false;
    // Instrumented for the kernel sanitizer: every access to memory is a call.
    bool sanitize = false;
    // Messages of kernels are written; other sources do without the code.
    bool logging = false;
    // Instrumented, and for the profiler: operations and branches are calls too.
    bool counted = false;

    std::string name() const {
        return std::string(math_mode == SMTL_MATH_SAFE ? "safe" : "fast") + (thread_elements ? "-elements" : "") +
               (sanitize ? "-sanitized" : "") + (logging ? "-logging" : "") + (counted ? "-counted" : "");
    }
};

struct Toolchain {
    std::string clang;  // path of the program; empty: none found
    int version = 0;
    // The same wherever the cache lies, as machine code is.
    std::string compiler_fingerprint;  // of its version, the processor, our headers and the translator
    std::string fingerprint;  // of these, the optimisation and the linker
    std::string headers;  // folder of the unpacked headers
    std::string resources;  // folder of the compiler's own headers
    std::string optimization;  // -O1 to -O3
    std::vector<std::string>
        linker;  // the command that makes a shared object, with the two names below in place of files
    std::string problem;  // why it cannot be used
    std::shared_ptr<ForkServer> server;  // with the compiler loaded
    uid_t user = geteuid();  // whose cache has the headers
    bool prefers_widest_registers = false;  // vectors of 64 bytes if the processor has them

    static constexpr const char *link_input = "\1input.o";
    static constexpr const char *link_output = "\1output";

    // Found on first use, for each user that the process works as, and looked for again as long as it cannot be used.
    static const Toolchain &shared();

    // Our headers, in the cache if they are not there yet: their folder, empty on failure.
    static std::string unpack_headers();
    static bool misses_headers();

    // Runs the compiler: the first argument is its path. See run_process.
    ProcessResult run(const std::vector<std::string> &arguments, const std::string &input, const std::string &folder,
                      const ProcessBounds &bounds = {}) const;
    // Arguments that every compilation of translated code shares.
    std::vector<std::string> compile_arguments(const Dialect &dialect) const;
    // The linker's command for object files. Run without the compiler's driver, which takes longer to start than the
    // linker. `libraries`: the files call functions of the C library's or of the compiler's. To look for these takes as
    // long as all else that the linker does.
    std::vector<std::string> link_arguments(const Dialect &dialect, const std::vector<std::string> &objects,
                                            bool libraries, const std::string &output) const;
};

}  // namespace smtl::msl
