// Runs a program to its end, without a shell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace smtl::msl {

class ForkServer;

struct ProcessResult {
    bool started = false;
    bool succeeded = false;  // exited with status 0
    bool silent = false;     // failed, and did not say why
    std::string errors;      // what it wrote on standard error, or why it could not be run
};

// What a program may take: generous for any real kernel, an end to what a source could ask of the compiler.
struct ProcessBounds {
    std::uint64_t processor_seconds = 600;
    std::uint64_t seconds = 1800;  // of the clock: a named pipe that a source includes may never be written to
    std::uint64_t address_space = std::uint64_t{8} << 30;
    std::uint64_t file_bytes = std::uint64_t{4} << 30;  // of each file that it writes
    std::size_t error_bytes = std::size_t{1} << 20;     // that are read of what it says
};

// The absolute folders of the host's PATH; the usual ones if it has none.
std::vector<std::string> program_folders();
// The same as a program's PATH.
std::string program_path();

// What a program of this process may have at most: `value`, or what the process itself may have if that is less.
rlimit bounded(__rlimit_resource resource, rlim_t value);

// What a program is started with. The first argument is its path.
struct ProcessStart {
    const std::vector<std::string> &arguments;
    std::vector<const char *> environment;
    std::string input, errors;  // files
    ProcessBounds bounds;
};

struct ProcessEnd {
    std::optional<int> status;  // as wait gives it; nothing if the host ignores SIGCHLD, so that the system kept none
    bool too_slow = false;
    std::uint64_t processor_milliseconds = 0;
};

// Standard input is read from the file `input`, standard output discarded, standard error collected in a file of
// `folder`, which is also where the program is told to make temporary files. A program that goes beyond its bounds is
// ended. If `server` has the program loaded, it starts there.
ProcessResult run_process(const std::vector<std::string> &arguments, const std::string &input,
                          const std::string &folder, const ProcessBounds &bounds = {}, ForkServer *server = nullptr);

}  // namespace smtl::msl
