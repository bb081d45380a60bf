// Values of the program's variables that only machine code could compute are errors, since nothing runs that code.
#pragma once

#include <string>
#include <string_view>

#include "msl/translate.h"

namespace smtl::msl {

// Clang's warning about variables whose values are not constant expressions: -Wglobal-constructors. The optimiser
// computes most of these values, above all those that depend on function constants, once the constants have values.
struct DynamicInitialisers {
    std::string messages;  // the others
    std::string errors;  // of these variables, should any of them not be computed; empty: there are none
};
DynamicInitialisers find_dynamic_initialisers(const std::string &messages);

// Whether clang may keep silent about such variables: the source has a pragma about diagnostics, or says that lines of
// it are a system's header. Lines of `own_headers` do not count.
bool may_silence_warnings(std::string_view translated, const std::string &own_headers);

// For values of which clang does not say the variable.
inline constexpr std::string_view not_computed =
    "error: a variable outside of functions needs a constant expression as its initializer: one here has none\n";

// A function constant's variable for a value that is missing.
std::string zero_variable(const FunctionConstant &constant);

// In its namespaces: the variable, if `variable` is not empty, and whether the host has given it a value.
std::string define_function_constant(const FunctionConstant &constant, const std::string &variable, bool is_given);

// Definitions of all function constants, for a compilation that shows what can be computed.
std::string define_function_constants(const Translation &translation);

// The symbols of function constants that an object file refers to and has not, one a line.
std::string missing_constants(std::string_view object);

// Whether code other than clang's own instrumentation would run when the object is loaded or unloaded.
bool has_initialisers(std::string_view object, bool instrumented);

}  // namespace smtl::msl
