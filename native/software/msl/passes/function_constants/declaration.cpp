#include "declaration.h"

#include <string>
#include <utility>
#include <vector>

#include "msl/source/attributes.h"
#include "msl/source/declarators.h"

namespace smtl::msl {
namespace {

bool is_specifier(const Token &token) {
    return token.is("const") || token.is("volatile") || token.is("static") || token.is("constexpr") ||
           token.is("alignas");
}

// The type of all declarators, of which the specifiers are erased.
std::string take_type(Source &source, Index begin, Index end) {
    std::string type;
    for (Index i = begin; i < end; ++i) {
        if (source[i].is("constant")) continue;
        if (is_specifier(source[i]) || source[i].is("extern")) {
            source[i].erase();
            continue;
        }
        if (!type.empty() && !source[i].leading.empty()) type += ' ';
        type += source[i].text;
    }
    return type;
}

}  // namespace

void declare_function_constants(Source &source, const Declaration &declaration, ProgramConstants &constants,
                                Translation &translation) {
    const Index last = declaration.end - 1;
    Specifiers specifiers;
    Index i = read_specifiers(source, declaration.begin, last, specifiers);
    Index constant = i;
    for (Index j = declaration.begin; j < i; ++j)
        if (source[j].is("constant")) constant = j;
    const bool is_constant = constant < i && specifiers.typed;
    const std::string type = is_constant ? take_type(source, declaration.begin, i) : "";
    for (bool more = true; more; ++i) {
        Declarator declarator;
        const Index begin = i;
        i = read_declarator(source, i, last, declarator);
        more = i < last && source[i].is(",");
        const Index name = declarator.name;
        const Attribute *index = nullptr;
        const std::vector<Attribute> attributes = attributes_in(source, {begin, i});
        for (const Attribute &attribute : attributes)
            if (attribute.name == "function_constant") index = &attribute;
        if (!is_constant || !index || name == 0 || declarator.indirect || declarator.array || declarator.called ||
            declarator.initialised) {
            source.problem(index ? index->at : begin,
                           "[[function_constant]] needs a variable in the constant address space without an initializer"
                           ", and no other kind of variable in its declaration");
            return;
        }
        FunctionConstant function_constant;
        function_constant.scope = *declaration.scope;
        function_constant.name = std::string(source[name].text);
        function_constant.token = name;
        function_constant.type = type;
        constants.by_name.emplace(function_constant.name,
                                  ProgramConstants::Constant{declaration.scope, type, {}, last});
        if (source.checking()) {
            source[name].appended = " = {}";
            source[last].appended += " __constant bool smtl_defined_" + function_constant.name + " = true;";
            translation.constants.push_back(std::move(function_constant));
            continue;
        }
        const std::string number = "smtl_constant_index_" + std::to_string(translation.constants.size());
        const std::string facts = " extern const bool smtl_defined_" + function_constant.name +
                                  "; [[maybe_unused]] static constexpr unsigned " + number + "{" +
                                  source.spelling(index->arguments) + "};";
        // Behind all attributes.
        source[i].replace(" __asm__(\"" + std::string(constant_symbol) + std::to_string(translation.constants.size()) +
                          "\") __attribute__((visibility(\"hidden\")));" + facts +
                          (more ? " extern constant " + type : ""));
        function_constant.index = qualified(*declaration.scope, number);
        translation.constants.push_back(std::move(function_constant));
    }
    source[constant].replace(source.checking() ? "__constant" : "extern constant");
}

}  // namespace smtl::msl
