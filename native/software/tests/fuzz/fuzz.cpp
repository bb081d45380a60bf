// Seeded fuzzer of the shading language: programs from a grammar (program.h) run, and their buffers are compared with
// what the grammar's own interpreter computes; damaged, they end in a library or in an error. Every case has a process
// of its own.
//
// Usage: fuzz SECONDS SEED [CASE]   with CASE: that one alone
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../compiled_source.h"
#include "../mutator.h"
#include "program.h"

// Defined if the program has AddressSanitizer, which reserves more addresses than machines have memory.
extern "C" __attribute__((weak)) void __asan_init();

namespace {

using fuzz::Program;

constexpr std::uint64_t damaged = 2;  // sources of each case
const std::string secret = "nobody-offered-this-file";

std::string compile_and_run(Program &program) {
    smtl_compile_options options{};
    options.math_mode = SMTL_MATH_SAFE;
    const compiled library(program.text(), &options);
    if (library.library == nullptr) return "does not compile: " + library.log;
    std::vector<smtl_constant_value> values;
    constexpr std::uint32_t types[fuzz::kinds] = {53, 45, 49, 37, 41, 29, 33, 81, 85, 16, 121, 3};
    for (const fuzz::Constant &constant : program.constants()) {
        smtl_constant_value value{
            nullptr, constant.index, types[unsigned(constant.type.kind)] + constant.type.n - 1, {}};
        for (unsigned i = 0; i < constant.type.n; ++i)
            fuzz::store(constant.type.kind, constant.value[i], value.bytes + i * fuzz::size_of(constant.type.kind));
        values.push_back(value);
    }
    std::string error;
    const std::string path = library.specialize("run", values, &error);
    if (path.empty()) return "gives no pipeline: " + error;
    char *message = nullptr;
    smtl_kernel *const kernel = smtl_kernel_load(path.c_str(), "smtl_entry", &message);
    if (kernel == nullptr) return std::string("does not load: ") + message;
    launch work(kernel);
    std::vector<std::vector<unsigned char>> buffers = program.given();
    // As Metal aligns them.
    std::vector<std::unique_ptr<unsigned char[], decltype(&std::free)>> memory;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        memory.emplace_back(
            static_cast<unsigned char *>(std::aligned_alloc(256, (buffers[i].size() + 255) / 256 * 256)), std::free);
        std::memcpy(memory[i].get(), buffers[i].data(), buffers[i].size());
        work.bytes(std::uint32_t(i), memory[i].get(), buffers[i].size());
    }
    error = work.run({fuzz::threads * fuzz::groups, 1, 1}, {fuzz::threads, 1, 1});
    if (!error.empty()) return "fails: " + error;
    for (std::size_t i = 0; i < buffers.size(); ++i) std::memcpy(buffers[i].data(), memory[i].get(), buffers[i].size());
    return program.difference(buffers);
}

std::string damaged_text(std::uint64_t seed, const std::string &file) {
    Mutator mutator(seed);
    std::string text = Program(seed).text();
    text = seed % 4 == 0 ? mutator.mutate(text) : mutator.mutate_tokens(text);
    if (seed % 8 == 1) text += "\n" + std::string(seed % 16 == 1 ? "#include" : "#embed") + " \"" + file + "\"\n";
    return text;
}

// A damaged source gives a library, or errors whose locations exist and which quote no file's content.
std::string compile_damaged(const std::string &text) {
    const compiled library(text);
    if (library.log.find(secret) != std::string::npos) return "reads a file: " + library.log;
    if (library.library == nullptr && library.log.find("error: ") == std::string::npos)
        return "fails without an error: " + library.log;
    const long lines = 1 + std::count(text.begin(), text.end(), '\n');
    const std::string name = "program_source:";
    for (std::size_t at = library.log.find(name); at != std::string::npos && text.find("#line") == std::string::npos;
         at = library.log.find(name, at + 1)) {
        char *end = nullptr;
        const long line = std::strtol(library.log.c_str() + at + name.size(), &end, 10);
        if (at > 0 && library.log[at - 1] != '\n') continue;
        if (line < 1 || line > lines) return "names a line that is not there: " + library.log.substr(at);
        std::size_t begin = 0;
        for (long n = 1; n < line; ++n) begin = text.find('\n', begin) + 1;
        const std::size_t length = std::min(text.find('\n', begin), text.size()) - begin;
        const long column = *end == ':' ? std::strtol(end + 1, nullptr, 10) : 0;
        // Behind the last character, too.
        if (column < 0 || std::size_t(column) > length + 1)
            return "names a column that is not there: " + library.log.substr(at);
    }
    return {};
}

// Runs `check` in a process of its own and returns what it says; if it could not say anything, how the process ended.
template <class F> std::string apart(F &&check) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) std::abort();
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        // The limit in seconds is there because a process that waits for ever takes no time of the processor.
        constexpr unsigned seconds = 900;
        constexpr rlim_t processor_seconds = 120, addresses = rlim_t{64} << 30;
        for (const auto &[resource, most] : {std::pair{RLIMIT_CPU, processor_seconds}, {RLIMIT_AS, addresses}}) {
            const rlimit limit{most, most};
            if (resource != RLIMIT_AS || __asan_init == nullptr) (void)setrlimit(resource, &limit);
        }
        (void)alarm(seconds);
        const std::string said = check();
        (void)!write(pipe_ends[1], said.data(), said.size());
        _exit(0);
    }
    close(pipe_ends[1]);
    std::string said;
    char text[4096];
    for (ssize_t length; (length = read(pipe_ends[0], text, sizeof text)) > 0;) said.append(text, std::size_t(length));
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        said += "ended by signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        said += "ended with status " + std::to_string(WEXITSTATUS(status));
    return said;
}

// Runs the program twice: in order, and in an order that the seed decides.
std::string run(std::uint64_t seed, const std::set<std::uint64_t> &off) {
    for (const bool shuffled : {false, true}) {
        const std::string said = apart([&] {
            if (shuffled) setenv("SOFTWARE_METAL_SHUFFLE", std::to_string(seed % 1000 + 1).c_str(), 1);
            Program program(seed, off);
            return compile_and_run(program);
        });
        if (!said.empty()) return (shuffled ? "shuffled: " : "") + said;
    }
    return {};
}

// The kind of failure, from its first words: a smaller program has to fail as the whole one does.
std::string sort_of(const std::string &said) {
    const std::size_t value = said.find(" is 0x"), colon = said.find(':');
    return value != std::string::npos ? "value" : said.substr(0, colon);
}

// Reports the program without the statements that the failure does not need, as far as there is time to find them.
void report(std::uint64_t seed, std::string said, std::chrono::seconds time) {
    const auto start = std::chrono::steady_clock::now();
    std::set<std::uint64_t> off;
    const std::vector<std::uint64_t> statements = Program(seed).statements();
    for (const bool backwards : {true, false}) {
        for (std::size_t i = 0; i < statements.size() && std::chrono::steady_clock::now() - start < time; ++i) {
            std::set<std::uint64_t> fewer = off;
            if (!fewer.insert(statements[backwards ? statements.size() - 1 - i : i]).second) continue;
            const std::string now = run(seed, fewer);
            if (sort_of(now) != sort_of(said) || now.empty()) continue;
            off = fewer;
            said = now;
        }
    }
    std::printf("%s\nin:\n%s", said.c_str(), Program(seed, off).text().c_str());
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 3) return std::fprintf(stderr, "usage: fuzz SECONDS SEED [CASE]\n"), 2;
    const std::chrono::seconds time(std::strtoull(arguments[1], nullptr, 10));
    const std::uint64_t seed = std::strtoull(arguments[2], nullptr, 10);
    const std::uint64_t first = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 0;
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t n = first;
    const std::string file = std::string(arguments[0]) + ".secret";
    std::ofstream(file) << secret << ";\n";
    do {
        const std::uint64_t own = seed * 1000003 + n;
        if (const std::string said = run(own, {}); !said.empty()) {
            std::printf("shaders: seed %lu, case %lu: %s\n", static_cast<unsigned long>(seed),
                        static_cast<unsigned long>(n), said.substr(0, 400).c_str());
            report(own, said, std::chrono::seconds(60));
            std::printf("again: make fuzz SEED=%lu\n", static_cast<unsigned long>(seed));
            return 1;
        }
        for (std::uint64_t k = 0; k < damaged; ++k) {
            const std::string text = damaged_text(own * damaged + k, file);
            const std::string said = apart([&] { return compile_damaged(text); });
            if (said.empty()) continue;
            std::printf("shaders: seed %lu, case %lu, damaged %lu: %s\nin:\n%s\nagain: make fuzz SEED=%lu\n",
                        static_cast<unsigned long>(seed), static_cast<unsigned long>(n), static_cast<unsigned long>(k),
                        said.c_str(), text.c_str(), static_cast<unsigned long>(seed));
            return 1;
        }
        ++n;
    } while (count <= 3 && std::chrono::steady_clock::now() - start < time);
    std::printf("shaders: %lu cases of seed %lu\n", static_cast<unsigned long>(n - first),
                static_cast<unsigned long>(seed));
    return 0;
}
