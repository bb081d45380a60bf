// `threadgroup float tile[32];` in a function becomes thread-local storage: all threads of a threadgroup run as fibers
// of one system thread. `threadgroup float *p = tile;` declares a pointer, which is private to each thread. A
// declaration that the pass does not understand is an error: it would be private too, and nobody would notice.
#pragma once

#include <map>
#include <set>

#include "msl/source/declarations.h"

namespace smtl::msl {

struct ThreadgroupVariables {
    std::map<Index, bool> shared;  // the names of those in threadgroup memory, and whether they are arrays
    std::set<Index> accounted;  // address spaces that the declaration around them accounts for
};

// After: each variable in threadgroup memory is declared so that clang puts it there, or is a problem.
ThreadgroupVariables allocate_threadgroup_variables(Source &source, const Declarations &declarations);

// Reports address spaces that no declaration accounts for. Outside of parentheses and of template arguments a space
// belongs to a declaration, or to the type that a function gives back.
void reject_stray_spaces(Source &source, const ThreadgroupVariables &variables);

}  // namespace smtl::msl
