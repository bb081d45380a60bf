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
        // Nothing calls a kernel; it may have the name of a function that is called.
        if (!defined || declaration.erased || declaration.kernel || !source[name].is_identifier()) continue;
        // A conversion is named by a type, whose constructor it may call.
        if (name > 0 && source[name - 1].is("operator")) continue;
        FunctionBody &function = functions[source[name].text];
        function.name = name;
        // What a call in a template means depends on its arguments.
        if (!declaration.template_parameters) function.body = declaration.body;
        ++function.definitions;
    }
    return functions;
}

bool begins_statement(const Source &source, Index i) {
    constexpr std::array<std::string_view, 6> before_blocks = {")", "{", "}", ";", "else", "do"};
    const Token &before = source[i - 1];
    if (before.is("{")) return source[i - 2].is_one_of(before_blocks);
    return before.is(";") || before.is("}");
}

// Whether the name declares a variable: nothing but a type stands between the statement's begin and `name(`.
bool is_declared(const Source &source, Index name) {
    Index type = name;
    for (; !begins_statement(source, type); --type) {
        const Token &before = source[type - 1];
        const bool is_word = before.is_identifier() && !begins_no_declaration(before);
        if (before.is(">") && source.group_begin(type - 1) < type - 1)
            type = source.group_begin(type - 1) + 1;
        else if (!is_word && !before.is("*") && !before.is("&") && !before.is("::"))
            return false;
    }
    return type < name;
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
                const bool member = source[i - 1].is(".") || source[i - 1].is("->") || source[i - 1].is("::");
                const bool called = source[i].is_identifier() && source[i + 1].is("(") && !member;
                if (called && !is_declared(source, i)) visit(source[i].text);
                continue;
            }
            active.erase(visits.back().name);
            finished.insert(visits.back().name);
            visits.pop_back();
        }
    }
}

}  // namespace smtl::msl
