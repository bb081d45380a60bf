// What a source becomes: C++ for clang, and the kernels and function constants that were found on the way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "token.h"

namespace smtl::msl {

enum class AddressSpace {
    none,
    device,
    constant,
    thread,
    threadgroup
};

enum class ParameterKind {
    buffer,
    threadgroup_memory,
    attribute
};

struct KernelParameter {
    std::string name;
    std::string type;  // as written, without attributes and name
    ParameterKind kind = ParameterKind::buffer;
    AddressSpace space = AddressSpace::none;
    bool addressed = false;        // the kernel, or a function that it passes the argument to, may take its address
    std::string attribute;         // for ParameterKind::attribute: Metal's spelling
    std::string index_expression;  // for the others; empty: Metal numbers it
    std::string condition;         // [[function_constant(...)]]: present only if this function's value is true
    std::size_t token = 0;         // of the preprocessed source, for messages
    std::size_t condition_begin = 0, condition_end = 0;  // the same
};

// What [[max_total_threads_per_threadgroup(...)]] of a kernel says.
struct ThreadLimit {
    std::string expression;  // in scope of the kernel; may be empty
    std::size_t token = 0;   // of the preprocessed source, for messages
};

struct Kernel {
    std::string name;                // host name
    std::vector<std::string> scope;  // enclosing namespaces, outermost first; empty string: unnamed
    std::string identifier;  // qualified name of the constant that holds its address
    std::string indices;     // qualified name of the constant array with the index of each parameter
    ThreadLimit thread_limit;  // its expression is the qualified name of the constant that holds it
    std::vector<KernelParameter> parameters;
};

// A function that other code calls through tables.
struct VisibleFunction {
    std::string name;        // host name
    std::string identifier;  // qualified name of the constant that holds its address
};

struct FunctionConstant {
    std::vector<std::string> scope;  // as in Kernel
    std::string name;
    std::string type;
    std::string index;  // qualified name of the constant that holds its index
    bool optional = false;
    std::size_t token = 0;  // of the preprocessed source, for messages
};

// Which functions of a source other code may call by name, when the source becomes a dynamic library.
enum class Exports {
    none,    // it does not become one
    marked,  // those whose visibility an attribute makes the default
    all      // but for those that an attribute hides
};

struct Problem {
    SourceLocation location;
    std::string message;
};

struct Translation {
    std::string_view source;  // what was translated; it outlives this
    std::string text;
    std::vector<Kernel> kernels;
    std::vector<VisibleFunction> visible;
    std::vector<FunctionConstant> constants;
    std::vector<Problem> problems;
    bool math_mode_safe = false;  // #pragma METAL fp math_mode(safe) or relaxed was seen
    bool thread_elements = false;  // simdgroup_matrix::thread_elements occurs
};

// The symbol of a function constant starts with this; its position in Translation::constants follows.
inline constexpr std::string_view constant_symbol = "smtl_function_constant_";

// The symbol of a visible function starts with this; its name follows.
inline constexpr std::string_view named_symbol = "smtl_named.";

// Where an exported function stands in clang's intermediate code.
inline constexpr std::string_view exported_section = "smtl_exported";

}  // namespace smtl::msl
