// Checks a source as strictly as Apple's compiler: address spaces do not convert into each other.
#include <algorithm>
#include <cstring>
#include <exception>

#include "library.h"
#include "msl/compile/cache.h"
#include "msl/compile/deletion.h"
#include "msl/compile/file.h"
#include "msl/compile/process.h"
#include "msl/compile/standard_library.h"
#include "msl/compile/toolchain.h"

namespace smtl::msl {
namespace {

std::string without_qualifiers(std::string type) {
    for (const char *qualifier : {"const ", "volatile ", "__private ", "__generic ", "__local ", "__global_device ",
                                  "__global_host ", "__constant ", "__global "}) {
        const std::size_t length = std::strlen(qualifier);
        for (std::size_t at = type.find(qualifier); at != std::string::npos; at = type.find(qualifier))
            type.erase(at, length);
    }
    return type;
}

// Clang's C++ for OpenCL finds no common type for `c ? f(x) : y` where both are of one class: `y` lies in an address
// space and the result of `f` in none.
bool compares_same_types(const std::string &message) {
    constexpr std::string_view complaint = "incompatible operand types ('";
    const std::size_t start = message.find(complaint);
    const std::size_t middle = message.find("' and '", start);
    const std::size_t end = message.rfind("')");
    if (start == std::string::npos || middle == std::string::npos || end < middle + 7) return false;
    const std::string first = message.substr(start + complaint.size(), middle - start - complaint.size());
    const std::string second = message.substr(middle + 7, end - middle - 7);
    const auto pointer = [](const std::string &type) { return type.find('*') != std::string::npos; };
    return !pointer(first) && !pointer(second) && without_qualifiers(first) == without_qualifiers(second);
}

// Clang puts constants of the program's scope into a space of their own (__constant, where ours is __global_host),
// members reached through `this` into none (__generic), and binds no temporary to a reference that names a space. Metal
// does neither.
bool blames_our_spaces(const std::string &line) {
    const auto mentions = [&](const char *text) { return line.find(text) != std::string::npos; };
    if (mentions("__constant") && (mentions("__global_host") || mentions("__generic"))) return true;
    if (mentions("__constant") && mentions("no matching constructor")) return true;
    if (mentions("__generic") && (mentions("changes address space") || mentions("cannot bind reference") ||
                                  mentions("cannot pass pointer") || mentions("static_cast from")))
        return true;
    return mentions("cannot bind to a temporary object because of address space mismatch");
}

// A source that compiles has no errors but those of its address spaces: clang's C++ for OpenCL adds limits of its own.
bool speaks_of_spaces(const std::string &line) {
    for (const char *word : {"address space", "__private", "__local", "__global", "__constant", "__generic"})
        if (line.find(word) != std::string::npos) return true;
    return false;
}

// Problems that the translation has reported already, in Metal's terms.
bool repeats_ours(const std::string &line) { return line.find("with exceptions disabled") != std::string::npos; }

struct Complaint {
    std::string text;
    bool error = false;
    bool unjustified = false;
    bool about_spaces = false;
};

// The messages about the source's own faults, and how many of them are errors. If clang has checked everything else
// already, these are the messages about address spaces.
std::string select_messages(const std::string &messages, bool judged, std::size_t &errors) {
    std::string kept;
    Complaint complaint;
    const auto finish = [&] {
        if ((complaint.about_spaces || !judged) && !complaint.unjustified) {
            errors += complaint.error;
            kept += complaint.text;
        }
        complaint = {};
    };
    for (std::size_t p = 0; p < messages.size();) {
        const std::size_t newline = std::min(messages.find('\n', p), messages.size());
        const std::string line = messages.substr(p, newline - p);
        p = newline + 1;
        const bool error = line.find("error: ") != std::string::npos;
        const bool note = line.find("note: ") != std::string::npos;
        if (line.ends_with("errors generated.") || line.ends_with("error generated.")) continue;
        if (!note) finish();
        complaint.error = complaint.error || error;
        complaint.about_spaces = complaint.about_spaces || speaks_of_spaces(line);
        complaint.unjustified =
            complaint.unjustified || compares_same_types(line) || blames_our_spaces(line) || repeats_ours(line);
        complaint.text += line + "\n";
    }
    finish();
    return kept;
}

bool lint_once(std::string_view source, const Options &options, Diagnostics &diagnostics) {
    Diagnostics ordinary;
    const bool compiles = compile(source, options, ordinary) != nullptr;
    const std::optional<std::string> preprocessed = preprocess(source, options, diagnostics);
    if (!preprocessed) return false;
    // Clang has seen a source that the ordinary translation accepted.
    const bool judged = compiles || translate(*preprocessed).problems.empty();
    diagnostics = judged && !compiles ? std::move(ordinary) : Diagnostics();
    const Translation translation = translate(*preprocessed, Purpose::check);
    const Toolchain &toolchain = Toolchain::shared();
    TemporaryFolder folder(Cache::shared().root());
    const std::string input = folder.path() + "/input";
    if (!folder.made() || !write_file(input, translation.text + end_of_source)) {
        diagnostics.push_back(general_error(Cache::shared().not_written("the source")));
        return false;
    }
    std::string unavailable;
    const std::string library = strict_library(unavailable);
    if (library.empty()) {
        diagnostics.push_back(general_error(unavailable));
        return false;
    }
    std::vector<std::string> arguments = strict_arguments();
    arguments.insert(arguments.end(), {"-fsyntax-only", "-include-pch", library, "-"});
    const ProcessResult result = toolchain.run(arguments, input, folder.path());
    std::size_t errors = 0;
    const std::string messages = select_messages(result.errors, judged, errors);
    const auto say = [&](const Diagnostics &more) { diagnostics.insert(diagnostics.end(), more.begin(), more.end()); };
    say(read_diagnostics(list_problems(translation.problems), source, *preprocessed, options.name,
                         options.include_paths));
    say(read_diagnostics(messages, source, translation.text, options.name, options.include_paths));
    return (compiles || !judged) && translation.problems.empty() && errors == 0 && result.started;
}

}  // namespace

bool lint(std::string_view source, const Options &options, Diagnostics &diagnostics) {
    bool deleted = false;
    const auto work = [&] {
        diagnostics.clear();
        return lint_once(source, options, diagnostics);
    };
    const bool good = despite_deletion(work, deleted);
    if (deleted && !good) diagnostics = {general_error(deleted_meanwhile + Cache::shared().root())};
    return good;
}

}  // namespace smtl::msl

extern "C" bool smtl_lint(const char *source, size_t length, const smtl_compile_options *options, char **log) {
    if (log) *log = nullptr;
    try {
        smtl::msl::Diagnostics diagnostics;
        const bool good =
            smtl::msl::lint(smtl::msl::read_source(source, length), smtl::msl::read_options(options), diagnostics);
        const std::string text = smtl::msl::present(diagnostics);
        if (log && !text.empty()) *log = strdup(text.c_str());
        return good;
    } catch (const std::exception &exception) {
        if (log) *log = strdup(exception.what());
        return false;
    }
}
