// Functions that one source declares and another one, a dynamic library, defines: how their symbols find each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smtl::msl {

// Clang's intermediate code in which the functions that it only declares have symbols for the linker. Where it
// `exports` them, functions of the section of exported functions have these symbols as second names: the code's own
// calls keep the first. A symbol consists of a digest of the types, with what their structures consist of, and of the
// mangled name, which names the parameters' types. Symbols are weak: of two definitions, the linker takes the first.
std::string name_external_functions(std::string_view code, bool exports);

// The symbols of such functions in an object file: those that it calls and has not, or those that it has.
std::vector<std::string> called_functions(std::string_view object);
std::vector<std::string> exported_functions(std::string_view object);

// The function as a source names it, with the types of its parameters.
std::string describe_external(const std::string &symbol);

// The same function, maybe with another result or with other structures.
bool is_same_function(std::string_view symbol, std::string_view other);

}  // namespace smtl::msl
