#include "declaration.h"

#include <string>
#include <utility>

namespace smtl::msl {
namespace {

bool is_specifier(const Token &token) {
    return token.is("const") || token.is("volatile") || token.is("static") || token.is("constexpr") ||
           token.is("alignas");
}

}  // namespace

void declare_function_constant(Source &source, const Declaration &declaration, const Attribute &attribute,
                               ProgramConstants &constants, Translation &translation) {
    const Index end = declaration.end;
    Index name = declaration.begin;
    Index constant = end;
    for (Index i = declaration.begin; i < attribute.at; ++i) {
        if (source[i].is("constant")) constant = i;
        if (source[i].is_identifier()) name = i;
    }
    if (constant == end || name <= constant || !source[declaration.head_end].is(";")) {
        source.problem(attribute.at,
                       "[[function_constant]] needs a variable in the constant address space without an initializer");
        return;
    }
    FunctionConstant function_constant;
    function_constant.scope = *declaration.scope;
    function_constant.name = std::string(source[name].text);
    function_constant.token = name;
    Index type_begin = declaration.begin;
    for (Index i = declaration.begin; i < name; ++i) {
        const bool specifier = is_specifier(source[i]) || source[i].is("constant") || source[i].is("extern");
        if (specifier) {
            source[i].erase();
            if (i == type_begin) ++type_begin;
        }
    }
    for (Index i = type_begin; i < name; ++i) {
        if (source[i].replaced) continue;
        if (!function_constant.type.empty() && !source[i].leading.empty()) function_constant.type += ' ';
        function_constant.type += source[i].text;
    }
    if (source.checking()) {
        source[constant].replace("__constant");
        source[name].appended = " = {}";
        source[end - 1].appended += " __constant bool smtl_defined_" + function_constant.name + " = true;";
        translation.constants.push_back(std::move(function_constant));
        return;
    }
    source[constant].replace("extern const");
    source[name].appended = " __asm__(\"" + std::string(constant_symbol) +
                            std::to_string(translation.constants.size()) +
                            "\") __attribute__((visibility(\"hidden\")))";
    const std::string index = "smtl_constant_index_" + std::to_string(translation.constants.size());
    source[end - 1].appended += " extern const bool smtl_defined_" + function_constant.name +
                                "; [[maybe_unused]] static constexpr unsigned " + index + "{" +
                                source.spelling(attribute.arguments) + "};";
    function_constant.index = qualified(*declaration.scope, index);
    constants.by_name.emplace(function_constant.name,
                              ProgramConstants::Constant{declaration.scope, function_constant.type, {}, end - 1});
    translation.constants.push_back(std::move(function_constant));
}

}  // namespace smtl::msl
