// What calls say of lanes, by the names of functions: which of them talk to other lanes, whose values differ from lane
// to lane though their arguments do not, and which store through a parameter. Whatever a name may stand for counts.
#include <algorithm>
#include <array>

#include "msl/passes/translator.h"

namespace smtl::msl {
namespace {

// With results in arguments.
constexpr std::array<std::string_view, 4> writers = {"modf", "frexp", "sincos", "swap"};

bool ends_place(const Token &token) {
    return (token.is_identifier() && !token.is("return")) || token.is(")") || token.is("]");
}

// Not called: it may be called by another name.
bool is_passed_on(const Token &before, const Token &behind) {
    constexpr std::array<std::string_view, 9> openings = {"(", ",", "=", "<", "&", "{", "?", ":", "return"},
                                              closings = {")", ",", ";", ">", "}", ":", "?", "=", "]"};
    return std::find(openings.begin(), openings.end(), before.text) != openings.end() &&
           std::find(closings.begin(), closings.end(), behind.text) != closings.end();
}

}  // namespace

bool is_lane_function(std::string_view name) {
    return name.starts_with("simd_") || name.starts_with("quad_") || name.starts_with("__metal_simd_") ||
           name.starts_with("__metal_quad_");
}

bool is_varying_function(std::string_view name) {
    if (name == "simd_is_first" || name.starts_with("simd_prefix") || name.starts_with("simd_shuffle")) return true;
    return name.starts_with("quad_") || name.starts_with("__metal_") ||
           (name.starts_with("atomic_") && name != "atomic_thread_fence");
}

// The last part of the name, without template arguments; `operator` for all of these.
std::string_view Translator::own_name(const Declaration &declaration) const {
    Index name = declaration.name_begin;
    for (Index i = name; i < declaration.name_end; ++i) {
        if (tokens_[i].is("operator")) return tokens_[i].text;
        if (tokens_[i].is_identifier()) name = i;
        if (tokens_[i].is("<")) i = skip_angles(i, declaration.name_end).value_or(i + 1) - 1;
    }
    return tokens_[name].text;
}

// A declaration with parameters.
void Translator::note_parameters(const Declaration &declaration) {
    for (const Range &part : split_commas(*declaration.parameters)) {
        const AddressSpace space = address_space_of(part);
        if (space != AddressSpace::none && space != AddressSpace::thread) continue;
        bool constant = false, indirect = false;
        for (Index i = part.begin; i < part.end && !tokens_[i].is("="); ++i) {
            if (opens_attribute(i)) {
                i = skip_group(i, part.end) - 1;
                continue;
            }
            constant = constant || tokens_[i].is("const");
            indirect =
                indirect || tokens_[i].is("*") || tokens_[i].is("&") || tokens_[i].is("&&") || tokens_[i].is("[");
        }
        if (!indirect || constant) continue;
        lanes_.writing.insert(own_name(declaration));
        const Token &operation = tokens_[declaration.name_end - 1];
        const bool plain = own_name(declaration) != "operator" || operation.is(")") || operation.is("++") ||
                           operation.is("--") || operation.text.ends_with('=');
        lanes_.anything_writes = lanes_.anything_writes || !plain;
    }
}

// A member that may be another name of a variable.
void Translator::note_member(Range declaration) {
    const AddressSpace space = address_space_of(declaration);
    if (space != AddressSpace::none && space != AddressSpace::thread) return;
    for (Index i = declaration.begin + 1; i < declaration.end && !tokens_[i].is("="); ++i)
        lanes_.anything_writes = lanes_.anything_writes || tokens_[i].is("&") || tokens_[i].is("*");
}

// Names that stand for one value: constants and template parameters.
void Translator::find_constants() {
    constexpr Index longest = 64;
    for (Index i = 0; i + 1 < tokens_.size(); ++i) {
        if (tokens_[i].is("template") && tokens_[i + 1].is("<")) {
            const Index end = std::min(skip_angles(i + 1, tokens_.size() - 1).value_or(i), i + longest);
            for (Index j = i; j < end; ++j) {
                if (tokens_[j].is_identifier()) lanes_.constants.insert(tokens_[j].text);
            }
        } else if (tokens_[i].is("constexpr") || tokens_[i].is("constant")) {
            Index name = i;
            Index j = i;
            for (; j < std::min(i + longest, tokens_.size() - 1) &&
                   (tokens_[j].is_identifier() || tokens_[j].is("::") || tokens_[j].is("<") || tokens_[j].is(">"));
                 ++j) {
                if (tokens_[j].is_identifier()) name = j;
            }
            if (tokens_[j].is("=") || tokens_[j].is("[") || tokens_[j].is("{") || tokens_[j].is(";"))
                lanes_.constants.insert(tokens_[name].text);
        }
    }
}

void Translator::find_lane_functions() {
    std::map<std::string_view, std::vector<std::string_view>> callers;
    std::vector<std::string_view> talking, varying;
    find_constants();
    for (const auto &[declaration, body] : lanes_.bodies) {
        const std::string_view function = own_name(declaration);
        if (declaration.member) lanes_.members.insert(function);
        for (Index i = body.begin; i + 1 < body.end; ++i) {
            const bool lambda =
                tokens_[i].is("[") && !opens_attribute(i) && !ends_place(tokens_[i - 1]) && !tokens_[i - 1].is("[");
            if (lambda) lanes_.lambdas.insert(i);
            if (!tokens_[i].is_identifier()) continue;
            const std::string_view name = tokens_[i].text;
            if (!tokens_[i + 1].is("(") && !tokens_[i + 1].is("<")) continue;
            if (is_lane_function(name)) talking.push_back(function);
            if (is_varying_function(name)) varying.push_back(function);
            callers[name].push_back(function);
        }
    }
    const auto spread = [&](std::vector<std::string_view> found, std::set<std::string_view, std::less<>> &all) {
        while (!found.empty()) {
            const std::string_view name = found.back();
            found.pop_back();
            if (!all.insert(name).second) continue;
            if (const auto calling = callers.find(name); calling != callers.end())
                found.insert(found.end(), calling->second.begin(), calling->second.end());
        }
    };
    spread(std::move(talking), lane_functions_);
    spread(std::move(varying), lanes_.varying);
    lanes_.varying.insert(lane_functions_.begin(), lane_functions_.end());
    for (const auto &[declaration, body] : lanes_.bodies) {
        const bool hidden =
            declaration.constructor || own_name(declaration) == "operator" || tokens_[declaration.name_begin].is("~");
        lanes_.anything_talks = lanes_.anything_talks || (hidden && lane_functions_.contains(own_name(declaration)));
        Index lambdas_end = body.begin;
        for (Index i = body.begin + 1; i + 1 < body.end; ++i) {
            if (lanes_.lambdas.contains(i)) {
                Index open = skip_group(i, body.end);
                while (open < body.end && !tokens_[open].is("{") && !tokens_[open].is(";")) ++open;
                lambdas_end = std::max(lambdas_end, skip_group(open, body.end));
            }
            if (!tokens_[i].is_identifier()) continue;
            const bool called = tokens_[i + 1].is("(") || tokens_[i + 1].is("<"),
                       known = lane_functions_.contains(tokens_[i].text);
            const bool in_lambda = i < lambdas_end && called && (known || is_lane_function(tokens_[i].text));
            lanes_.anything_talks =
                lanes_.anything_talks || in_lambda || (known && is_passed_on(tokens_[i - 1], tokens_[i + 1]));
        }
    }
    for (const std::string_view name : writers) lanes_.writing.insert(name);
}

}  // namespace smtl::msl
