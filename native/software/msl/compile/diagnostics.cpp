#include "diagnostics.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "edited_line.h"
#include "file.h"
#include "msl/source/token.h"
#include "msl/source/unsupported.h"
#include "toolchain.h"
#include "visible_files.h"

namespace smtl::msl {
namespace {

// What stands for the folder of the library's headers, and how clang begins to say who included a file.
constexpr std::string_view library = "metal_stdlib/", inclusion = "In file included from ";

struct Message {
    SourceLocation location;
    std::size_t column = 0;
    std::string text;  // after the location
};

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

// What clang says of a shift whose count stands for itself (passes/shift_counts.h), as it would say it of the source.
std::string without_shift_counts(std::string text) {
    constexpr std::string_view name = "shift_count<", ambiguous = "is ambiguous (with operand types ";
    if (text.find(name) == std::string::npos) return text;
    if (const std::size_t types = text.find(ambiguous); types != std::string::npos)
        text.replace(0, types + ambiguous.size(), " error: invalid operands to binary expression (");
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
        const std::size_t close = text.find('>', at);
        if (close == std::string::npos) break;
        text.erase(close, 1).erase(at, name.size());
    }
    return text;
}

// `file:line:column: text` or `file:line: text`; line 0 for others.
Message parse(const std::string &line) {
    Message message;
    for (std::size_t colon = line.find(':'); colon != std::string::npos; colon = line.find(':', colon + 1)) {
        char *end = nullptr;
        const unsigned long number = std::strtoul(line.c_str() + colon + 1, &end, 10);
        if (number == 0 || *end != ':') continue;
        message.location = {line.substr(0, colon), number};
        char *column_end = nullptr;
        const unsigned long column = std::strtoul(end + 1, &column_end, 10);
        if (column > 0 && *column_end == ':') {
            message.column = column;
            end = column_end;
        }
        message.text = end + 1;
        return message;
    }
    return message;
}

// The lines of a text by their locations, which line markers change. Read when first asked for.
class Lines {
public:
    Lines(std::string_view text, const std::string &name) : text_(text), name_(name) {}

    std::string_view at(const SourceLocation &wanted) {
        if (files_.empty()) read();
        const auto file = files_.find(wanted.file);
        if (file == files_.end()) return {};
        const auto line = file->second.find(wanted.line);
        return line == file->second.end() ? std::string_view() : line->second;
    }

private:
    void read() {
        SourceLocation location{name_, 1};
        auto *lines = &files_[location.file];
        for (std::string_view rest = text_; !rest.empty();) {
            const std::size_t newline = std::min(rest.find('\n'), rest.size());
            const std::string_view line = rest.substr(0, newline);
            if (line.starts_with("#") && read_line_marker(line, location))
                lines = &files_[location.file];
            else
                lines->emplace(location.line++, line);
            rest.remove_prefix(std::min(newline + 1, rest.size()));
        }
    }

    std::string_view text_;
    const std::string &name_;
    std::map<std::string, std::map<unsigned long, std::string_view>> files_;
};

// Where the last token of what was compiled stands, and how long it is on its line.
struct LastToken {
    SourceLocation location;
    std::size_t length = 0;
};
LastToken last_token(std::string_view compiled) {
    const std::vector<Token> tokens = tokenize(compiled);
    const std::size_t last = tokens.size() - std::min<std::size_t>(tokens.size(), 2);
    const std::string_view text = tokens[last].text;
    return {locate(compiled, tokens, last), std::min(text.find('\n'), text.size())};
}

// A line of a file that the source includes, or names in a line marker: only of a file that it could include.
std::string line_of_file(const SourceLocation &wanted, const std::vector<std::string> &include_paths) {
    constexpr std::size_t largest = std::size_t{1} << 24;
    if (!is_visible(wanted.file, include_paths)) return {};
    const std::string text = read_file(wanted.file, largest).value_or("");
    return std::string(Lines(text, wanted.file).at(wanted));
}

// "error: text" apart; other lines say nothing of their severity.
void split_severity(std::string_view text, Diagnostic &diagnostic) {
    constexpr std::array<std::pair<std::string_view, Severity>, 4> severities = {{{" error: ", Severity::error},
                                                                                  {" fatal error: ", Severity::error},
                                                                                  {" warning: ", Severity::warning},
                                                                                  {" note: ", Severity::note}}};
    for (const auto &[word, severity] : severities) {
        if (!text.starts_with(word)) continue;
        diagnostic.severity = severity;
        diagnostic.message = text.substr(word.size());
        return;
    }
    diagnostic.message = text.starts_with(" ") ? text.substr(1) : text;
}

// Clang does not know what Metal has and the software Metal lacks. Names what clang misses at `column` of the line that
// it compiled as what it is. False if the message means something else.
bool explain_missing_name(Diagnostic &diagnostic, std::string_view compiled, std::size_t column) {
    constexpr std::array<std::string_view, 7> complaints = {
        "unknown type name '", "no template named '",     "use of undeclared identifier '", "no type named '",
        "no member named '",   "expected namespace name", "expected unqualified-id"};
    const std::string_view message = diagnostic.message;
    const bool missing = std::any_of(complaints.begin(), complaints.end(),
                                     [&](std::string_view complaint) { return message.starts_with(complaint); });
    if (!missing && message.find("file not found") == std::string_view::npos) return false;
    const std::vector<Token> tokens = tokenize(compiled);
    std::string name;
    if (const std::size_t quote = message.find('\''); quote != std::string_view::npos)
        name = message.substr(quote + 1, message.find('\'', quote + 1) - quote - 1);
    bool qualifies = message.find("in namespace 'metal'") != std::string_view::npos;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (static_cast<std::size_t>(tokens[i].text.data() - compiled.data()) + 1 != column) continue;
        if (name.empty()) name = tokens[i].text;
        qualifies = qualifies || (tokens[i].is(name) && (tokens[i + 1].is("::") || tokens[i + 1].is("<")));
    }
    const std::string_view subject = unsupported_subject(name, qualifies);
    if (subject.empty()) return false;
    diagnostic.message = "'" + name + "': " + std::string(subject) + " not supported";
    return true;
}

// On the line of something unsupported, other errors follow from that.
void drop_consequences(Diagnostics &diagnostics, const std::set<std::pair<std::string, unsigned long>> &explained) {
    std::set<std::string> said;
    std::erase_if(diagnostics, [&](const Diagnostic &diagnostic) {
        if (diagnostic.severity != Severity::error || !explained.contains({diagnostic.file, diagnostic.line}))
            return false;
        return !diagnostic.message.ends_with(" not supported") ||
               !said.insert(diagnostic.file + std::to_string(diagnostic.line) + diagnostic.message).second;
    });
}

// How clang says of a line that it asked for a template.
bool asks_for_template(const Diagnostic &note) {
    for (const char *words : {"in instantiation of ", "while substituting ", "during template argument deduction "})
        if (note.line != 0 && note.message.starts_with(words)) return true;
    return false;
}

// What is wrong with a use of one of the library's templates, clang finds in the library. Each such error becomes one
// at the line of the source that asked for the template. One behind other errors that no line of the source asked for
// follows from these.
Diagnostics at_uses(Diagnostics diagnostics) {
    constexpr std::string_view cause = "static assertion failed due to requirement '", reason = "': ";
    const auto is_way = [](const Diagnostic &one) { return one.message.starts_with(inclusion); };
    const auto is_error = [](const Diagnostic &one) { return one.severity == Severity::error; };
    Diagnostics result;
    for (std::size_t i = 0; i < diagnostics.size(); ++i) {
        Diagnostic &error = diagnostics[i];
        if (!is_error(error) || !error.file.starts_with(library)) {
            result.push_back(std::move(error));
            continue;
        }
        std::size_t use = i + 1;
        while (use < diagnostics.size() && diagnostics[use].severity == Severity::note &&
               !asks_for_template(diagnostics[use]))
            ++use;
        const bool found = use < diagnostics.size() && diagnostics[use].severity == Severity::note;
        if (!found && std::none_of(result.begin(), result.end(), is_error)) {
            result.push_back(std::move(error));
            continue;
        }
        // The way from the library's first header to the one with the template
        while (!result.empty() && is_way(result.back())) result.pop_back();
        if (!found) {
            // What is said of it goes too, up to the way to the next one.
            while (i + 1 < diagnostics.size() && diagnostics[i + 1].severity != Severity::warning &&
                   !is_error(diagnostics[i + 1]))
                ++i;
            while (is_way(diagnostics[i])) --i;
            continue;
        }
        std::string &message = error.message;
        if (const std::size_t end = message.find(reason); message.starts_with(cause) && end != std::string::npos)
            message.erase(0, end + reason.size());
        diagnostics[use].severity = Severity::error;
        diagnostics[use].message = std::move(message);
        result.push_back(std::move(diagnostics[use]));
        i = use;
    }
    return result;
}

// The class of a vector under the name that Metal gives it. An alias that says the same is left out.
std::string with_vector_names(std::string text) {
    constexpr std::array<std::array<std::string_view, 2>, 6> components = {{{"unsigned char", "uchar"},
                                                                            {"unsigned short", "ushort"},
                                                                            {"unsigned int", "uint"},
                                                                            {"unsigned long", "ulong"},
                                                                            {"_Float16", "half"},
                                                                            {"__bf16", "bfloat"}}};
    constexpr std::string_view begin = "smtl_vector_of<", aka = " (aka '";
    text = replace_all(std::move(text), "metal::smtl_vector_of<", begin);
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
        const std::size_t bracket = text.find_first_of("<[>", at + begin.size()), close = bracket + 3;
        if (bracket == std::string::npos || text[bracket] != '[' || text.substr(bracket + 2, 2) != "]>") continue;
        std::string name = text.substr(at + begin.size(), bracket - at - begin.size());
        const auto *component =
            std::find_if(components.begin(), components.end(), [&](const auto &words) { return words[0] == name; });
        if (component != components.end()) name = (*component)[1];
        name += text[bracket + 1];
        text.replace(at, close + 1 - at, name);
        if (!std::string_view(text).substr(0, at).ends_with("'" + name + "'" + std::string(aka))) continue;
        at -= aka.size();
        text.erase(at, aka.size() + name.size() + 2);
    }
    return text;
}

// What attributes say is checked in C++ of the translator's.
std::string without_own_checks(std::string text) {
    constexpr std::string_view initializer = "' needs a constant expression as its initializer";
    constexpr std::array<std::array<std::string_view, 3>, 3> checks = {
        {{"'smtl_indices_", initializer, "the index of an argument needs a constant expression"},
         {"'smtl_limit_", initializer, "[[max_total_threads_per_threadgroup]] needs a constant expression"},
         {"static assertion failed due to requirement '::smtl::is_index(", ")': ", ""}}};
    for (const auto &[first, last, instead] : checks) {
        const std::size_t begin = text.find(first), end = text.find(last, begin);
        if (begin != std::string::npos && end != std::string::npos)
            text.replace(begin, end + last.size() - begin, instead);
    }
    return text;
}

// Components are properties (include/msl/swizzle.h), and clang names the functions that assign them.
std::string without_setters(std::string text) {
    constexpr std::array<std::string_view, 2> calls = {"no matching member function for call to 'put_",
                                                       "'this' argument to member function 'put_"};
    for (const std::string_view call : calls) {
        const std::size_t begin = text.find(call), name = begin + call.size(), end = text.find('\'', name);
        if (begin == std::string::npos || end == std::string::npos) continue;
        const std::string components = text.substr(name, end - name);
        // A user may have functions that begin like that.
        if (components.size() > 4 || components.find_first_not_of("xyzw") != std::string::npos) continue;
        return text.substr(0, begin) + "'" + components +
               "' is not assignable: the vector is constant or was computed (a component of a swizzle is one), or the "
               "value has another type";
    }
    return text;
}

// Clang writes address spaces as OpenCL's, and speaks of its own C++.
std::string in_metals_words(std::string text) {
    constexpr std::array<std::array<std::string_view, 2>, 9> names = {
        {{"const __global_host", "constant"},
         {"__global_host", "constant"},
         {"__constant", "constant"},
         {"__global_device", "device"},
         {"__global", "device"},
         {"__local", "threadgroup"},
         {"__private", "thread"},
         {"generic address space", "memory in no named address space"},
         {"variable length arrays in C++ are a Clang extension",
          "the length of an array must be a constant expression"}}};
    for (const auto &[clangs, metals] : names) text = replace_all(std::move(text), clangs, metals);
    return with_vector_names(without_setters(without_own_checks(std::move(text))));
}

}  // namespace

const char *severity_name(Severity severity) {
    switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: return "note";
    case Severity::none: break;
    }
    return "";
}

Diagnostics read_diagnostics(const std::string &errors, std::string_view source, std::string_view compiled,
                             const std::string &name, const std::vector<std::string> &include_paths) {
    std::string text = replace_all(errors, Toolchain::shared().headers + "/", library);
    // A compiler that crashes tells its whole story.
    if (const std::size_t crash = text.find("PLEASE submit a bug report"); crash != std::string::npos)
        text.replace(crash, std::string::npos, "error: the compiler itself failed on this source\n");
    // Warnings may be as many as lines. Errors are few: the compiler gives up.
    constexpr std::size_t most_messages = 128, longest_line = 1 << 12;
    Lines source_lines(source, name), compiled_lines(compiled, name);
    Diagnostics result;
    std::set<std::pair<std::string, unsigned long>> explained;
    std::optional<EditedLine> edited;
    for (std::size_t p = 0; p < text.size();) {
        const std::size_t newline = std::min(text.find('\n', p), text.size());
        const std::string line = text.substr(p, newline - p);
        p = newline + 1;
        if (line.empty()) continue;
        // Nobody needs to know why each function of the library is not a candidate, nor clang's own operators.
        if (line.starts_with(library) && line.find(": note: ") != std::string::npos) continue;
        if (line.find(": note: built-in candidate ") != std::string::npos) continue;
        const bool trail = line.starts_with(inclusion);
        Message message = trail ? Message() : parse(line);
        // Clang calls text that a macro of the library's has put together by the second name.
        if (message.location.file == surroundings_name || message.location.file == "<scratch space>") continue;
        std::size_t behind = 0;
        if (message.location.file == end_of_source_name) {
            const LastToken last = last_token(compiled);
            message.location = last.location;
            message.column = last.location.column;
            behind = last.length;
        }
        Diagnostic diagnostic;
        if (message.location.line == 0) {
            split_severity(trail ? line : in_metals_words(" " + line), diagnostic);
            result.push_back(std::move(diagnostic));
            continue;
        }
        diagnostic.file = message.location.file;
        diagnostic.line = message.location.line;
        split_severity(in_metals_words(without_shift_counts(message.text)), diagnostic);
        if (result.size() >= most_messages && diagnostic.severity != Severity::error) continue;
        if (explain_missing_name(diagnostic, compiled_lines.at(message.location), message.column))
            explained.emplace(diagnostic.file, diagnostic.line);
        diagnostic.quoted = std::string(source_lines.at(message.location));
        if (diagnostic.quoted.empty() && message.location.file != name)
            diagnostic.quoted = line_of_file(message.location, include_paths);
        if (diagnostic.quoted.ends_with('\r')) diagnostic.quoted.pop_back();
        if (diagnostic.quoted.empty())
            diagnostic.column = message.column;
        else {
            const std::string_view line = compiled_lines.at(message.location);
            if (!edited || !edited->is(line, diagnostic.quoted)) edited.emplace(line, diagnostic.quoted);
            diagnostic.column = edited->original_column(message.column);
        }
        if (diagnostic.column > 0) diagnostic.column += behind;
        if (diagnostic.quoted.size() > longest_line) diagnostic.quoted.clear();
        // The translation may have repeated what is wrong.
        const bool said = std::any_of(result.begin(), result.end(), [&](const Diagnostic &other) {
            return other.file == diagnostic.file && other.line == diagnostic.line &&
                   other.column == diagnostic.column && other.message == diagnostic.message;
        });
        if (!said) result.push_back(std::move(diagnostic));
    }
    result = at_uses(std::move(result));
    drop_consequences(result, explained);
    return result;
}

std::string present(const Diagnostics &diagnostics) {
    std::string result;
    for (const Diagnostic &diagnostic : diagnostics) {
        if (diagnostic.line > 0) {
            result += diagnostic.file + ':' + std::to_string(diagnostic.line) + ':';
            if (diagnostic.column > 0) result += std::to_string(diagnostic.column) + ':';
            result += ' ';
        }
        if (diagnostic.severity != Severity::none) result += std::string(severity_name(diagnostic.severity)) + ": ";
        result += diagnostic.message + '\n';
        if (diagnostic.line == 0 || diagnostic.quoted.empty()) continue;
        result += diagnostic.quoted + '\n';
        if (diagnostic.column == 0) continue;
        for (char c : diagnostic.quoted.substr(0, diagnostic.column - 1)) result += c == '\t' ? '\t' : ' ';
        result += "^\n";
    }
    return result;
}

}  // namespace smtl::msl
