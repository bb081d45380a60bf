// Definitions that belong to one source: sources that are linked with each other may have others by the same names.
#pragma once

#include <string>
#include <string_view>

namespace smtl::msl {

// Clang's intermediate code, in which only the code itself sees its variables and its function constants, and the
// functions that several modules could have: those of templates, and those that clang makes for a type. Names that
// begin with `smtl_` are ours, for other parts and for the engine.
std::string keep_definitions_apart(std::string_view code);

// A definition's line without the group of which the linker keeps one.
std::string without_group(std::string_view line);

}  // namespace smtl::msl
