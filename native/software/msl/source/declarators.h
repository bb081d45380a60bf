// Declarations, read as C++ reads them: specifiers in any order with attributes between them, and for each declarator
// the address space that its variable lies in.
#pragma once

#include <vector>

#include "source.h"

namespace smtl::msl {

// What stands before the declarators of a declaration.
struct Specifiers {
    Index begin = 0;            // behind attributes in brackets
    std::vector<Index> spaces;  // the address spaces among them
    bool typed = false;
    bool alias = false;  // `typedef`
    Index body = 0;      // the brace of a type that is defined here; 0: none
};

struct Declarator {
    Index begin = 0, end = 0;   // with the initialiser
    Index name = 0;             // 0: it has none
    std::vector<Index> spaces;  // behind the `*` or `&` next to the name, of which `indirect` tells
    std::vector<Index> other_spaces;
    bool indirect = false;
    bool reference = false;
    bool array = false;
    bool called = false;       // parentheses follow: a function, or a constructor's arguments
    bool initialised = false;  // with `=` or braces
    bool shared = false;       // lies in threadgroup memory
};

// Past attributes of either form; `i` if there are none.
Index past_attribute(const Source &source, Index i, Index end);
// Both read from `i`, and return the end of what they read.
Index read_specifiers(const Source &source, Index i, Index end, Specifiers &read);
Index read_declarator(const Source &source, Index i, Index end, Declarator &read);

// One of the declarations between a function's parentheses.
struct Parameter {
    Specifiers specifiers;
    Declarator declarator;
};
Parameter read_parameter(const Source &source, Range range);

}  // namespace smtl::msl
