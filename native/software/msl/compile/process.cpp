#include "process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "fork_server.h"
#include "spawn.h"

extern char **environ;

namespace smtl::msl {
namespace {

// Variables that we set, and those that change what the compiler or the linker makes of the same arguments.
bool is_ours(const char *entry) {
    for (const char *name : {"PATH=", "TMPDIR=", "LC_ALL=", "CPATH=", "C_INCLUDE_PATH=", "CPLUS_INCLUDE_PATH=",
                             "CCC_OVERRIDE_OPTIONS=", "COMPILER_PATH=", "GCC_EXEC_PREFIX=", "LIBRARY_PATH=",
                             "LD_RUN_PATH=", "GNUTARGET=", "LDEMULATION=", "SOURCE_DATE_EPOCH="}) {
        if (std::strncmp(entry, name, std::strlen(name)) == 0) return true;
    }
    return false;
}

void limit(pid_t process, __rlimit_resource resource, rlim_t value) {
    const rlimit bound = bounded(resource, value);
    // A limit that cannot be set leaves the program unbounded, no worse.
    (void)prlimit(process, resource, &bound, nullptr);
}

// Ends the process when its time is over, and returns whether it had to. On Linux kernels without process descriptors
// it waits for ever.
bool end_in_time(pid_t process, std::uint64_t seconds) {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (descriptor < 0) return false;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    int ready = 0;
    for (auto left = end - std::chrono::steady_clock::now(); ready <= 0 && left.count() > 0;
         left = end - std::chrono::steady_clock::now()) {
        pollfd wanted{descriptor, POLLIN, 0};
        const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
        ready = poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(milliseconds, 1 << 20)));
        if (ready < 0 && errno != EINTR) break;
    }
    (void)close(descriptor);
    if (ready != 0) return false;
    (void)kill(process, SIGKILL);
    return true;
}

std::string count_of(std::uint64_t number, const std::string &unit) {
    return std::to_string(number) + " " + unit + (number == 1 ? "" : "s");
}

// What the program did that a bound ended; empty if something else did. The bound on processor time is a hard one:
// SIGKILL comes instead of SIGXCPU. The system counts whole ticks against the bound, and may charge a busy machine's
// program for twice of what it has had.
std::string reached_bound(int signal, bool too_slow, std::uint64_t processor_milliseconds,
                          const ProcessBounds &bounds) {
    if (too_slow) return "took longer than " + count_of(bounds.seconds, "second");
    const rlim_t processor_seconds = bounded(RLIMIT_CPU, bounds.processor_seconds).rlim_cur;
    if (signal == SIGXCPU ||
        (signal == SIGKILL && processor_seconds > 0 && processor_milliseconds * 2 >= processor_seconds * 1000))
        return "took more than " + count_of(processor_seconds, "second") + " of processor time";
    if (signal == SIGXFSZ)
        return "wrote a file of more than " + count_of(bounded(RLIMIT_FSIZE, bounds.file_bytes).rlim_cur, "byte");
    return {};
}

// What programs say that are refused memory, each in its own words.
bool ran_out_of_memory(const std::string &errors) {
    for (const char *words :
         {"out of memory", "std::bad_alloc", "Cannot allocate memory", "failed to map segment", "memory exhausted"}) {
        if (errors.find(words) != std::string::npos) return true;
    }
    return false;
}

// Whether a program that crashed said what is wrong. On a full disk pieces of the compiler's long story may be left.
bool names_a_fault(const std::string &errors) {
    for (const char *words : {"error:", "ERROR:", "PLEASE submit a bug report"})
        if (errors.find(words) != std::string::npos) return true;
    return ran_out_of_memory(errors);
}

// For a program that failed and said nothing: on a full disk its words are lost too, and what it wrote may be gone.
std::string silent_failure(const std::string &program, const std::string &folder) {
    return "error: " + program + " failed without a message" + little_room(folder) + "\n";
}

std::vector<const char *> environment_of_programs(const std::string &path, const std::string &temporary) {
    std::vector<const char *> environment;
    for (char **entry = environ; entry && *entry; ++entry)
        if (!is_ours(*entry)) environment.push_back(*entry);
    // Messages in English, and temporary files where they are cleaned up.
    environment.insert(environment.end(), {path.c_str(), "LC_ALL=C", temporary.c_str()});
    return environment;
}

ProcessEnd wait_for(pid_t process, const ProcessBounds &bounds) {
    ProcessEnd end;
    limit(process, RLIMIT_CPU, bounds.processor_seconds);
    limit(process, RLIMIT_AS, bounds.address_space);
    limit(process, RLIMIT_FSIZE, bounds.file_bytes);
    limit(process, RLIMIT_CORE, 0);
    end.too_slow = end_in_time(process, bounds.seconds);
    int status = 0;
    pid_t waited;
    rusage used{};
    do {
        waited = wait4(process, &status, 0, &used);
    } while (waited < 0 && errno == EINTR);
    if (waited > 0) end.status = status;
    end.processor_milliseconds = static_cast<std::uint64_t>((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                                                            (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
    return end;
}

// Starts the program and waits for its end; nothing, with `error`, if it cannot be started.
std::optional<ProcessEnd> spawn(const ProcessStart &start, std::string &error) {
    SpawnSettings settings;
    posix_spawn_file_actions_addopen(&settings.actions, 0, start.input.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&settings.actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&settings.actions, 2, start.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    // The compiler gets nothing else that the host has open.
    posix_spawn_file_actions_addclosefrom_np(&settings.actions, 3);
    settings.reset_signals();
    const std::vector<char *> arguments = words_of(start.arguments), environment = words_of(start.environment);
    pid_t process = 0;
    const int failure = posix_spawn(&process, arguments[0], &settings.actions, &settings.attributes, arguments.data(),
                                    environment.data());
    if (failure == 0) return wait_for(process, start.bounds);
    error = start.arguments[0] + ": " + std::strerror(failure);
    return std::nullopt;
}

}  // namespace

std::vector<std::string> program_folders() {
    const char *path = std::getenv("PATH");
    std::vector<std::string> folders;
    // Whatever folder a later process works in would have its say in what is cached.
    for (std::string &folder : folders_of(path ? path : ""))
        if (folder.starts_with("/")) folders.push_back(std::move(folder));
    return folders.empty() ? std::vector<std::string>{"/usr/local/bin", "/usr/bin", "/bin"} : folders;
}

std::string program_path() {
    std::string path;
    for (const std::string &folder : program_folders()) path += (path.empty() ? "" : ":") + folder;
    return path;
}

rlimit bounded(__rlimit_resource resource, rlim_t value) {
    rlimit own{};
    (void)getrlimit(resource, &own);
    return {std::min(own.rlim_cur, value), std::min(own.rlim_max, value)};
}

ProcessResult run_process(const std::vector<std::string> &arguments, const std::string &input,
                          const std::string &folder, const ProcessBounds &bounds, ForkServer *server) {
    ProcessResult result;
    const std::string path = "PATH=" + program_path(), temporary = "TMPDIR=" + folder;
    const ProcessStart start{arguments, environment_of_programs(path, temporary), input.empty() ? "/dev/null" : input,
                             folder + "/errors", bounds};
    std::optional<ProcessEnd> end;
    if (server) end = server->run(start);
    if (!end) end = spawn(start, result.errors);
    if (!end) return result;
    result.started = true;
    result.errors = read_file(start.errors, bounds.error_bytes).value_or("");
    if (!end->status) {
        // What the program left behind has to tell.
        result.succeeded = result.errors.find("error:") == std::string::npos;
    } else if (WIFEXITED(*end->status)) {
        // What clang adds a signal to, when it ends because of one.
        constexpr int crashed = 128;
        result.succeeded = WEXITSTATUS(*end->status) == 0;
        if (WEXITSTATUS(*end->status) > crashed && !names_a_fault(result.errors)) result.errors.clear();
    } else if (WIFSIGNALED(*end->status)) {
        const int signal = WTERMSIG(*end->status);
        std::string reason = reached_bound(signal, end->too_slow, end->processor_milliseconds, bounds);
        // Clang takes the signal of a bound for a fault of its own, and says much about it.
        if (!reason.empty() || !names_a_fault(result.errors)) result.errors.clear();
        if (reason.empty()) reason = "was ended by signal " + std::to_string(signal) + little_room(folder);
        result.errors += "error: " + arguments[0] + " " + reason + "\n";
    }
    if (!result.succeeded && ran_out_of_memory(result.errors)) {
        result.errors = "error: " + arguments[0] + " needed more than " +
                        std::to_string(bounded(RLIMIT_AS, bounds.address_space).rlim_cur >> 20) + " MB of memory\n";
    }
    result.silent = !result.succeeded && result.errors.empty();
    if (result.silent) result.errors = silent_failure(arguments[0], folder);
    return result;
}

}  // namespace smtl::msl
