#include "recursion.h"

#include <array>
#include <map>
#include <set>
#include <string_view>

namespace smtl::msl {
namespace {

struct FunctionBody {
    Index name = 0;
    Range body;
    std::size_t definitions = 0;
};

std::map<std::string_view, FunctionBody> find_functions(const Source &source, const Declarations &declarations) {
    std::map<std::string_view, FunctionBody> functions;  // by unqualified name
    for (const Declaration &declaration : declarations) {
        const Index name = declaration.name_end - 1;
        const bool defined = declaration.kind == DeclarationKind::function && !declaration.body.empty();
        if (!defined || declaration.erased || declaration.template_parameters || !source[name].is_identifier())
            continue;
        // A conversion is named by a type, whose constructor it may call.
        if (name > 0 && source[name - 1].is("operator")) continue;
        FunctionBody &function = functions[source[name].text];
        function.name = name;
        function.body = declaration.body;
        ++function.definitions;
    }
    return functions;
}

// `type name(arguments)` declares a variable.
bool is_type_before(const Token &token) {
    return token.is_identifier() && !token.is_one_of(std::array<std::string_view, 4>{"return", "else", "do", "case"});
}

}  // namespace

void check_recursion(Source &source, const Declarations &declarations) {
    const std::map<std::string_view, FunctionBody> functions = find_functions(source, declarations);
    struct Visit {
        std::string_view name;
        Range body;  // what is left of it
    };
    std::set<std::string_view> finished, active;
    std::vector<Visit>
        visits;  // each called by the one before it, without a call of ours: sources may be deeper than stacks
    const auto visit = [&](std::string_view name) {
        const auto found = functions.find(name);
        if (found == functions.end() || found->second.definitions != 1 || finished.contains(name)) return;
        if (active.insert(name).second) return visits.push_back({found->first, found->second.body});
        source.problem(found->second.name,
                       "'" + std::string(name) + "' calls itself: recursion is not supported in Metal");
        finished.insert(name);
    };
    for (const auto &[name, function] : functions) {
        visit(name);
        while (!visits.empty()) {
            Range &body = visits.back().body;
            const Index i = body.begin++;
            if (i + 1 < body.end) {
                const Token &before = source[i - 1];
                const bool other = before.is(".") || before.is("->") || before.is("::") || is_type_before(before);
                if (source[i].is_identifier() && source[i + 1].is("(") && !other) visit(source[i].text);
                continue;
            }
            active.erase(visits.back().name);
            finished.insert(visits.back().name);
            visits.pop_back();
        }
    }
}

}  // namespace smtl::msl
