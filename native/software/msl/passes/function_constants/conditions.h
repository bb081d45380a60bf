// Whether a kernel has an argument may depend on function constants, and on constants that are made of them. The
// compiler decides: the conditions and those constants become functions, which it evaluates once it knows the values.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "msl/source/declarations.h"

namespace smtl::msl {

// The constants of a program, from which conditions are made.
struct ProgramConstants {
    struct Constant {
        std::shared_ptr<const Scope> scope;
        std::string type;
        Range value;  // empty: a function constant
        Index semicolon = 0;
    };
    std::multimap<std::string, Constant, std::less<>> by_name;  // unqualified
    std::set<std::string_view> evaluated;                       // those that conditions depend on
};

// The definitions of the parameters' conditions. Each condition becomes the name of its definition. The definitions are
// templates, because clang checks at once whether it could evaluate any other function.
std::string define_conditions(Source &source, ProgramConstants &constants, std::vector<KernelParameter> &parameters,
                              const std::string &suffix, Range template_parameters);

// Before: `constants.evaluated` holds what the conditions of all kernels name. After: a function stands behind each of
// these constants, and behind each constant that one is made of.
void define_evaluated_constants(Source &source, ProgramConstants &constants);

}  // namespace smtl::msl
