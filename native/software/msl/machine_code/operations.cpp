#include "operations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "text/lines.h"

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

// "result = name type first, second rest", of which the flags are left out.
struct Operation {
    std::string result, name, type, first, second, rest;
    std::string element;  // the type, or that of a vector's elements
    unsigned width = 0;   // of an element, in bits
    unsigned length = 0;  // of a vector; 0: a scalar

    // `value` in each element.
    std::string all(const std::string &value) const {
        std::string text = length == 0 ? value : "<";
        for (unsigned n = length; n > 0; --n) text += element + " " + value + (n > 1 ? ", " : ">");
        return text;
    }
    // The name of another value, which stands for the operation alone.
    std::string local(const char *purpose) const { return "%smtl." + std::string(purpose) + "." + result.substr(1); }
    bool is_scalar_constant() const {
        return length == 0 && second.find_first_not_of("0123456789") == std::string::npos;
    }
    std::string text() const { return "  " + result + " = " + name + " " + type + " " + first + ", " + second + rest; }
};

std::optional<Operation> read_operation(std::string_view line) {
    const std::size_t equals = line.starts_with("  %") ? line.find(" = ") : std::string_view::npos;
    if (equals == std::string_view::npos) return std::nullopt;
    std::string_view rest = line.substr(equals + 3);
    const std::string_view name = rest.substr(0, rest.find(' '));
    constexpr std::array<std::string_view, 7> names = {"shl", "lshr", "ashr", "sdiv", "udiv", "srem", "urem"};
    if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
    Operation operation;
    operation.result = line.substr(2, equals - 2);
    operation.name = name;
    rest.remove_prefix(name.size() + 1);
    for (const char *flag : {"nuw ", "nsw ", "exact "}) take(rest, flag);
    // i32 or <4 x i32>
    const bool vector = rest.starts_with('<');
    const std::size_t type_end = vector ? rest.find('>') + 1 : rest.find(' ');
    operation.type = rest.substr(0, type_end);
    operation.element = vector ? operation.type.substr(operation.type.find(" i") + 1) : operation.type;
    if (vector) operation.element.pop_back();
    operation.width = number(std::string_view(operation.element).substr(1));
    operation.length = vector ? number(std::string_view(operation.type).substr(1)) : 0;
    rest.remove_prefix(type_end + 1);
    operation.first = rest.substr(0, operand_end(rest));
    rest.remove_prefix(std::min(rest.size(), operation.first.size() + 2));
    operation.second = rest.substr(0, operand_end(rest));
    operation.rest = rest.substr(operation.second.size());
    return operation;
}

// Empty: the operation stays as it is.
std::string bound_shift(Operation shift) {
    const unsigned width = shift.width;
    const bool known = shift.is_scalar_constant() && number(shift.second) < width;
    if (known || width == 0 || (width & (width - 1)) != 0) return {};
    const std::string count = shift.local("count");
    const std::string bounded =
        "  " + count + " = and " + shift.type + " " + shift.second + ", " + shift.all(std::to_string(width - 1)) + "\n";
    shift.second = count;
    return bounded + shift.text();
}

// What a division needs for the numbers that kernels have. Empty: the operation stays as it is.
std::string guard_division(Operation division) {
    constexpr unsigned widest = 64;
    const unsigned width = division.width;
    if (width == 0 || width > widest || (division.is_scalar_constant() && division.second != "0")) return {};
    const std::string type = division.type,
                      condition = division.length == 0 ? "i1" : "<" + std::to_string(division.length) + " x i1>";
    const std::string zero = division.local("zero"), divisor = division.local("divisor");
    std::string traps = zero,
                text = "  " + zero + " = icmp eq " + type + " " + division.second + ", " + division.all("0") + "\n";
    if (division.name.starts_with("s")) {
        const std::string negative = division.local("negative"), least = division.local("least"),
                          overflow = division.local("overflow");
        const std::string least_value = std::to_string(INT64_MIN >> (widest - width));
        traps = division.local("traps");
        text += "  " + negative + " = icmp eq " + type + " " + division.second + ", " + division.all("-1") + "\n";
        text += "  " + least + " = icmp eq " + type + " " + division.first + ", " + division.all(least_value) + "\n";
        text += "  " + overflow + " = and " + condition + " " + negative + ", " + least + "\n";
        text += "  " + traps + " = or " + condition + " " + zero + ", " + overflow + "\n";
    }
    text += "  " + divisor + " = select " + condition + " " + traps + ", " + type + " " + division.all("1") + ", " +
            type + " " + division.second + "\n";
    division.second = divisor;
    return text + division.text();
}

// The type of the operand at `at`: before it and its attributes, or, of a second operand, before the first one.
std::string_view type_before(std::string_view line, std::size_t at) {
    for (;;) {
        const std::size_t start = line.find_last_of(" (<[{", at - 2) + 1;
        const std::string_view word = line.substr(start, at - 1 - start);
        if (word != "noundef" && word != "signext" && word != "zeroext" && !word.ends_with(',')) return word;
        at = start;
    }
}

// What stands in place of a `poison` at `at`, which clang has made of a division of numbers that it knows; empty for
// one that only says that a value is still to come. An address is one that no memory has, and that the optimiser does
// not know as such.
std::string_view substitute(std::string_view line, std::size_t at) {
    std::string_view type = type_before(line, at);
    // "result = phi type [ poison, %block ], ..."
    if (const std::size_t joint = line.find(" = phi "); joint != std::string_view::npos) {
        type = line.substr(joint + 7);
        type = type.substr(0, type.find(" ["));
    }
    if (type == "ptr") return "inttoptr (i64 8 to ptr)";
    const bool is_vector = type.ends_with('>');
    const bool is_scalar = type == "float" || type == "half" || type == "bfloat" || type == "double" ||
                           (type.starts_with('i') && type.find_first_not_of("0123456789", 1) == std::string_view::npos);
    if (line.find(" = insertelement ") == std::string_view::npos)
        return is_scalar || is_vector ? "zeroinitializer" : "";
    // The vector that an element comes into lacks it and others, as one in brackets too.
    const std::string_view before = line.substr(0, at);
    const bool is_inside =
        std::count(before.begin(), before.end(), '<') != std::count(before.begin(), before.end(), '>');
    return is_scalar && !is_inside ? "zeroinitializer" : "";
}

// Makes a processor with an instruction that traps execute it.
constexpr std::string_view trap =
#if defined(__x86_64__)
    R"(  call void asm sideeffect "xorl %eax, %eax; idivl %eax", "~{eax},~{edx},~{flags}"())"
    "\n";
#else
    "";
#endif

// Behind `text`, which is what comes before it: the line with numbers for what divisions have not given. `divides` as
// in define_operations.
void append_defined(std::string &text, std::string_view line, bool divides) {
    constexpr std::string_view word = "poison";
    std::string changed;
    std::size_t done = 0;
    for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + word.size())) {
        const bool is_operand = at > 1 && line[at - 1] == ' ' && line.find_first_of(",\n>)]", at) == at + word.size();
        const std::string_view found = is_operand ? substitute(line, at) : "";
        if (found.empty()) continue;
        changed += line.substr(done, at - done);
        changed += found;
        done = at + word.size();
        if (divides) continue;
        // The block that a result comes from traps at its end.
        std::size_t place = text.size();
        if (constexpr std::string_view from = ", %"; line.find(" = phi ") != std::string_view::npos) {
            const std::size_t name = at + word.size() + from.size();
            const std::string block(line.substr(name, line.find_first_of(" ]", name) - name));
            const std::size_t label = text.rfind("\n" + block + ":");
            const std::size_t end = std::min(text.find("\n  br ", label), text.find("\n  switch ", label));
            if (label != std::string::npos) place = std::min(end, text.size() - 1) + 1;
        }
        text.insert(place, trap);
    }
    text += changed;
    text += line.substr(done);
}

}  // namespace

std::string define_operations(std::string_view code, bool divides) {
    std::string text;
    text.reserve(code.size() + code.size() / 8);
    while (!code.empty()) {
        const std::string_view line = take_line(code);
        if (line.starts_with("  ") && line.find("poison") != std::string_view::npos &&
            line.find(" = shufflevector ") == std::string_view::npos) {
            append_defined(text, line, divides);
            continue;
        }
        const std::optional<Operation> operation = read_operation(line);
        const bool shifts = operation && operation->name.find("sh") != std::string::npos;
        std::string changed;
        if (shifts) changed = bound_shift(*operation);
        if (operation && !shifts && divides) changed = guard_division(*operation);
        text += changed.empty() ? line : changed;
    }
    return text;
}

}  // namespace smtl::msl
