#include "initialiser_values.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "text/lines.h"

namespace smtl::msl {
namespace {

constexpr std::string_view local = "%smtl.value";

bool belongs_to_name(char c) {
    constexpr std::string_view others = "._$-";
    return std::isalnum(static_cast<unsigned char>(c)) || others.find(c) != std::string_view::npos;
}

std::size_t find_name(std::string_view text, std::string_view name) {
    std::size_t at = text.find(name);
    while (at != std::string_view::npos && at + name.size() < text.size() && belongs_to_name(text[at + name.size()]))
        at = text.find(name, at + 1);
    return at;
}

// Where one of these characters stands outside of brackets and quoted names; the text's length if nowhere.
std::size_t end_of(std::string_view text, std::string_view characters) {
    constexpr std::string_view opening = "[{<(", closing = "]}>)";
    std::size_t depth = 0, at = 0;
    for (; at < text.size() && (depth > 0 || characters.find(text[at]) == std::string_view::npos); ++at) {
        if (text[at] == '"') at = std::min(text.find('"', at + 1), text.size() - 1);
        depth += opening.find(text[at]) != std::string_view::npos;
        depth -= closing.find(text[at]) != std::string_view::npos;
    }
    return at;
}

// A scalar or a vector within a value: its type, and the indices that lead to it.
struct Part {
    std::string type, indices;
};

class Types {
public:
    explicit Types(std::string_view code) {
        constexpr std::string_view is = " = type ";
        while (!code.empty()) {
            const std::string_view line = take_line(code);
            const std::size_t at = line.starts_with("%") ? line.find(is) : std::string_view::npos;
            if (at != std::string_view::npos)
                named_[line.substr(0, at)] = line.substr(at + is.size(), line.size() - at - is.size() - 1);
        }
    }

    // The type with vectors of four in place of those of three, which have the same layout in memory and are copied
    // with all of it.
    std::string widen(std::string_view type) const {
        constexpr std::string_view three = "<3 x ";
        std::string text;
        while (!type.empty()) {
            std::size_t length = 1;
            if (type.starts_with(three)) {
                text += "<4 x ";
                length = three.size();
            } else if (type.starts_with("%")) {
                length = type.starts_with("%\"") ? type.find('"', 2) + 1
                                                 : std::min(type.find_first_of(" ,]}>"), type.size());
                const auto known = named_.find(type.substr(0, length));
                text += known == named_.end() ? std::string(type.substr(0, length)) : widen(known->second);
            } else {
                text += type.front();
            }
            type.remove_prefix(length);
        }
        return text;
    }

    // What a value of the type consists of; nothing if these are too many, if a union has bytes besides, or if one
    // could be an address within the value itself, which would be that of the local variable.
    std::optional<std::vector<Part>> parts(std::string_view type) const {
        std::vector<Part> parts;
        if (!add_parts(type, ", i32 0", parts)) return std::nullopt;
        const bool holds_address = std::any_of(parts.begin(), parts.end(), [&](const Part &part) {
            return part.type.starts_with("ptr") || (parts.size() > 1 && part.type.find("i64") != std::string::npos);
        });
        if (holds_address) return std::nullopt;
        return parts;
    }

private:
    bool add_parts(std::string_view type, const std::string &indices, std::vector<Part> &parts) const {
        constexpr std::size_t most = 1024;
        if (type.starts_with("%")) {
            const bool is_union = type.starts_with("%union.") || type.starts_with("%\"union.");
            const auto known = named_.find(type);
            return !is_union && known != named_.end() && add_parts(known->second, indices, parts);
        }
        if (type.starts_with("[")) {
            constexpr std::string_view of = " x ";
            const std::size_t at = type.find(of);
            const std::size_t count = std::strtoull(std::string(type.substr(1, at - 1)).c_str(), nullptr, 10);
            const std::string_view element = type.substr(at + of.size(), type.size() - at - of.size() - 1);
            for (std::size_t i = 0; i < count; ++i)
                if (!add_parts(element, indices + ", i64 " + std::to_string(i), parts)) return false;
            return true;
        }
        const std::size_t brace = type.starts_with("<{") ? 2 : type.starts_with("{") ? 1 : 0;
        if (brace == 0) {
            parts.push_back({widen(type), indices});
            return parts.size() <= most;
        }
        std::string_view members = type.substr(brace, type.size() - 2 * brace);
        for (std::size_t i = 0; !members.empty(); ++i) {
            const std::size_t end = end_of(members, ",");
            std::string_view member = members.substr(0, end);
            members.remove_prefix(std::min(end + 1, members.size()));
            while (member.starts_with(" ")) member.remove_prefix(1);
            while (member.ends_with(" ")) member.remove_suffix(1);
            if (!member.empty() && !add_parts(member, indices + ", i32 " + std::to_string(i), parts)) return false;
        }
        return true;
    }

    std::map<std::string_view, std::string_view> named_;
};

struct Variable {
    std::string_view type, alignment;
};

using Variables = std::map<std::string_view, Variable>;

// The variables that have no value yet.
Variables variables_without_value(std::string_view code) {
    constexpr std::string_view assigned = " = internal global ", none = " zeroinitializer", aligned = ", align ";
    Variables variables;
    while (!code.empty()) {
        const std::string_view line = take_line(code);
        const std::size_t at = line.starts_with("@") ? line.find(assigned) : std::string_view::npos;
        if (at == std::string_view::npos) continue;
        const std::size_t begin = at + assigned.size(), end = begin + end_of(line.substr(begin), " ");
        if (!line.substr(end).starts_with(none)) continue;
        Variable &variable = variables[line.substr(0, at)];
        variable.type = line.substr(begin, end - begin);
        const std::size_t alignment = line.find(aligned, end);
        if (alignment == std::string_view::npos) continue;
        const std::size_t digits = alignment + aligned.size();
        variable.alignment = line.substr(alignment, line.find_first_not_of("0123456789", digits) - alignment);
    }
    return variables;
}

class Initialiser {
public:
    Initialiser(std::string_view variable, std::string type, std::string_view alignment)
        : variable_(variable), type_(std::move(type)), alignment_(alignment) {}

    void append_unchanged(std::string_view line) { text_ += line; }

    // A line of the function, which uses the local variable in place of the program's. False if it cannot.
    bool append(std::string_view line) {
        constexpr std::string_view address = "getelementptr ";
        std::string changed(line);
        for (std::size_t at; (at = find_name(changed, variable_)) != std::string::npos;) {
            std::string name(local);
            changed.replace(at, variable_.size(), name);
            // An address within the variable is a constant, also of another such address; within a local variable it is
            // computed.
            for (std::size_t begin; (begin = changed.rfind(address, at)) != std::string::npos; at = begin) {
                const std::string_view rest = std::string_view(changed).substr(begin);
                const std::size_t open = end_of(rest, "(,");
                if (open == rest.size() || rest[open] == ',') break;
                const std::size_t close = open + 1 + end_of(rest.substr(open + 1), ")");
                if (begin + close < at || close == rest.size()) break;
                name = fresh_name();
                const std::string computed(rest.substr(open + 1, close - open - 1));
                text_ += "  " + name + " = " + std::string(rest.substr(0, open)) + computed + "\n";
                changed.replace(begin, close + 1, name);
            }
        }
        text_ += changed;
        // What else is made of an address is a constant too.
        return changed.find(std::string(local)) == std::string::npos || changed.find(" (") == std::string::npos;
    }

    void begin() {
        const std::string name(local);
        text_ += "  " + name + " = alloca " + type_ + std::string(alignment_) + "\n  store " + type_ +
                 " zeroinitializer, ptr " + name + "\n";
    }

    void end(const std::vector<Part> &parts) {
        const auto address_in = [&](std::string_view whole, const Part &part) {
            const std::string name = fresh_name();
            text_ += "  " + name + " = getelementptr inbounds " + type_ + ", ptr " + std::string(whole) + part.indices +
                     "\n";
            return name;
        };
        for (const Part &part : parts) {
            const std::string from = address_in(local, part), to = address_in(variable_, part), value = fresh_name();
            text_ += "  " + value + " = load " + part.type + ", ptr " + from + "\n  store " + part.type + " " + value +
                     ", ptr " + to + "\n";
        }
    }

    const std::string &text() const { return text_; }

private:
    std::string fresh_name() { return std::string(local) + "." + std::to_string(names_++); }

    std::string_view variable_;
    std::string type_;
    std::string_view alignment_;
    std::size_t names_ = 0;
    std::string text_;
};

// The function, or nothing if it stays as it is. `wide` gets the variable.
std::optional<std::string> compute_locally(std::string_view function, const Types &types, const Variables &variables,
                                           std::set<std::string_view> &wide) {
    // What clang says of a variable that has its value.
    constexpr std::string_view finished = "@llvm.invariant.start.p0(", body = " section ";
    const std::size_t last = function.find(finished);
    if (last == std::string_view::npos || function.find(finished, last + 1) != std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = function.substr(last, function.find('\n', last) - last);
    const std::size_t name = rest.find("ptr @");
    if (name == std::string_view::npos) return std::nullopt;
    const auto variable = variables.find(rest.substr(name + 4, rest.rfind(')') - name - 4));
    const auto parts = variable == variables.end() ? std::nullopt : types.parts(variable->second.type);
    const std::string_view head = take_line(function);
    const std::size_t attributes = head.find(body);
    if (!parts || attributes == std::string_view::npos) return std::nullopt;
    Initialiser initialiser(variable->first, types.widen(variable->second.type), variable->second.alignment);
    initialiser.append_unchanged(head.substr(0, attributes));
    initialiser.append_unchanged(" " + std::string(stores_apart));
    initialiser.append_unchanged(head.substr(attributes));
    if (function.starts_with("entry:")) initialiser.append_unchanged(take_line(function));
    initialiser.begin();
    while (!function.empty()) {
        const std::string_view line = take_line(function);
        if (line.find(finished) == std::string_view::npos) {
            if (!initialiser.append(line)) return std::nullopt;
            continue;
        }
        initialiser.end(*parts);
        initialiser.append_unchanged(line);
    }
    wide.insert(variable->first);
    return initialiser.text();
}

// The code with wide types of these variables.
std::string widen(std::string_view code, const Types &types, const Variables &variables,
                  const std::set<std::string_view> &wide) {
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        const std::string_view line = take_line(code), name = line.substr(0, line.find(" = "));
        if (!line.starts_with("@") || !wide.contains(name)) {
            text += line;
            continue;
        }
        const std::string_view type = variables.at(name).type;
        const std::size_t at = line.find(type, name.size());
        ((text += line.substr(0, at)) += types.widen(type)) += line.substr(at + type.size());
    }
    return text;
}

}  // namespace

std::string compute_values_locally(std::string_view code) {
    const Variables variables = variables_without_value(code);
    const Types types(code);
    std::set<std::string_view> wide;
    constexpr std::string_view head = "define internal void @__cxx_global_var_init", end_of_function = "\n}\n";
    std::string text;
    for (std::size_t at; (at = code.find(head)) != std::string_view::npos;) {
        const std::size_t end = code.find(end_of_function, at);
        if (end == std::string_view::npos) break;
        text += code.substr(0, at);
        const std::string_view function = code.substr(at, end + end_of_function.size() - at);
        text += compute_locally(function, types, variables, wide).value_or(std::string(function));
        code.remove_prefix(at + function.size());
    }
    return widen(text += code, types, variables, wide);
}

}  // namespace smtl::msl
