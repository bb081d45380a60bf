// The compiler's messages as the user should see them.
#include <algorithm>
#include <cstdlib>

#include "library.h"
#include "token.h"
#include "toolchain.h"

namespace smtl::msl {
namespace {

struct Message {
    SourceLocation location;
    std::size_t column = 0;
    std::string text;  // after the location
};

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
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

// The line that a location speaks of, which line markers have a say in.
std::string_view line_of(std::string_view source, const std::string &name, const SourceLocation &wanted) {
    SourceLocation location{name, 1};
    while (!source.empty()) {
        const std::size_t newline = std::min(source.find('\n'), source.size());
        const std::string_view line = source.substr(0, newline);
        const bool marker = line.starts_with("#") && read_line_marker(line, location);
        if (!marker) {
            if (location.line == wanted.line && location.file == wanted.file) return line;
            ++location.line;
        }
        source.remove_prefix(std::min(newline + 1, source.size()));
    }
    return {};
}

// Where on the user's line the token stands that the compiler saw at `column` of the line compiled: preprocessing moves
// what is on a line, and adds to it. 0: nowhere.
std::size_t original_column(std::string_view compiled, std::size_t column, std::string_view original) {
    if (compiled == original) return column;
    std::string_view wanted;
    std::size_t occurrence = 0;
    const std::vector<Token> tokens = tokenize(compiled);
    for (const Token &token : tokens) {
        const auto start = static_cast<std::size_t>(token.text.data() - compiled.data());
        if (token.kind != TokenKind::end && start + 1 == column) wanted = token.text;
    }
    if (wanted.empty()) return 0;
    for (const Token &token : tokens) {
        const auto start = static_cast<std::size_t>(token.text.data() - compiled.data());
        if (start + 1 < column && token.text == wanted) ++occurrence;
    }
    for (const Token &token : tokenize(original)) {
        if (token.text == wanted && occurrence-- == 0) return static_cast<std::size_t>(token.text.data() - original.data()) + 1;
    }
    return 0;
}

}  // namespace

std::string present_diagnostics(const std::string &errors, std::string_view source, std::string_view compiled, const std::string &name) {
    constexpr std::string_view library = "metal_stdlib/";
    const std::string text = replace_all(errors, Toolchain::shared().headers + "/", library);
    std::string result;
    for (std::size_t p = 0; p < text.size();) {
        const std::size_t newline = std::min(text.find('\n', p), text.size());
        const std::string line = text.substr(p, newline - p);
        p = newline + 1;
        // Why each function of the library was no candidate helps nobody.
        if (line.starts_with(library) && line.find(": note: ") != std::string::npos) continue;
        const Message message = parse(line);
        const std::string_view quoted = message.location.line > 0 ? line_of(source, name, message.location) : std::string_view();
        if (quoted.empty()) {
            result += line + '\n';
            continue;
        }
        const std::size_t column = original_column(line_of(compiled, name, message.location), message.column, quoted);
        result += message.location.file + ':' + std::to_string(message.location.line) + ':';
        if (column > 0) result += std::to_string(column) + ':';
        result += message.text + '\n';
        result += quoted;
        result += '\n';
        if (column > 0) {
            for (char c : quoted.substr(0, column - 1)) result += c == '\t' ? '\t' : ' ';
            result += "^\n";
        }
    }
    return result;
}

}  // namespace smtl::msl
