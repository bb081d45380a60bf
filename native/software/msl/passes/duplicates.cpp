#include "duplicates.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_parameters.h"
#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

// With address spaces kept, only what stands behind the parameters of a member is erased; the spaces of the parameters
// tell declarations apart.
//
// The head of a declaration without parameter names, attributes and (unless asked for) address spaces.
std::string overload_key(const Source &source, const Declaration &declaration, bool with_spaces) {
    std::string key;
    bool spaces_count = with_spaces || source.keeps_spaces();
    const auto add = [&](Index i) {
        const Token &token = source[i];
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
            if (source.opens_attribute(i)) {
                i = source.skip_group(i, range.end) - 1;
                continue;
            }
            if (source[i].is("const") && i + 1 < range.end && source[i + 1].is("constant")) continue;
            if (source[i].is("const") && i > range.begin && source[i - 1].is("constant")) continue;
            add(i);
        }
    };
    if (!declaration.parameters) {
        add_range({declaration.begin, declaration.head_end});
        return key;
    }
    add_range({declaration.begin, declaration.parameters->begin});
    for (Range part : source.split_commas(*declaration.parameters)) {
        for (Index i = part.begin; i < part.end; ++i) {
            if (source[i].is("=")) part.end = i;
        }
        // A name follows a type: drop an identifier at the end, or before array bounds, that is not the whole type.
        Index last = part.end;
        for (Index i = part.begin; i < part.end;) {
            if (source[i].is("[") || source[i].is("(")) {
                i = source.skip_group(i, part.end);
                continue;
            }
            if (source[i].is("<")) {
                if (const auto past = source.skip_angles(i, part.end)) {
                    i = *past;
                    continue;
                }
            }
            const bool after_type = i > part.begin && (source[i - 1].is_identifier() || source[i - 1].is("*") ||
                                                       source[i - 1].is("&") || source[i - 1].is(">"));
            const bool follows_space = after_type && source[i - 1].replaced && i - 1 == part.begin;
            last = source[i].is_identifier() && after_type && !follows_space && !source[i].replaced ? i : part.end;
            ++i;
            if (last != part.end && i < part.end && !source[i].is("[")) last = part.end;
        }
        add_range({part.begin, last});
        if (last != part.end) add_range({last + 1, part.end});
        key += ",";
    }
    spaces_count = with_spaces;
    if (!declaration.constructor || with_spaces) add_range({declaration.parameters->end, declaration.head_end});
    return key;
}

class Duplicates {
public:
    Duplicates(Source &source, const ThreadgroupVariables &variables) : source_(source), variables_(variables) {}
    // True if an earlier definition says the same.
    bool erase_if_known(const Declaration &declaration, Range body);
    bool depend_on_spaces() const { return depends_on_spaces_; }

private:
    struct Definition {
        std::string spaces;  // the key with its address spaces
        std::string body;
    };

    Source &source_;
    const ThreadgroupVariables &variables_;
    std::map<std::string, std::vector<Definition>> definitions_;
    bool depends_on_spaces_ = false;
};

bool Duplicates::erase_if_known(const Declaration &declaration, Range body) {
    std::string scope;
    for (const std::string &name : *declaration.scope) scope += name + "::";
    const std::string key = scope + overload_key(source_, declaration, false);
    const std::string spaces = overload_key(source_, declaration, true);
    // Parameters may be named differently: in the body they count by their position.
    std::map<std::string_view, std::string> names;
    std::vector<std::string> kept;
    if (declaration.parameters) {
        const std::vector<KernelParameter> parameters = read_parameters(source_, *declaration.parameters, false);
        kept.reserve(parameters.size());
        for (const KernelParameter &parameter : parameters) {
            kept.push_back(parameter.name);
            if (!kept.back().empty()) names[kept.back()] = "#" + std::to_string(kept.size());
        }
    }
    std::string text;
    for (Index i = body.begin; i < body.end; ++i) {
        const Token &token = source_[i];
        if (space_named(source_, i) != AddressSpace::none) continue;
        if (variables_.shared.contains(i)) text += " threadgroup";
        const bool member = source_[i - 1].is(".") || source_[i - 1].is("->") || source_[i - 1].is("::");
        const auto name = member ? names.end() : names.find(token.text);
        text += ' ';
        text += name == names.end() ? token.text : std::string_view(name->second);
    }
    for (const Range &part :
         declaration.parameters ? source_.split_commas(*declaration.parameters) : std::vector<Range>()) {
        Index i = part.begin;
        while (i < part.end && !source_[i].is("=")) i = source_.skip_part(i, part.end);
        text += " , " + source_.spelling({i, part.end});
    }
    std::vector<Definition> &known = definitions_[key];
    for (const Definition &definition : known) {
        if (definition.spaces == spaces) return false;  // a true redefinition: clang's to report
        if (definition.body != text) {
            // Members are told apart by their parameters alone: clang has no spaces for the object that they belong to.
            if (source_.keeps_spaces())
                source_.problem(
                    declaration.begin,
                    "two members that differ only in the address space of their object must have the same body");
            depends_on_spaces_ = true;
            return false;
        }
        source_.erase({declaration.begin, body.end});
        return true;
    }
    known.push_back({spaces, std::move(text)});
    return false;
}

}  // namespace

bool erase_duplicates(Source &source, Declarations &declarations, const ThreadgroupVariables &variables) {
    Duplicates duplicates(source, variables);
    Declarations kept;
    Index erased_end = 0;  // of a type
    for (Declaration &declaration : declarations) {
        if (declaration.begin < erased_end) continue;
        const bool type = declaration.kind == DeclarationKind::type && !declaration.body.empty(),
                   function = declaration.kind == DeclarationKind::function && !declaration.body.empty(),
                   prototype = declaration.kind == DeclarationKind::prototype;
        // The declarations of members, which unlike those of functions cannot be repeated, and `X() = default;`.
        const bool counts = type || function || (prototype && declaration.member);
        if (!declaration.erased && counts && (!source.keeps_spaces() || (declaration.member && !type))) {
            const Range body = type ? declaration.body : Range{declaration.head_end, declaration.end};
            declaration.erased = duplicates.erase_if_known(declaration, body);
            if (declaration.erased && type) erased_end = body.end;
        }
        kept.push_back(std::move(declaration));
    }
    declarations = std::move(kept);
    return duplicates.depend_on_spaces();
}

}  // namespace smtl::msl
