// Variables in the constant address space, and function constants.
#include "translator.h"

namespace smtl::msl {
namespace {

bool is_specifier(const Token &token) {
    return token.is("const") || token.is("volatile") || token.is("static") || token.is("constexpr") ||
           token.is("alignas");
}

}  // namespace

// `constant float table[4] = {...};` is a constant already; a type's static member needs `constexpr` to be initialised.
void Translator::edit_constant_variable(const Declaration &declaration, Index end, ScopeKind kind) {
    const Range whole{declaration.begin, end};
    for (const Attribute &attribute : attributes_in(whole)) {
        if (attribute.name == "function_constant") return add_function_constant(declaration, attribute, end);
    }
    bool constexpr_written = false;
    Index constant = end;
    for (Index i = declaration.begin; i < declaration.head_end;) {
        constexpr_written = constexpr_written || tokens_[i].is("constexpr");
        if (tokens_[i].is("constant") && constant == end) constant = i;
        if (tokens_[i].is("*") || tokens_[i].is("&")) return;  // what it points to is constant, not the variable
        if (tokens_[i].is("<")) {
            if (const auto past = skip_angles(i, declaration.head_end)) {
                i = *past;
                continue;
            }
        }
        ++i;
    }
    const bool initialised = declaration.head_end < end && tokens_[declaration.head_end].is("=");
    if (kind == ScopeKind::file_or_namespace && constant != end && !checking_) note_constants(declaration.begin, end);
    if (checking_) {
        // `constant T c(1, 2);`: no function gives back a value in an address space.
        const bool constructed =
            declaration.parameters && constant < declaration.name_begin && tokens_[declaration.head_end].is(";");
        const bool typed = declaration.head_end > declaration.begin + 1 &&
                           (declaration.name_end == declaration.head_end || constructed);
        if (constant != end && typed) tokens_[constant].replace("__constant");
        if (constant == end && typed) check_program_variable(declaration, kind);
        return;
    }
    if (kind == ScopeKind::type && constant != end && initialised && !constexpr_written)
        tokens_[constant].replace(distinct_ ? "constexpr SMTL_CONSTANT" : "constexpr");
}

// `constant bool flag [[function_constant(3)]];` becomes a declaration; code generation for one kernel defines it.
void Translator::add_function_constant(const Declaration &declaration, const Attribute &attribute, Index end) {
    Index name = declaration.begin;
    Index constant = end;
    for (Index i = declaration.begin; i < attribute.at; ++i) {
        if (tokens_[i].is("constant")) constant = i;
        if (tokens_[i].is_identifier()) name = i;
    }
    if (constant == end || name <= constant || !tokens_[declaration.head_end].is(";")) {
        problem(attribute.at,
                "[[function_constant]] belongs to a variable in the constant address space without an initialiser");
        return;
    }
    FunctionConstant function_constant;
    function_constant.scope = scope_;
    function_constant.name = std::string(tokens_[name].text);
    Index type_begin = declaration.begin;
    for (Index i = declaration.begin; i < name; ++i) {
        const bool specifier = is_specifier(tokens_[i]) || tokens_[i].is("constant") || tokens_[i].is("extern");
        if (specifier) {
            tokens_[i].erase();
            if (i == type_begin) ++type_begin;
        }
    }
    for (Index i = type_begin; i < name; ++i) {
        if (tokens_[i].replaced) continue;
        if (!function_constant.type.empty() && !tokens_[i].leading.empty()) function_constant.type += ' ';
        function_constant.type += tokens_[i].text;
    }
    if (checking_) {
        tokens_[constant].replace("__constant");
        tokens_[name].appended = " = {}";
        tokens_[end - 1].appended += " __constant bool smtl_defined_" + function_constant.name + " = true;";
        result_.constants.push_back(std::move(function_constant));
        return;
    }
    tokens_[constant].replace("extern const");
    tokens_[name].appended = " __asm__(\"" + std::string(constant_symbol) + std::to_string(result_.constants.size()) +
                             "\") __attribute__((visibility(\"hidden\")))";
    const std::string index = "smtl_constant_index_" + std::to_string(result_.constants.size());
    tokens_[end - 1].appended += " extern const bool smtl_defined_" + function_constant.name +
                                 "; [[maybe_unused]] static constexpr unsigned " + index + " = (" +
                                 spelling(attribute.arguments) + ");";
    function_constant.index = qualified(index);
    constants_.emplace(function_constant.name, ProgramConstant{scope_, function_constant.type, {}, end - 1});
    result_.constants.push_back(std::move(function_constant));
}

// `is_function_constant_defined(ns::flag)` becomes ` (ns::smtl_defined_flag)`. Past the query, and what stands for it.
std::pair<Index, std::string> Translator::constant_query(Index begin, Index end) const {
    constexpr Index longest = 64;  // queries of queries of queries
    const Index past = begin + 1 < end && tokens_[begin + 1].is("(") ? skip_group(begin + 1, end) : begin + 1;
    if (past - begin > longest) return {past, {}};
    Index name = past;
    for (Index j = begin + 2; j + 1 < past; ++j) {
        if (tokens_[j].is_identifier()) name = j;
    }
    if (name == past) return {past, {}};
    return {past, spelling({begin + 1, name}) + "smtl_defined_" + std::string(tokens_[name].text) +
                      spelling({name + 1, past})};
}

void Translator::edit_constant_queries() {
    std::multimap<std::string_view, FunctionConstant &> constants;
    for (FunctionConstant &constant : result_.constants) constants.emplace(constant.name, constant);
    for (Index i = 0; i + 1 < tokens_.size(); ++i) {
        if (!tokens_[i].is("is_function_constant_defined")) continue;
        const auto [past, query] = constant_query(i, tokens_.size() - 1);
        if (query.empty()) continue;
        for (Index name = i + 2; name + 1 < past; ++name) {
            const auto [first, last] = constants.equal_range(tokens_[name].text);
            for (auto constant = first; constant != last; ++constant) constant->second.optional = true;
            if (tokens_[name].is_identifier() && tokens_[name + 1].is(")"))
                tokens_[name].replace("smtl_defined_" + std::string(tokens_[name].text));
        }
        tokens_[i].erase();
    }
}

}  // namespace smtl::msl
