// What a kernel calls and its own library only declares: which dynamic libraries define it, and their machine code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "msl/msl.h"

namespace smtl::msl {

using DynamicLibraries = std::span<const smtl_dynamic_library>;

// The paths of the object files, in the cache, of those libraries that define what `objects` (paths) call, or what
// these libraries call in turn; of several that define a function, the first. False with `errors`, which name what
// nobody defines.
bool find_external(const std::vector<std::string> &objects, DynamicLibraries libraries, std::vector<std::string> &found,
                   std::string &errors);

// The path of the machine code of all that a library exports; empty with `errors`. `number` tells the libraries of one
// kernel apart.
std::string make_exports(const smtl_library &library, std::string &errors, std::size_t number = 0);

}  // namespace smtl::msl
