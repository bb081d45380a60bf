// The compiler's messages as the user should see them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {

enum class Severity {
    none,
    error,
    warning,
    note
};
// The name that the compiler is given for what stands around the source: no user sees any of that.
inline constexpr const char *surroundings = "#line 1 \"<surroundings>\"\n";
inline constexpr std::string_view surroundings_name = "<surroundings>";
// Written behind the source. What the compiler finds there, or misses, is an error behind the source's last token.
inline constexpr const char *end_of_source = "\n#line 1 \"<end of source>\"\n";
inline constexpr std::string_view end_of_source_name = "<end of source>";

const char *severity_name(Severity severity);

struct Diagnostic {
    std::string file;  // with line 0 what follows is about no line of a source
    unsigned long line = 0;
    std::size_t column = 0;  // from 1; 0: not known
    Severity severity = Severity::none;
    std::string message;
    std::string quoted;  // the user's line
};

using Diagnostics = std::vector<Diagnostic>;

// What the compiler said about `compiled`, which was made of `source`: at the user's own lines and columns and without
// our folders. `source` may hold #line directives and include other files, of which those in `include_paths` are
// quoted.
Diagnostics read_diagnostics(const std::string &errors, std::string_view source, std::string_view compiled,
                             const std::string &name, const std::vector<std::string> &include_paths);

// As a compiler prints them.
std::string present(const Diagnostics &diagnostics);

// One about no line of a source.
inline Diagnostic general_error(std::string message) { return {{}, 0, 0, Severity::error, std::move(message), {}}; }

}  // namespace smtl::msl
