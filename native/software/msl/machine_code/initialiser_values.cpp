#include "initialiser_values.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace smtl::msl {
namespace {

constexpr std::string_view local = "%smtl.value";
constexpr std::string_view address = "getelementptr inbounds (";

std::string_view take_line(std::string_view &code) {
    const std::string_view line = code.substr(0, std::min(code.find('\n'), code.size() - 1) + 1);
    code.remove_prefix(line.size());
    return line;
}

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

    // The type with vectors of four in place of those of three, which have the same place in memory and are copied with
    // all of it.
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

    // What a value of the type consists of; nothing if these are too many.
    std::optional<std::vector<Part>> parts(std::string_view type) const {
        std::vector<Part> parts;
        if (!add_parts(type, ", i32 0", parts)) return std::nullopt;
        return parts;
    }

private:
    bool add_parts(std::string_view type, const std::string &indices, std::vector<Part> &parts) const {
        constexpr std::size_t most = 1024;
        if (type.starts_with("%")) {
            const auto known = named_.find(type);
            return known != named_.end() && add_parts(known->second, indices, parts);
        }
        if (type.starts_with("[")) {
            constexpr std::string_view of = " x ";
            const std::size_t at = type.find(of);
            const std::size_t count = std::strtoull(std::string(type.substr(1, at - 1)).c_str(), nullptr, 10);
            const std::string_view element = type.substr(at + of.size(), type.size() - at - of.size() - 1);
            for (std::size_t i = 0; i < count; ++i) {
                if (!add_parts(element, indices + ", i64 " + std::to_string(i), parts)) return false;
            }
            return true;
        }
        const std::size_t brace = type.starts_with("<{") ? 2 : type.starts_with("{") ? 1 : 0;
        if (brace == 0) {
            parts.push_back({std::string(type), indices});
            return parts.size() <= most;
        }
        std::string_view members = type.substr(brace, type.size() - 2 * brace);
        for (std::size_t i = 0; !members.empty(); ++i) {
            const std::size_t end = end_of_member(members);
            std::string_view member = members.substr(0, end);
            members.remove_prefix(std::min(end + 1, members.size()));
            while (member.starts_with(" ")) member.remove_prefix(1);
            while (member.ends_with(" ")) member.remove_suffix(1);
            if (!member.empty() && !add_parts(member, indices + ", i32 " + std::to_string(i), parts)) return false;
        }
        return true;
    }

    static std::size_t end_of_member(std::string_view members) {
        constexpr std::string_view opening = "[{<(", closing = "]}>)";
        std::size_t depth = 0, at = 0;
        for (; at < members.size() && (depth > 0 || members[at] != ','); ++at) {
            if (members[at] == '"') at = members.find('"', at + 1);
            depth += opening.find(members[at]) != std::string_view::npos;
            depth -= closing.find(members[at]) != std::string_view::npos;
        }
        return at;
    }

    std::map<std::string_view, std::string_view> named_;
};

// The code with wide types of the variables that have no value yet, and these variables with their types.
std::string widen_variables(std::string_view code, const Types &types,
                            std::map<std::string_view, std::string> &variables) {
    constexpr std::string_view assigned = " = internal global ", none = " zeroinitializer";
    std::string text;
    text.reserve(code.size());
    while (!code.empty()) {
        const std::string_view line = take_line(code);
        const std::size_t at = line.starts_with("@") ? line.find(assigned) : std::string_view::npos;
        const std::size_t end = at == std::string_view::npos ? at : line.find(none, at);
        if (end == std::string_view::npos) {
            text += line;
            continue;
        }
        const std::size_t begin = at + assigned.size();
        std::string &type = variables[line.substr(0, at)] = types.widen(line.substr(begin, end - begin));
        ((text += line.substr(0, begin)) += type) += line.substr(end);
    }
    return text;
}

class Initialiser {
public:
    Initialiser(std::string_view variable, std::string_view type) : variable_(variable), type_(type) {}

    void append_unchanged(std::string_view line) { text_ += line; }

    // A line of the function, which uses the local variable in place of the program's.
    void append(std::string_view line) {
        std::string changed(line);
        for (std::size_t at; (at = find_name(changed, variable_)) != std::string::npos;) {
            std::string name(local);
            changed.replace(at, variable_.size(), name);
            // An address within the variable is a constant, also of another such address; within a local variable it is
            // computed.
            for (std::size_t begin; (begin = changed.rfind(address, at)) != std::string::npos; at = begin) {
                const std::size_t inside = begin + address.size(), end = changed.find(')', at);
                if (changed.find(')', inside) != end) break;
                name = fresh_name();
                text_ += "  " + name + " = getelementptr inbounds " + changed.substr(inside, end - inside) + "\n";
                changed.replace(begin, end + 1 - begin, name);
            }
        }
        text_ += changed;
    }

    void begin() {
        const std::string name(local), type(type_);
        text_ += "  " + name + " = alloca " + type + "\n  store " + type + " zeroinitializer, ptr " + name + "\n";
    }

    void end(const std::vector<Part> &parts) {
        const auto address_in = [&](std::string_view whole, const Part &part) {
            const std::string name = fresh_name();
            text_ += "  " + name + " = getelementptr inbounds " + std::string(type_) + ", ptr " + std::string(whole) +
                     part.indices + "\n";
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

    std::string_view variable_, type_;
    std::size_t names_ = 0;
    std::string text_;
};

// The function, or nothing if it stays as it is.
std::optional<std::string> compute_locally(std::string_view function, const Types &types,
                                           const std::map<std::string_view, std::string> &variables) {
    // What clang says of a variable that has its value.
    constexpr std::string_view finished = "@llvm.invariant.start.p0(", body = " section ";
    const std::size_t last = function.find(finished);
    if (last == std::string_view::npos || function.find(finished, last + 1) != std::string_view::npos)
        return std::nullopt;
    const std::string_view rest = function.substr(last, function.find('\n', last) - last);
    const std::size_t name = rest.find("ptr @");
    if (name == std::string_view::npos) return std::nullopt;
    const auto variable = variables.find(rest.substr(name + 4, rest.rfind(')') - name - 4));
    const auto parts = variable == variables.end() ? std::nullopt : types.parts(variable->second);
    const std::string_view head = take_line(function);
    const std::size_t attributes = head.find(body);
    if (!parts || attributes == std::string_view::npos) return std::nullopt;
    Initialiser initialiser(variable->first, variable->second);
    initialiser.append_unchanged(head.substr(0, attributes));
    initialiser.append_unchanged(" " + std::string(stores_apart));
    initialiser.append_unchanged(head.substr(attributes));
    if (function.starts_with("entry:")) initialiser.append_unchanged(take_line(function));
    initialiser.begin();
    while (!function.empty()) {
        const std::string_view line = take_line(function);
        if (line.find(finished) == std::string_view::npos) {
            initialiser.append(line);
            continue;
        }
        initialiser.end(*parts);
        initialiser.append_unchanged(line);
    }
    return initialiser.text();
}

}  // namespace

std::string compute_values_locally(std::string_view original) {
    const Types types(original);
    std::map<std::string_view, std::string> variables;
    const std::string wide = widen_variables(original, types, variables);
    std::string_view code = wide;
    constexpr std::string_view head = "define internal void @__cxx_global_var_init", end_of_function = "\n}\n";
    std::string text;
    for (std::size_t at; (at = code.find(head)) != std::string_view::npos;) {
        const std::size_t end = code.find(end_of_function, at);
        if (end == std::string_view::npos) break;
        text += code.substr(0, at);
        const std::string_view function = code.substr(at, end + end_of_function.size() - at);
        text += compute_locally(function, types, variables).value_or(std::string(function));
        code.remove_prefix(at + function.size());
    }
    return text += code;
}

}  // namespace smtl::msl
