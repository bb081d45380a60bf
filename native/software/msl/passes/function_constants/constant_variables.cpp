#include "constant_variables.h"

#include <string>

#include "declaration.h"
#include "msl/source/attributes.h"
#include "msl/source/declarators.h"

namespace smtl::msl {
namespace {

void refuse_space(Source &source, Index name) {
    source.problem(name, "'" + std::string(source[name].text) +
                             "' is not a local variable and must be in the constant address space");
}

// What lives as long as the program is constant: a type's static variables, and all variables of a namespace.
void check_program_variable(Source &source, const Declaration &declaration) {
    bool is_static = !declaration.member;
    for (Index i = declaration.begin; i < declaration.head_end; ++i) {
        // A class's member by itself is not a variable; templates declare for others.
        if (source[i].is("using") || source[i].is("friend") || source[i].is("sampler") || source[i].is("concept"))
            return;
        is_static = is_static || source[i].is("static");
    }
    const Token &stop = source[declaration.head_end];
    if (is_static && (stop.is("=") || stop.is(";") || stop.is("{"))) refuse_space(source, declaration.head_end - 1);
}

// A pointer variable lies somewhere itself, apart from what it points to: `constant float *constant p`. A declaration
// that defines a type may have variables behind it: `struct A { int x; } a;`.
void check_program_declarators(Source &source, const Declaration &declaration) {
    Specifiers specifiers;
    Index i = read_specifiers(source, declaration.begin, declaration.end, specifiers);
    if (!specifiers.typed || specifiers.alias) return;
    const bool behind_type = specifiers.body != 0;
    bool unchanging = false, lasting = false, is_static = !declaration.member;
    for (Index j = declaration.begin; j < i; j = source.skip_part(j, i)) {
        if (source[j].is("using") || source[j].is("friend")) return;
        unchanging = unchanging || source[j].is("constexpr");
        lasting = lasting || source[j].is("const");
        is_static = is_static || source[j].is("static");
    }
    if (!is_static) return;
    for (bool more = true; more; ++i) {
        Declarator declarator;
        i = read_declarator(source, i, declaration.end - 1, declarator);
        more = i < declaration.end - 1 && source[i].is(",");
        if (declarator.name == 0 || declarator.reference || declarator.called) continue;
        bool fixed = unchanging;
        if (declarator.indirect) {
            for (Index j = declarator.name; !source[j - 1].is("*") && j > declaration.begin; --j)
                fixed = fixed || source[j - 1].is("const");
            if (!declarator.spaces.empty()) continue;
        } else if (behind_type) {
            fixed = fixed || lasting;
            if (!specifiers.spaces.empty()) continue;
        } else {
            continue;
        }
        if (!fixed || source.checking()) refuse_space(source, declarator.name);
    }
}

class ConstantVariables {
public:
    ConstantVariables(Source &source, ProgramConstants &constants, Translation &translation)
        : source_(source), constants_(constants), translation_(translation) {}
    void edit(const Declaration &declaration);

private:
    void note(const Declaration &declaration);

    Source &source_;
    ProgramConstants &constants_;
    Translation &translation_;
};

// `constant bool both = first && second, neither = !both;`, as far as a function can give back the type.
void ConstantVariables::note(const Declaration &declaration) {
    const Index begin = declaration.begin, end = declaration.end;
    Specifiers specifiers;
    Index i = read_specifiers(source_, begin, end, specifiers);
    if (!specifiers.typed || specifiers.body != 0) return;
    std::string type;
    for (Index j = begin; j < i; ++j) {
        const bool specifier = space_named(source_, j) != AddressSpace::none || source_[j].is("static") ||
                               source_[j].is("constexpr") || source_[j].is("extern") || source_[j].is("inline");
        if (const Index past = past_attribute(source_, j, i); past > j)
            j = past - 1;
        else if (!specifier)
            type += (type.empty() ? "" : " ") + std::string(source_[j].text);
    }
    for (bool more = true; more; ++i) {
        Declarator declarator;
        i = read_declarator(source_, i, end - 1, declarator);
        more = i < end - 1 && source_[i].is(",");
        if (declarator.name == 0 || declarator.indirect || declarator.array || declarator.called ||
            !declarator.initialised)
            continue;
        const Index value = declarator.name + 1 + source_[declarator.name + 1].is("=");
        constants_.by_name.emplace(source_[declarator.name].text,
                                   ProgramConstants::Constant{declaration.scope, type, {value, i}, end - 1});
    }
}

// `constant float table[4] = {...};` is a constant already; a type's static member needs `constexpr` to be initialised.
void ConstantVariables::edit(const Declaration &declaration) {
    const Index end = declaration.end;
    const Range whole{declaration.begin, end};
    for (const Attribute &attribute : attributes_in(source_, whole))
        if (attribute.name == "function_constant")
            return declare_function_constants(source_, declaration, constants_, translation_);
    bool constexpr_written = false, unchanging = false;
    Index constant = end;
    for (Index i = declaration.begin; i < declaration.head_end;) {
        constexpr_written = constexpr_written || source_[i].is("constexpr");
        unchanging = unchanging || constexpr_written || source_[i].is("const") ||
                     space_named(source_, i) == AddressSpace::device ||
                     space_named(source_, i) == AddressSpace::threadgroup;  // which are refused elsewhere
        if (source_[i].is("constant") && constant == end) constant = i;
        // What it points to is constant, not the variable.
        if (source_[i].is("*") || source_[i].is("&")) return check_program_declarators(source_, declaration);
        if (source_[i].is("<")) {
            if (const auto past = source_.skip_angles(i, declaration.head_end)) {
                i = *past;
                continue;
            }
        }
        ++i;
    }
    const bool initialised = declaration.head_end < end && source_[declaration.head_end].is("=");
    if (!declaration.member && constant != end && !source_.checking()) note(declaration);
    // `constant T c(1, 2);`: no function gives back a value in an address space.
    const bool constructed =
        declaration.parameters && constant < declaration.name_begin && source_[declaration.head_end].is(";");
    const bool typed =
        declaration.head_end > declaration.begin + 1 && (declaration.name_end == declaration.head_end || constructed);
    // A variable that changes would be shared by all threads of all launches.
    if (constant == end && typed && (source_.checking() || !unchanging)) check_program_variable(source_, declaration);
    if (source_.checking()) {
        if (constant != end && typed) source_[constant].replace("__constant");
        return;
    }
    if (declaration.member && constant != end && initialised && !constexpr_written)
        source_[constant].replace("constexpr constant");
}

}  // namespace

ProgramConstants edit_constant_variables(Source &source, const Declarations &declarations, Translation &translation) {
    ProgramConstants constants;
    ConstantVariables variables(source, constants, translation);
    for (const Declaration &declaration : declarations) {
        const bool prototype = declaration.kind == DeclarationKind::prototype && source.checking();
        if (declaration.kind == DeclarationKind::variable || (prototype && !declaration.erased))
            variables.edit(declaration);
        if (declaration.kind == DeclarationKind::type) check_program_declarators(source, declaration);
    }
    return constants;
}

}  // namespace smtl::msl
