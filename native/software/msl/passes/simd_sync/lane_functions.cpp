#include "lane_functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

// Objects that are called say where their operator is called; other operators stand anywhere.
constexpr std::string_view call_operator = "operator()";

std::string_view called_name(const Source &source, const Declaration &declaration) {
    const std::string_view name = own_name(source, declaration);
    return name == "operator" && source[declaration.name_end - 1].is(")") ? call_operator : name;
}

bool is_alias(const Source &source, Index i) {
    return source[i].is("typedef") ||
           (source[i].is("using") && source[i + 1].kind != TokenKind::end && source[i + 2].is("="));
}

// `typedef threadgroup float *name;`, `using name = device float *;`, and other names of such names.
void note_shared_type(const Source &source, Range range, std::string_view name, LaneFunctions &lanes) {
    SharedType type;
    bool shared = false;
    for (Index i = range.begin; i < range.end && !source[i].is("("); ++i) {
        const auto known = lanes.shared_types.find(source[i].text);
        if (source[i].is("threadgroup") || source[i].is("device")) {
            shared = true;
            type.threadgroup = source[i].is("threadgroup");
        } else if (known != lanes.shared_types.end() && !shared) {
            shared = true;
            type = known->second;
        }
        type.pointer = type.pointer || (shared && source[i].is("*"));
        type.reference = type.reference || (shared && (source[i].is("&") || source[i].is("&&")));
    }
    if (shared) lanes.shared_types[name] = type;
}

// `struct S`, `using T = float;`, `typedef float T;`
void find_types(const Source &source, LaneFunctions &lanes) {
    constexpr std::array<std::string_view, 6> keys = {"struct", "class", "union", "enum", "typename", "using"};
    constexpr Index longest = 64;
    for (Index i = 0; i + 2 < source.size(); ++i) {
        const Token &name = source[i + 1];
        if (source[i].is_one_of(keys) && name.is_identifier()) lanes.types.insert(name.text);
        if (!is_alias(source, i)) continue;
        const Index end = std::min(source.skip_to_semicolon(i, source.size()), i + longest) - 1;
        if (source[i].is("using")) {
            note_shared_type(source, {i + 3, end}, name.text, lanes);
        } else if (source[end].is(";")) {
            Index last = end - 1;
            if (source[last].is("]")) last = source.group_begin(last) - 1;
            if (!source[last].is_identifier()) continue;
            lanes.types.insert(source[last].text);
            note_shared_type(source, {i + 1, last}, source[last].text, lanes);
        }
    }
}

// Names that stand for one value: constants and template parameters.
void find_constants(const Source &source, LaneFunctions &lanes) {
    constexpr Index longest = 64;
    for (Index i = 0; i + 1 < source.size(); ++i) {
        if (source[i].is("template") && source[i + 1].is("<")) {
            const Index end = std::min(source.skip_angles(i + 1, source.size() - 1).value_or(i), i + longest);
            for (Index j = i; j < end; ++j)
                if (source[j].is_identifier()) lanes.constants.insert(source[j].text);
        } else if (source[i].is("constexpr") || source[i].is("constant")) {
            Index name = i;
            Index j = i;
            for (; j < std::min(i + longest, source.size() - 1) &&
                   (source[j].is_identifier() || source[j].is("::") || source[j].is("<") || source[j].is(">"));
                 ++j) {
                if (source[j].is_identifier()) name = j;
            }
            if (source[j].is("=") || source[j].is("[") || source[j].is("{") || source[j].is(";"))
                lanes.constants.insert(source[name].text);
        }
    }
}

// `auto const &&[a, b] = ...`
bool begins_structured_binding(const Source &source, Index i) {
    constexpr std::array<std::string_view, 3> behind_auto = {"&", "&&", "const"};
    while (i > 1 && source[i - 1].is_one_of(behind_auto)) --i;
    return i > 0 && source[i - 1].is("auto");
}

// Behind the head of a statement, no operand ends.
bool begins_lambda(const Source &source, Index i) {
    if (!source[i].is("[") || source.opens_attribute(i) || source[i - 1].is("[") ||
        begins_structured_binding(source, i))
        return false;
    const Index open = source[i - 1].is(")") ? source.group_begin(i - 1) : 0;
    return !ends_operand(source[i - 1]) || (open > 0 && begins_head(source[open - 1]));
}

// `T name,`, `T *name)`, `(*name)`
bool declares_value(const Source &source, Index name) {
    constexpr std::array<std::string_view, 6> ends = {",", ">", ")", "=", ";", "{"};
    constexpr std::array<std::string_view, 10> words = {"typename", "class",       "struct",   "union",  "using",
                                                        "const",    "threadgroup", "constant", "device", "thread"};
    if (!source[name + 1].is_one_of(ends)) return false;
    const Token &before = source[name - 1];
    return before.is("*") || before.is("&") || before.is("...") ||
           (before.is_identifier() && !begins_no_declaration(before) && !before.is_one_of(words));
}

bool is_type(std::string_view name, const LaneFunctions &lanes) {
    return names_arithmetic_type(name) || (lanes.types.contains(name) && !lanes.declared.contains(name));
}

// `(T)` and `(device T *)` before an operand.
bool is_cast(const Source &source, Index close, const LaneFunctions &lanes) {
    constexpr std::array<std::string_view, 8> words = {"const",  "device", "threadgroup", "constant",
                                                       "thread", "::",     "*",           "&"};
    constexpr Index longest = 16;
    const Index open = source.group_begin(close);
    if (open + 1 >= close || close - open > longest) return false;
    bool typed = false;
    for (Index i = open + 1; i < close; ++i) {
        const bool type = is_type(source[i].text, lanes);
        if (!type && !source[i].is_one_of(words)) return false;
        typed = typed || type;
    }
    return typed;
}

// For each function's name, the names of the functions that call it.
using Callers = std::map<std::string_view, std::vector<std::string_view>>;

void spread(std::vector<std::string_view> found, const Callers &callers, LaneFunctions &lanes) {
    while (!found.empty()) {
        const std::string_view name = found.back();
        found.pop_back();
        if (!lanes.talking.insert(name).second) continue;
        if (const auto calling = callers.find(name); calling != callers.end())
            found.insert(found.end(), calling->second.begin(), calling->second.end());
    }
}

bool is_called(const Source &source, Index name) {
    return source[name].is_identifier() && (source[name + 1].is("(") || source[name + 1].is("<"));
}

// With default arguments, and with what initialises the members.
Range code_of(const Declaration &declaration) {
    if (declaration.erased || (!is_function(declaration) && !declaration.parameters)) return {};
    const Range code = is_function(declaration) ? declaration.body : *declaration.parameters;
    return {declaration.parameters ? declaration.parameters->begin : code.begin, code.end};
}

// Constructors run, also with the initialisers that stand at the members, where the translation does not see a call.
void find_hidden(const Source &source, const Declarations &declarations, LaneFunctions &lanes) {
    for (const Declaration &declaration : declarations) {
        if (declaration.kind == DeclarationKind::variable && declaration.member) {
            for (Index i = declaration.begin; i + 1 < declaration.end; ++i) {
                const bool talks = is_lane_function(source[i].text) || lanes.talking.contains(source[i].text);
                lanes.anything_talks |= is_called(source, i) && talks;
            }
        }
        if (!is_function(declaration)) continue;
        const Range body = declaration.body;
        const std::string_view name = called_name(source, declaration);
        const bool hidden = declaration.constructor || name == "operator" || source[declaration.name_begin].is("~");
        lanes.anything_talks |= hidden && lanes.talking.contains(name);
        lanes.calls_talk |= name == call_operator && lanes.talking.contains(name);
        Index lambdas_end = body.begin;
        for (Index i = body.begin + 1; i + 1 < body.end; ++i) {
            if (lanes.lambdas.contains(i)) {
                const Index open = lambda_body(source, lanes, i, body.end);
                lambdas_end =
                    std::max(lambdas_end, source[open].is("{") ? source.skip_group(open, body.end) : body.end);
            }
            const bool talks = is_lane_function(source[i].text) || lanes.talking.contains(source[i].text);
            lanes.calls_talk |= i < lambdas_end && is_called(source, i) && talks;
        }
    }
}

}  // namespace

bool is_call_of_value(const Source &source, Index open, const LaneFunctions &lanes) {
    constexpr std::array<std::string_view, 4> words = {"noexcept", "alignas", "decltype", "__attribute__"};
    if (open < 2 || !source[open].is("(")) return false;
    const Token &before = source[open - 1];
    if (before.is("]")) return !lanes.lambdas.contains(source.group_begin(open - 1));
    if (before.is("}")) return true;
    if (before.is(")")) return !is_cast(source, open - 1, lanes);
    const Index angle = before.is(">") ? source.group_begin(open - 1) : open;
    if (angle == 0 || !source[angle - 1].is_identifier()) return false;
    const Token &name = source[angle - 1];
    return lanes.values.contains(name.text) && !is_type(name.text, lanes) && !begins_no_declaration(name) &&
           !begins_head(name) && !name.is_one_of(words);
}

// Another lambda ends the head, too: each would be looked through for the bodies of all before it.
Index lambda_body(const Source &source, const LaneFunctions &lanes, Index lambda, Index end) {
    constexpr std::array<std::string_view, 5> ends = {"{", ";", ")", "]", "}"};
    Index i = source.skip_group(lambda, end);
    while (i < end && !lanes.lambdas.contains(i) && !source[i].is_one_of(ends))
        i = source[i].is("(") || source[i].is("[") ? source.skip_group(i, end) : i + 1;
    return i;
}

bool is_function(const Declaration &declaration) {
    return declaration.kind == DeclarationKind::function && !declaration.body.empty() && !declaration.erased;
}

bool is_lane_function(std::string_view name) {
    return name.starts_with("simd_") || name.starts_with("quad_") || name.starts_with("__metal_simd_") ||
           name.starts_with("__metal_quad_");
}

LaneFunctions find_lane_functions(const Source &source, const Declarations &declarations) {
    LaneFunctions lanes;
    for (const Declaration &declaration : declarations)
        if (declaration.parameters) lanes.functions.insert(own_name(source, declaration));
    find_constants(source, lanes);
    find_types(source, lanes);
    Callers callers;
    std::vector<std::string_view> talking, calling;
    for (const Declaration &declaration : declarations) {
        const std::string_view function = called_name(source, declaration);
        const Range code = code_of(declaration);
        for (Index i = code.begin; i + 1 < code.end; ++i) {
            if (begins_lambda(source, i)) lanes.lambdas.insert(i);
            if (!is_called(source, i)) continue;
            if (is_lane_function(source[i].text)) talking.push_back(function);
            callers[source[i].text].push_back(function);
        }
    }
    // What is called through a table, or is linked, may do anything.
    for (Index i = 0; i < source.size() && !lanes.calls_talk; ++i)
        lanes.calls_talk = source[i].is("visible_function_table");
    std::set<std::string> defined;
    for (const Declaration &declaration : declarations)
        if (declaration.kind == DeclarationKind::function) defined.insert(full_name(source, declaration));
    for (const Declaration &declaration : declarations)
        if (declaration.kind == DeclarationKind::prototype && !declaration.member &&
            !defined.contains(full_name(source, declaration)))
            talking.push_back(own_name(source, declaration));
    spread(std::move(talking), callers, lanes);
    find_hidden(source, declarations, lanes);
    find_passed_on(source, declarations, lanes);
    if (!lanes.calls_talk) return lanes;
    for (Index i = 1; i + 1 < source.size(); ++i) {
        if (!source[i].is_identifier() || is_called(source, i)) continue;
        lanes.values.insert(source[i].text);
        if (declares_value(source, i)) lanes.declared.insert(source[i].text);
    }
    for (const Declaration &declaration : declarations) {
        const Range code = code_of(declaration);
        for (Index i = code.begin; i < code.end; ++i)
            if (is_call_of_value(source, i, lanes)) calling.push_back(called_name(source, declaration));
    }
    spread(std::move(calling), callers, lanes);
    find_hidden(source, declarations, lanes);
    return lanes;
}

}  // namespace smtl::msl
