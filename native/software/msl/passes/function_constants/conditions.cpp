#include "conditions.h"

#include <algorithm>
#include <utility>

#include "queries.h"

namespace smtl::msl {
namespace {

// The function of the constant that is named there stands for it.
bool has_function(const Source &source, const ProgramConstants &constants, Index name) {
    const auto first = constants.by_name.lower_bound(source[name].text), last = constants.by_name.end();
    const Token &before = source[name == 0 ? 0 : name - 1];
    if (!source[name].is_identifier() || before.is(".") || before.is("->")) return false;
    const std::string_view qualifier =
        before.is("::") && name > 1 && source[name - 2].is_identifier() ? source[name - 2].text : std::string_view();
    bool computed = false, named = !before.is("::");
    std::size_t left = 256;  // no real program gives as many constants one name
    for (auto constant = first; constant != last && constant->first == source[name].text && left > 0;
         ++constant, --left) {
        // One declaration may have several, each made of those before.
        const Range value = constant->second.value;
        if ((value.empty() ? constant->second.semicolon : value.end) > name) continue;
        const Scope &scope = *constant->second.scope;
        computed = computed || !constant->second.value.empty();
        named = named || (scope.empty() ? qualifier.empty() : scope.back() == qualifier);
    }
    return computed && named;
}

// `found`: gets the constants that nothing before depended on.
std::string evaluation(Source &source, ProgramConstants &constants, Range range, std::vector<std::string_view> &found) {
    std::string text;
    for (Index i = range.begin; i < range.end; ++i) {
        // A `>>` is two tokens.
        text += text.empty() || source[i].leading.empty() ? "" : " ";
        if (source[i].is("is_function_constant_defined")) {
            const auto [past, query] = constant_query(source, constants, i, range.end);
            text += query;
            i = past - 1;
        } else if (has_function(source, constants, i)) {
            if (constants.evaluated.insert(source[i].text).second) found.push_back(source[i].text);
            text += "smtl_value_of_" + std::string(source[i].text) + "()";
        } else {
            text += source.spelling({i, i + 1});
        }
    }
    return text;
}

}  // namespace

std::string define_conditions(Source &source, ProgramConstants &constants, std::vector<KernelParameter> &parameters,
                              const std::string &suffix, Range template_parameters) {
    std::set<std::string_view> arguments;
    for (Index i = template_parameters.begin; i < template_parameters.end; ++i)
        if (source[i].is_identifier()) arguments.insert(source[i].text);
    std::string text;
    std::vector<std::string_view> found;
    for (std::size_t i = 0; i < parameters.size() && !source.checking(); ++i) {
        KernelParameter &parameter = parameters[i];
        if (parameter.condition.empty()) continue;
        const Range condition{parameter.condition_begin, parameter.condition_end};
        for (Index name = condition.begin; name < condition.end; ++name)
            if (arguments.contains(source[name].text))
                source.problem(name, "the condition of [[function_constant]] cannot depend on a template argument");
        parameter.condition = "smtl_condition_" + suffix + "_" + std::to_string(i);
        text += " template <class = void> static constexpr bool " + parameter.condition + "() { return bool(" +
                evaluation(source, constants, condition, found) + "); }";
    }
    return text;
}

void define_evaluated_constants(Source &source, ProgramConstants &constants) {
    struct Definition {
        Index semicolon, value;
        std::string text;
    };
    const std::set<std::string_view> &defined = constants.evaluated;
    std::vector<Definition> definitions;
    std::vector<std::string_view> left(defined.begin(), defined.end());
    while (!left.empty()) {
        const std::string_view name = left.back();
        left.pop_back();
        const auto [first, last] = constants.by_name.equal_range(name);
        for (auto found = first; found != last; ++found) {
            const ProgramConstants::Constant &constant = found->second;
            const std::string value =
                constant.value.empty() ? std::string(name) : evaluation(source, constants, constant.value, left);
            definitions.push_back({constant.semicolon, constant.value.begin,
                                   " template <class = void> static constexpr " + constant.type + " smtl_value_of_" +
                                       std::string(name) + "() { return " + value + "; }"});
        }
    }
    // Each of one declaration may be made of those before it.
    std::sort(definitions.begin(), definitions.end(), [](const Definition &a, const Definition &b) {
        return std::pair(a.semicolon, a.value) < std::pair(b.semicolon, b.value);
    });
    for (const Definition &definition : definitions) source[definition.semicolon].appended += definition.text;
    for (Index i = 0; i + 1 < source.size() && !defined.empty(); ++i) {
        if (!source[i].is("using")) continue;
        const Index past = source.skip_to_semicolon(i, source.size() - 1);
        const Index name = past < i + 4 ? i : past - 2;
        if (defined.contains(source[name].text) && source[name - 1].is("::"))
            source[past - 1].appended +=
                " using " + source.spelling({i + 1, name}) + "smtl_value_of_" + std::string(source[name].text) + ";";
    }
}

}  // namespace smtl::msl
