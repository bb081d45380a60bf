// The declarations of a source, outside of functions. This understands as much C++ as tells functions, types, variables
// and templates apart, and leaves the rest to clang.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source.h"

namespace smtl::msl {

enum class DeclarationKind {
    function,  // defined here
    prototype,  // or what looks like one: `T name(1, 2);`
    type,
    variable,
    kernel_instantiation,  // explicit, of a template
    statement  // `using`, `typedef`, `static_assert`
};

// The names of the enclosing namespaces and types, outermost first; empty string: unnamed.
using Scope = std::vector<std::string>;

struct Declaration {
    DeclarationKind kind = DeclarationKind::variable;
    Index begin = 0;
    Index head_end = 0;  // the `{`, `;`, `=` or constructor's `:` that ends what stands before
    Index end = 0;  // past its `}` or semicolon
    Range body;  // of a function or type that is defined, with the braces
    std::shared_ptr<const Scope> scope;
    std::optional<Range> template_parameters;  // of the innermost `template <...>`
    bool explicit_instantiation = false;  // `template` without `<`
    std::optional<Range> parameters;  // between the parentheses of a function
    Index name_begin = 0;  // the declared name (with template arguments) if there are parameters
    Index name_end = 0;
    Index class_key = 0;  // `struct`, `class`, `union`, `enum` that opens a type; 0: none
    bool kernel = false;
    bool visible = false;  // [[visible]] or [[stitchable]]
    bool constructor = false;
    bool member = false;  // declared in a type
    bool deleted_for_space = false;  // member functions, for objects in one address space
    bool erased = false;  // by a pass
    std::string host_name;
    Range thread_limit;  // in [[max_total_threads_per_threadgroup(...)]]
};

// In the order of the source; a type comes before its members.
using Declarations = std::vector<Declaration>;
Declarations read_declarations(Source &source);

// The last part of the name, without template arguments; `operator` for all of these.
std::string_view own_name(const Source &source, const Declaration &declaration);

std::string qualified(const Scope &scope, std::string_view name);
// The name with the namespaces and types around it, as written.
std::string full_name(const Source &source, const Declaration &declaration);

}  // namespace smtl::msl
