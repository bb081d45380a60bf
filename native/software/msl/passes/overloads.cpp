// Functions and specialisations that differ in address spaces alone are one and the same once these are erased. Where
// their bodies say the same too, the first one serves all; where they do not, the whole source keeps its address
// spaces.
#include "translator.h"

namespace smtl::msl {

// With address spaces kept, only what stands behind the parameters of a member is erased; the spaces of the parameters
// tell apart.
//
// The head of a declaration without parameter names, attributes and (unless asked for) address spaces.
std::string Translator::overload_key(const Declaration &declaration, bool with_spaces) const {
    std::string key;
    bool spaces_count = with_spaces || keeps_spaces();
    const auto add = [&](Index i) {
        const Token &token = tokens_[i];
        const bool space = token.is("device") || token.is("constant") || token.is("thread") || token.is("threadgroup");
        if (token.is("inline") || token.is("static") || token.is("constexpr")) return;
        if (space && !token.is("constant") && token.replaced && !with_spaces &&
            token.replacement.find_first_not_of(' ') == std::string::npos)
            return;  // gone with that of the object
        if (space && spaces_count) {
            key += '@';
            key += token.text;
        } else if (space) {
            if (token.is("constant")) key += " const";
            return;
        } else {
            key += ' ';
            key += token.text;
        }
    };
    const auto add_range = [&](Range range) {
        for (Index i = range.begin; i < range.end; ++i) {
            if (opens_attribute(i)) {
                i = skip_group(i, range.end) - 1;
                continue;
            }
            if (tokens_[i].is("const") && i + 1 < range.end && tokens_[i + 1].is("constant")) continue;
            if (tokens_[i].is("const") && i > range.begin && tokens_[i - 1].is("constant")) continue;
            add(i);
        }
    };
    if (!declaration.parameters) {
        add_range({declaration.begin, declaration.head_end});
        return key;
    }
    add_range({declaration.begin, declaration.parameters->begin});
    for (Range part : split_commas(*declaration.parameters)) {
        for (Index i = part.begin; i < part.end; ++i) {
            if (tokens_[i].is("=")) part.end = i;
        }
        // A name follows a type: drop an identifier at the end, or before array bounds, that is not the whole type.
        Index last = part.end;
        for (Index i = part.begin; i < part.end;) {
            if (tokens_[i].is("[") || tokens_[i].is("(")) {
                i = skip_group(i, part.end);
                continue;
            }
            if (tokens_[i].is("<")) {
                if (const auto past = skip_angles(i, part.end)) {
                    i = *past;
                    continue;
                }
            }
            const bool after_type = i > part.begin && (tokens_[i - 1].is_identifier() || tokens_[i - 1].is("*") ||
                                                       tokens_[i - 1].is("&") || tokens_[i - 1].is(">"));
            const bool follows_space = after_type && tokens_[i - 1].replaced && i - 1 == part.begin;
            last = tokens_[i].is_identifier() && after_type && !follows_space && !tokens_[i].replaced ? i : part.end;
            ++i;
            if (last != part.end && i < part.end && !tokens_[i].is("[")) last = part.end;
        }
        add_range({part.begin, last});
        if (last != part.end) add_range({last + 1, part.end});
        key += ",";
    }
    spaces_count = with_spaces;
    if (!declaration.constructor || with_spaces) add_range({declaration.parameters->end, declaration.head_end});
    return key;
}

bool Translator::erase_if_duplicate(const Declaration &declaration, Range body) {
    std::string scope;
    for (const std::string &name : scope_) scope += name + "::";
    const std::string key = scope + overload_key(declaration, false);
    const std::string spaces = overload_key(declaration, true);
    // Parameters may be named differently: in the body they count by their position.
    std::map<std::string_view, std::string> names;
    std::vector<std::string> kept;
    if (declaration.parameters) {
        const std::vector<KernelParameter> parameters = read_parameters(*declaration.parameters, false);
        kept.reserve(parameters.size());
        for (const KernelParameter &parameter : parameters) {
            kept.push_back(parameter.name);
            if (!kept.back().empty()) names[kept.back()] = "#" + std::to_string(kept.size());
        }
    }
    std::string text;
    for (Index i = body.begin; i < body.end; ++i) {
        const Token &token = tokens_[i];
        if (space_named(i) != AddressSpace::none) continue;
        if (shared_variables_.contains(i)) text += " threadgroup";
        const bool member = tokens_[i - 1].is(".") || tokens_[i - 1].is("->") || tokens_[i - 1].is("::");
        const auto name = member ? names.end() : names.find(token.text);
        text += ' ';
        text += name == names.end() ? token.text : std::string_view(name->second);
    }
    std::vector<Definition> &known = definitions_[key];
    for (const Definition &definition : known) {
        if (definition.spaces == spaces) return false;  // a true redefinition: clang's to report
        if (definition.body != text) {
            // Members are told apart by their parameters alone: clang has no spaces for the object that they belong to.
            if (keeps_spaces())
                problem(
                    declaration.begin,
                    "this member differs from another one in the address space of its object and in its body, which is not supported");
            depends_on_spaces_ = true;
            return false;
        }
        erase_range({declaration.begin, body.end});
        return true;
    }
    known.push_back({spaces, std::move(text)});
    return false;
}

}  // namespace smtl::msl
