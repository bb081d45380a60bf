// Values of the program's variables that only machine code could compute, which nothing runs: what the compiler has not
// computed is an error.
#pragma once

#include <string>
#include <string_view>

#include "msl/translate.h"

namespace smtl::msl {

// What clang says of variables whose values are no constant expressions: -Wglobal-constructors. The optimiser computes
// most of them, above all those that function constants decide, once their values are there.
struct DynamicInitialisers {
    std::string messages;  // the others
    std::string errors;  // of these variables, should any of them not be computed; empty: there are none
};
DynamicInitialisers find_dynamic_initialisers(const std::string &messages);

// Where clang was not to say which.
inline constexpr std::string_view not_computed =
    "error: a variable outside of functions needs a constant expression as its initializer, and one here has another\n";

// Definitions of all function constants, for a compilation that shows what can be computed.
std::string define_function_constants(const Translation &translation);

// True where code would run as the object is loaded or unloaded, but for clang's own instrumentation.
bool has_initialisers(std::string_view object, bool instrumented);

}  // namespace smtl::msl
