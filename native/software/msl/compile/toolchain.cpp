#include "toolchain.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string_view>
#include <utility>
#include <unistd.h>

#include "cache.h"
#include "compiler_facts.h"
#include "embedded.h"
#include "file.h"
#include "hash.h"
#include "process.h"
#include "msl/include/smtl/abi.h"
#include "support/settings.h"

namespace smtl::msl {
namespace {

constexpr int oldest_clang = 19;
constexpr int newest_named_clang = 24;
constexpr const char *server_name = "/fork_server.so";

std::string search_path(const std::string &name) {
    for (const std::string &folder : program_folders()) {
        const std::string candidate = folder + "/" + name;
        if (access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return {};
}

std::vector<std::string> candidates() {
    std::vector<std::string> found;
    const auto add = [&](const std::string &path) {
        if (!path.empty()) found.push_back(path);
    };
    if (const std::string name = smtl_settings_get()->clang; !name.empty()) {
        add(name.find('/') == std::string::npos ? search_path(name) : name);
        if (found.empty()) add(name);
        return found;
    }
    if (access(smtl_embedded_clang, X_OK) == 0) add(smtl_embedded_clang);
    add(search_path("clang-19"));
    for (int version = newest_named_clang; version >= oldest_clang; --version)
        add(search_path("clang-" + std::to_string(version)));
    add(search_path("clang"));
    return found;
}

// At least 1: only the optimiser computes constants that are made of function constants.
std::string optimization_level() {
    return "-O" + std::to_string(std::max<std::uint64_t>(1, smtl_settings_get()->optimize));
}

int major_version(const std::string &macros) {
    constexpr std::string_view name = "#define __clang_major__ ";
    const std::size_t at = macros.find(name);
    return at == std::string::npos ? 0 : std::atoi(macros.c_str() + at + name.size());
}

// The name of our headers in the cache.
const std::string &headers_key() {
    static const std::string key = [] {
        Hash hash;
        for (std::size_t i = 0; i < smtl_embedded_header_count; ++i) {
            const smtl_embedded_header &header = smtl_embedded_headers[i];
            hash.add(header.path).add({reinterpret_cast<const char *>(header.data), header.length});
        }
        return "headers-" + hash.digest();
    }();
    return key;
}

// Which makes a server of the compiler. Empty if it does not compile: without a server all takes longer.
std::string server_library(const std::string &clang, const std::string &headers) {
    const std::string key = "server-" + Hash().add(clang).add(headers).digest();
    const std::string entry = Cache::shared().entry(key, [&](const std::string &folder) {
        const ProcessResult result =
            run_process({clang, "-O1", "-shared", "-fPIC", "-o", folder + server_name, headers + "/host/fork_server.c"},
                        "", folder);
        (void)unlink((folder + "/errors").c_str());
        return result.succeeded;
    });
    return entry.empty() ? "" : entry + server_name;
}

Toolchain find_toolchain() {
    Toolchain toolchain;
    if (Cache::shared().root().empty()) {
        toolchain.problem = "no folder for compiled kernels can be written to: set SOFTWARE_METAL_CACHE";
        return toolchain;
    }
    // A compiler on a full disk is hard to tell from a useless compiler.
    if (!why_not_written(Cache::shared().root()).empty()) {
        toolchain.problem = Cache::shared().not_written("compiled kernels");
        return toolchain;
    }
    std::string errors;
    CompilerFacts facts;
    for (const std::string &clang : candidates()) {
        facts = facts_of(clang, errors);
        const int version = major_version(facts.macros);
        if (version >= oldest_clang) {
            toolchain.clang = clang;
            toolchain.version = version;
            break;
        }
        if (version > 0) errors += clang + ": version " + std::to_string(version) + " is too old\n";
    }
    if (toolchain.clang.empty()) {
        toolchain.problem =
            "compiling Metal sources needs clang " + std::to_string(oldest_clang) +
            " or newer (on Debian and Ubuntu: apt-get install clang-19; SOFTWARE_METAL_CLANG names another)\n" + errors;
        return toolchain;
    }
    toolchain.resources = facts.resources;
    toolchain.headers = Toolchain::unpack_headers();
    if (toolchain.headers.empty()) {
        toolchain.problem = Cache::shared().not_written("the standard library's headers");
        return toolchain;
    }
    // Ice Lake and later run 64-byte registers at about full clock; compilers still tune for their predecessors.
    toolchain.prefers_widest_registers = facts.macros.find("__AVX512VBMI2__") != std::string::npos;
    toolchain.linker = std::move(facts.link_command);
    toolchain.optimization = optimization_level();
    Hash compiler, whole;
    compiler.add(smtl_embedded_translator).add(facts.macros);
    for (const smtl_math_mode mode : {SMTL_MATH_SAFE, SMTL_MATH_FAST}) {
        for (const bool sanitize : {false, true})
            for (const std::string &word : toolchain.compile_arguments({mode, false, sanitize, false}))
                if (!word.starts_with("-O")) compiler.add(word.ends_with(toolchain.headers) ? headers_key() : word);
    }
    toolchain.compiler_fingerprint = compiler.digest();
    whole.add(toolchain.compiler_fingerprint).add(toolchain.optimization);
    for (const std::string &word : toolchain.linker) whole.add(word);
    toolchain.fingerprint = whole.digest();
    toolchain.server =
        std::make_shared<ForkServer>(toolchain.clang, [clang = toolchain.clang, headers = toolchain.headers] {
            return server_library(clang, headers);
        });
    return toolchain;
}

// Every access to memory is a call of ours, with the line that it comes from: see <smtl/sanitize.h>. Little is
// optimised: nobody checks an access that is merged with another, or that the optimiser proves useless.
void instrument(std::vector<std::string> &arguments, const std::string &headers) {
    for (const char *argument :
         {"-O1", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-gline-tables-only", "-DSMTL_SANITIZE=1",
          "-fsanitize=kernel-address", "-fsanitize-recover=kernel-address", "-fno-sanitize-address-use-after-scope"}) {
        arguments.emplace_back(argument);
    }
    // Relative names are names in this folder, whatever folder the process works in.
    arguments.push_back("-working-directory=" + headers);
    const std::string shadow = "-asan-mapping-offset=" + std::to_string(SMTL_STACK_SHADOW_OFFSET);
    for (const char *option :
         {"-asan-instrumentation-with-call-threshold=0", "-asan-stack=1", "-asan-globals=1",
          "-asan-destructor-kind=none", "-asan-instrument-atomics=0", "-asan-kernel-mem-intrinsic-prefix=1",
          shadow.c_str(),
          // An access that is certainly within bounds, or was checked a moment ago, may still race.
          "-asan-opt-globals=0", "-asan-opt-same-temp=0",
          // Two stores that are made one belong to no line.
          "-simplifycfg-sink-common=0", "-simplifycfg-hoist-common=0", "-simplifycfg-merge-cond-stores=0",
          "-enable-tail-merge=0",
          // A loop that copies element by element stays a loop.
          "-disable-loop-idiom-all"}) {
        arguments.insert(arguments.end(), {"-mllvm", option});
    }
}

// Clang compiles as if for a device of SYCL, and names types as this machine does.
void keep_spaces(std::vector<std::string> &arguments) {
#if defined(__aarch64__)
    constexpr const char *machine = "aarch64-linux-gnu";
#else
    constexpr const char *machine = "x86_64-linux-gnu";
#endif
    for (const char *argument : {"-fsycl-is-device", "-aux-triple", machine})
        arguments.insert(arguments.end(), {"-Xclang", argument});
}

}  // namespace

const Toolchain &Toolchain::shared() {
    static std::atomic<const Toolchain *> found{nullptr};
    static std::mutex mutex;
    // What is missing now, a compiler or room on the disk, may be there at the next call. Toolchains that were not
    // found stay for those who hold them.
    static std::deque<Toolchain> tried;
    const auto usable = [](const Toolchain &known) { return known.problem.empty() && known.user == geteuid(); };
    if (const Toolchain *known = found.load(std::memory_order_acquire); known && usable(*known)) return *known;
    const std::lock_guard lock(mutex);
    // A process that gives up rights does not keep them in a server.
    for (const Toolchain &other : tried)
        if (other.server && other.user != geteuid()) other.server->end();
    auto known = std::find_if(tried.begin(), tried.end(), usable);
    if (known == tried.end()) {
        known = tried.insert(tried.end(), find_toolchain());
        if (!known->problem.empty()) return *known;
        constexpr auto end_servers = [] {
            // A server that is not ended here ends by itself.
            const std::unique_lock ending(mutex, std::try_to_lock);
            for (std::size_t i = 0; ending && i < tried.size(); ++i)
                if (tried[i].server) tried[i].server->end();
        };
        static const bool arranged = std::atexit(end_servers) == 0;
        (void)arranged;
    }
    found.store(&*known, std::memory_order_release);
    return *known;
}

std::string Toolchain::unpack_headers() {
    return Cache::shared().entry(headers_key(), [](const std::string &folder) {
        for (std::size_t i = 0; i < smtl_embedded_header_count; ++i) {
            const smtl_embedded_header &header = smtl_embedded_headers[i];
            const std::string path = folder + "/" + header.path;
            if (!make_folders(path.substr(0, path.rfind('/')))) return false;
            if (!write_file(path, {reinterpret_cast<const char *>(header.data), header.length})) return false;
        }
        return true;
    });
}

bool Toolchain::misses_headers() { return Cache::shared().is_missing(headers_key()); }

ProcessResult Toolchain::run(const std::vector<std::string> &arguments, const std::string &input,
                             const std::string &folder, const ProcessBounds &bounds) const {
    return run_process(arguments, input, folder, bounds, server.get());
}

std::vector<std::string> Toolchain::compile_arguments(const Dialect &dialect) const {
    std::vector<std::string> arguments = {
        clang,
        "-std=c++17",
        optimization,
        "-march=native",
#if defined(__x86_64__)
        // Their conversions to bfloat take every subnormal number for zero.
        "-mno-avx512bf16",
        "-mno-avxneconvert",
        // Clang 19 commutes a masked comparison of halves that reads a spilled operand, and leaves its predicate as it
        // was. Halves are computed as floats at the same speed.
        "-mno-avx512fp16",
#endif
        "-fPIC",
        "-fvisibility=hidden",
        "-fdeclspec",
        "-fsigned-char",  // which it is not on every processor
        // The translation refuses them, and the preprocessor has been told the same.
        "-fno-digraphs",
        // GPUs have none of this, and kernels do not pay for it.
        "-fno-exceptions",
        "-fno-rtti",
        "-fno-threadsafe-statics",
        "-fno-stack-protector",
        // Else a large frame reaches over the page that guards a stack, into the next thread's.
        "-fstack-clash-protection",
        "-fno-unwind-tables",
        "-fno-asynchronous-unwind-tables",
        "-fno-semantic-interposition",
        "-fcf-protection=none",
        "-fno-ident",
        "-Wp,-U_FORTIFY_SOURCE",
        // Buffers are reinterpreted freely, and wide loads from addresses of lesser alignment work on a GPU.
        "-fno-strict-aliasing",
        "-fmax-type-align=8",
        // In the address spaces of a GPU null is an address like any other: code that reads through a null pointer and
        // does not use what it read has to stay as it is, although clang would take it for unreachable.
        "-fno-delete-null-pointer-checks",
        // Each operation on halves and bfloats rounds, whether or not the processor computes with them.
        "-Xclang",
        "-ffloat16-excess-precision=none",
        "-Xclang",
        "-fbfloat16-excess-precision=none",
        // Kernels see only our standard library.
        "-nostdlibinc",
        "-nostdinc++",
        "-isystem",
        headers,
        std::string("-DSMTL_USES_THREAD_ELEMENTS=") + (dialect.thread_elements ? "1" : "0"),
        std::string("-DSMTL_LOGGING=") + (dialect.logging ? "1" : "0"),
        "-fno-math-errno",
        "-fno-trapping-math",
        // Conversions from floating-point numbers to integers saturate, and NaN gives 0.
        "-fno-strict-float-cast-overflow",
        "-fno-color-diagnostics",
        "-fno-caret-diagnostics",
        "-fno-diagnostics-show-option",
        "-ftemplate-backtrace-limit=4",
        "-Werror=vla",
        "-Wno-unknown-attributes",
        "-Wno-ignored-attributes",
        "-Wno-duplicate-decl-specifier",
        "-Wno-undefined-internal",
        "-Wno-undefined-inline",
        "-Wno-undefined-var-template",
        // Metal takes `constexpr` for functions that no constant expression can call, since they touch device memory.
        "-Wno-invalid-constexpr",
        "-Wno-pass-failed",
        // NS_ENUM, as programs define it for sources that they share with Metal.
        "-Wno-elaborated-enum-base",
        // C++14, which Metal is based on, lets a bool be incremented.
        "-Wno-increment-bool",
        // The counts of shifts stand for themselves (passes/shift_counts.h), and what `<<=` changes is written twice.
        "-Wno-overloaded-shift-op-parentheses",
        "-Wno-unevaluated-expression",
        "-Wno-unused-command-line-argument",
        "-Wno-ignored-pragmas",
        "-Wno-unknown-pragmas",
        "-Wno-pragma-once-outside-header",
        "-Wno-unused-function",
        "-Wno-ignored-optimization-argument",
        "-Wno-c99-extensions",
        "-Wno-pragma-clang-attribute",
    };
    keep_spaces(arguments);
    if (prefers_widest_registers) arguments.emplace_back("-mprefer-vector-width=512");
    if (dialect.sanitize) instrument(arguments, headers);
    if (dialect.math_mode == SMTL_MATH_SAFE) {
        arguments.push_back("-ffp-contract=on");
        return arguments;
    }
    // Infinities and NaNs stay what they are in the fast mode too: the language lets a compiler assume that there are
    // none, and kernels that mask with -INFINITY rely on compilers that do not. Refined estimates of reciprocal roots
    // make NaNs of infinity and zero, so none are used. Nor do reciprocals stand for quotients: that of a half is
    // rounded to a half, where 49 / 49 is not 1 and all that is divided by 1e-5 is infinite.
    for (const char *argument :
         {"-ffp-contract=fast", "-fassociative-math", "-fno-signed-zeros", "-fapprox-func", "-mrecip=none"}) {
        arguments.emplace_back(argument);
    }
    return arguments;
}

std::vector<std::string> Toolchain::link_arguments(const Dialect &dialect, const std::vector<std::string> &objects,
                                                   bool libraries, const std::string &output) const {
    std::vector<std::string> arguments;
    for (const std::string &argument : linker)
        if (argument == link_input)
            arguments.insert(arguments.end(), objects.begin(), objects.end());
        else if (libraries || !argument.starts_with("-l"))
            arguments.push_back(argument == link_output ? output : argument);
    if (dialect.sanitize) arguments.insert(arguments.end(), {"-T", headers + "/smtl/initialisers.ld"});
    return arguments;
}

}  // namespace smtl::msl
