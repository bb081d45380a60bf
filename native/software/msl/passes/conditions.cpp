// Whether a kernel's argument is there may hang on function constants, and on constants that are made of them. The
// compiler decides: where the conditions and those constants stand become functions, which it evaluates once it knows
// the values.
#include "translator.h"

namespace smtl::msl {

// `constant bool both = first && second, neither = !both;`, as far as a function can give back the type.
void Translator::note_constants(Index begin, Index end) {
    Specifiers specifiers;
    Index i = read_specifiers(begin, end, specifiers);
    if (!specifiers.typed || specifiers.body != 0) return;
    std::string type;
    for (Index j = begin; j < i; ++j) {
        const bool specifier = space_named(j) != AddressSpace::none || tokens_[j].is("static") ||
                               tokens_[j].is("constexpr") || tokens_[j].is("extern") || tokens_[j].is("inline");
        if (const Index past = past_attribute(j, i); past > j) {
            j = past - 1;
        } else if (!specifier) {
            type += (type.empty() ? "" : " ") + std::string(tokens_[j].text);
        }
    }
    for (bool more = true; more; ++i) {
        Declarator declarator;
        i = read_declarator(i, end - 1, declarator);
        more = i < end - 1 && tokens_[i].is(",");
        if (declarator.name == 0 || declarator.indirect || declarator.array || declarator.called ||
            !declarator.initialised)
            continue;
        const Index value = declarator.name + 1 + tokens_[declarator.name + 1].is("=");
        constants_.emplace(tokens_[declarator.name].text, ProgramConstant{scope_, type, {value, i}, end - 1});
    }
}

// The function of the constant that is named there stands for it.
bool Translator::has_function(Index name) const {
    const auto [first, last] = constants_.equal_range(tokens_[name].text);
    const Token &before = tokens_[name == 0 ? 0 : name - 1];
    if (!tokens_[name].is_identifier() || before.is(".") || before.is("->")) return false;
    const std::string_view qualifier =
        before.is("::") && name > 1 && tokens_[name - 2].is_identifier() ? tokens_[name - 2].text : std::string_view();
    bool computed = false, named = !before.is("::");
    for (auto constant = first; constant != last; ++constant) {
        const std::vector<std::string> &scope = constant->second.scope;
        computed = computed || !constant->second.value.empty();
        named = named || (scope.empty() ? qualifier.empty() : scope.back() == qualifier);
    }
    return computed && named;
}

std::string Translator::evaluation(Range range) {
    std::string text;
    for (Index i = range.begin; i < range.end; ++i) {
        text += text.empty() ? "" : " ";
        if (tokens_[i].is("is_function_constant_defined")) {
            const auto [past, query] = constant_query(i, range.end);
            text += query;
            i = past - 1;
        } else if (has_function(i)) {
            evaluated_.insert(tokens_[i].text);
            text += "smtl_value_of_" + std::string(tokens_[i].text) + "()";
        } else {
            text += tokens_[i].text;
        }
    }
    return text;
}

// Of the parameters with a condition, which is then the name of one: their definitions. Templates, since clang asks of
// other functions whether it could evaluate them at once.
std::string Translator::define_conditions(std::vector<KernelParameter> &parameters, const std::string &suffix,
                                          Range template_parameters) {
    std::set<std::string_view> arguments;
    for (Index i = template_parameters.begin; i < template_parameters.end; ++i) {
        if (tokens_[i].is_identifier()) arguments.insert(tokens_[i].text);
    }
    std::string text;
    for (std::size_t i = 0; i < parameters.size() && !checking_; ++i) {
        KernelParameter &parameter = parameters[i];
        if (parameter.condition.empty()) continue;
        const Range condition{parameter.condition_begin, parameter.condition_end};
        for (Index name = condition.begin; name < condition.end; ++name) {
            if (arguments.contains(tokens_[name].text))
                problem(name, "[[function_constant]] depends on function constants, and not on template arguments");
        }
        parameter.condition = "smtl_condition_" + suffix + "_" + std::to_string(i);
        text += " template <class = void> static constexpr bool " + parameter.condition + "() { return bool(" +
                evaluation(condition) + "); }";
    }
    return text;
}

void Translator::edit_evaluated_constants() {
    std::set<std::string_view> defined;
    for (bool more = true; more;) {
        more = false;
        for (const std::string_view name : std::set<std::string_view>(evaluated_)) {
            if (!defined.insert(name).second) continue;
            more = true;
            const auto [first, last] = constants_.equal_range(name);
            for (auto found = first; found != last; ++found) {
                const ProgramConstant &constant = found->second;
                const std::string value = constant.value.empty() ? std::string(name) : evaluation(constant.value);
                tokens_[constant.semicolon].appended += " template <class = void> static constexpr " + constant.type +
                                                        " smtl_value_of_" + std::string(name) + "() { return " + value +
                                                        "; }";
            }
        }
    }
    for (Index i = 0; i + 1 < tokens_.size() && !defined.empty(); ++i) {
        if (!tokens_[i].is("using")) continue;
        const Index past = skip_to_semicolon(i, tokens_.size() - 1);
        const Index name = past < i + 4 ? i : past - 2;
        if (defined.contains(tokens_[name].text) && tokens_[name - 1].is("::"))
            tokens_[past - 1].appended +=
                " using " + spelling({i + 1, name}) + "smtl_value_of_" + std::string(tokens_[name].text) + ";";
    }
}

}  // namespace smtl::msl
