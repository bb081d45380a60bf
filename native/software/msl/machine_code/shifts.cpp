#include "shifts.h"

#include <algorithm>
#include <charconv>

namespace smtl::msl {
namespace {

bool take(std::string_view &text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

unsigned number(std::string_view text) {
    unsigned value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// The text of an operand ends before the comma or the end of the line.
std::size_t operand_end(std::string_view text) {
    unsigned depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '<' || text[i] == '(') ++depth;
        if (text[i] == '>' || text[i] == ')') --depth;
        if (depth == 0 && (text[i] == ',' || text[i] == '\n')) return i;
    }
    return text.size();
}

// `rest` is what follows the name of the operation: flags, the type, what is shifted, the count.
std::string bound_shift(std::string_view result, std::string_view operation, std::string_view rest) {
    for (const char *flag : {"nuw ", "nsw ", "exact "}) take(rest, flag);
    // i32 or <4 x i32>
    const bool vector = rest.starts_with('<');
    const std::size_t type_end = vector ? rest.find('>') + 1 : rest.find(' ');
    const std::string_view type = rest.substr(0, type_end), element = vector ? type.substr(type.find(" i") + 1) : type;
    const unsigned width = number(element.substr(1));
    const std::string_view shifted = rest.substr(type_end + 1, operand_end(rest.substr(type_end + 1)));
    rest.remove_prefix(std::min(rest.size(), type_end + 1 + shifted.size() + 2));
    const std::string_view count = rest.substr(0, operand_end(rest));
    rest.remove_prefix(count.size());
    const bool known =
        !vector && count.find_first_not_of("0123456789") == std::string_view::npos && number(count) < width;
    const bool bounded = !known && width > 0 && (width & (width - 1)) == 0;
    const std::string one = (vector ? std::string(element.substr(0, element.size() - 1)) : std::string(type)) + " " +
                            std::to_string(width - 1);
    std::string mask = std::to_string(width - 1), text;
    if (vector) {
        mask = "<";
        for (unsigned n = number(type.substr(1)); n > 0; --n) mask += one + (n > 1 ? ", " : ">");
    }
    const std::string bounded_count = "%smtl.count." + std::string(result.substr(1));
    if (bounded)
        text = "  " + bounded_count + " = and " + std::string(type) + " " + std::string(count) + ", " + mask + "\n";
    return text + "  " + std::string(result) + " = " + std::string(operation) + " " + std::string(type) + " " +
           std::string(shifted) + ", " + (bounded ? bounded_count : std::string(count)) + std::string(rest);
}

}  // namespace

std::string bound_shifts(std::string_view code) {
    std::string text;
    text.reserve(code.size() + code.size() / 8);
    while (!code.empty()) {
        const std::size_t end = std::min(code.find('\n'), code.size() - 1) + 1;
        const std::string_view line = code.substr(0, end);
        code.remove_prefix(end);
        // "  %name = operation ..."
        const std::size_t equals = line.starts_with("  %") ? line.find(" = ") : std::string_view::npos;
        if (equals == std::string_view::npos) {
            text += line;
            continue;
        }
        const std::string_view result = line.substr(2, equals - 2);
        const std::string_view rest = line.substr(equals + 3), operation = rest.substr(0, rest.find(' '));
        const bool shifts = operation == "shl" || operation == "lshr" || operation == "ashr";
        text += shifts ? bound_shift(result, operation, rest.substr(operation.size() + 1)) : std::string(line);
    }
    return text;
}

}  // namespace smtl::msl
