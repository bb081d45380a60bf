#include "locations.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <sstream>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "msl/compile/diagnostics.h"

extern char **environ;

namespace smtl::sanitize {
namespace {

/* What a program prints; empty if it cannot be run. */
std::string output_of(const char *const *arguments) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    pid_t child = 0;
    const bool started =
        posix_spawnp(&child, arguments[0], &actions, nullptr, const_cast<char *const *>(arguments), environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    std::string text;
    char part[4096];
    /* Signals of the host's own interrupt both calls. */
    for (ssize_t got = 1; started && got != 0;) {
        got = read(ends[0], part, sizeof part);
        if (got < 0 && errno != EINTR) break;
        if (got > 0) text.append(part, size_t(got));
    }
    close(ends[0]);
    while (started && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    return text;
}

/* The file as the program knows it; empty for the software Metal's own headers, and for the few lines that it writes
 * around a kernel. Kernels are compiled in the folder of these headers, so relative names lie there. */
std::string name_in_program(const std::string &file) {
    constexpr size_t digest_length = 64;
    const size_t headers = file.find("/headers-");
    if (headers == std::string::npos) return file == "??" ? "" : file;
    const std::string relative = file.substr(std::min(file.size(), headers + sizeof "/headers-" + digest_length));
    const bool is_library = relative.starts_with("smtl/") || relative.starts_with("msl/") || relative == "-" ||
                            relative == msl::surroundings_name;
    return is_library ? "" : relative;
}

/* Each frame is two lines: the function, and file:line. The innermost frame comes first. */
location innermost_of_program(const std::string &frames) {
    std::istringstream lines(frames);
    std::string function, position;
    while (std::getline(lines, function) && std::getline(lines, position)) {
        position = position.substr(0, position.find(" (discriminator"));
        const size_t colon = position.rfind(':');
        const std::string file = colon == std::string::npos ? "" : name_in_program(position.substr(0, colon));
        if (file.empty()) continue;
        const unsigned long line = std::strtoul(position.c_str() + colon + 1, nullptr, 10);
        if (line != 0) return {function.substr(0, function.find('(')), file, uint32_t(line)};
    }
    return {};
}

/* Command lines have an end. */
constexpr size_t most_addresses = 512;

/* The frames of each address; nothing if no tool can be run. */
std::vector<std::string> frames_of(const std::string &path, std::span<const uint32_t> offsets) {
    std::vector<std::string> addresses;
    for (const uint32_t offset : offsets) {
        char address[16];
        std::snprintf(address, sizeof address, "0x%x", offset);
        addresses.emplace_back(address);
    }
    for (const char *program : {"addr2line", "llvm-addr2line", "llvm-addr2line-19"}) {
        std::vector<const char *> arguments = {program, "-e", path.c_str(), "-a", "-i", "-f", "-C"};
        for (const std::string &address : addresses) arguments.push_back(address.c_str());
        arguments.push_back(nullptr);
        std::istringstream lines(output_of(arguments.data()));
        std::vector<std::string> frames;
        /* Before the frames of an address comes a line with the address. */
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with("0x"))
                frames.emplace_back();
            else if (!frames.empty())
                frames.back() += line + "\n";
        if (frames.size() == offsets.size()) return frames;
    }
    return {};
}

struct known_locations {
    std::mutex mutex;
    std::map<std::pair<std::string, uint32_t>, location> known;
};

/* Never destroyed: a process may end while kernels run. */
known_locations &locations() {
    static known_locations *const only = new known_locations;
    return *only;
}

}  // namespace

std::string location::text() const { return line == 0 ? "an unknown line" : file + ":" + std::to_string(line); }

const location &locate(const std::string &path, uint32_t offset) {
    locate_together(path, {offset});
    const std::lock_guard guard(locations().mutex);
    return locations().known.at({path, offset});
}

void locate_together(const std::string &path, const std::vector<uint32_t> &offsets) {
    const std::lock_guard guard(locations().mutex);
    std::vector<uint32_t> unknown;
    for (const uint32_t offset : offsets)
        if (locations().known.try_emplace({path, offset}).second) unknown.push_back(offset);
    for (size_t first = 0; first < unknown.size(); first += most_addresses) {
        const std::span part = std::span(unknown).subspan(first, std::min(most_addresses, unknown.size() - first));
        const std::vector<std::string> found = frames_of(path, part);
        for (size_t i = 0; i < found.size(); ++i) locations().known[{path, part[i]}] = innermost_of_program(found[i]);
    }
}

}  // namespace smtl::sanitize
