// The facts about a compiled library beside its code, and how the cache keeps them.
#pragma once

#include <elf.h>
#include <functional>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "msl/translate.h"
#include "told.h"

namespace smtl::msl {

// The kinds of resource that a parameter takes.
enum class ParameterCategory : std::uint32_t {
    neither,
    memory,
    integers
};

// The compiler's facts about one parameter.
struct ParameterFacts {
    std::uint32_t index = 0;
    std::uint32_t read_only = 0;
    std::uint32_t length = 1;  // of an array of buffers, which takes as many indices
    ParameterCategory category = ParameterCategory::neither;
    std::uint64_t type_size = 0;
};

struct ConstantFacts {
    std::uint32_t index = 0;
    std::uint32_t data_type = 0;  // MTLDataType; 0: no type that a function constant can have
};

struct Reflection {
    std::vector<Kernel> kernels;
    std::vector<std::vector<ParameterFacts>> parameters;  // of each kernel
    std::vector<std::uint32_t> thread_limits;             // of each kernel; 0: none
    std::vector<VisibleFunction> visible;
    std::vector<FunctionConstant> constants;
    std::vector<ConstantFacts> constant_facts;
    std::string warnings;
    std::string initialisers;  // errors, for a kernel whose object would have to compute variables: see initialisers.h
};

// Calls `visit` with the name and the header of each section of a 64-bit object file; false if the file cannot be read.
bool each_section(std::string_view object,
                  const std::function<void(std::string_view name, const Elf64_Shdr &section)> &visit);

// The names in an object file's table of symbols that start so: of what it defines, or of what it refers to and has
// not.
std::vector<std::string> find_symbols(std::string_view object, std::string_view start, bool defined);

// Asks the compiler about all kernels and function constants, behind the translated source.
std::string ask_for_reflection(const Translation &translation);

// Parameters and function constants that a host could not give: indices out of bounds or given twice, types without
// memory, position or value.
std::vector<Problem> find_misplaced_arguments(const Translation &translation, const Reflection &reflection);

// Reads the answers; nothing if they are not as expected.
std::optional<Reflection> read_reflection(const Translation &translation, const std::vector<Fact> &facts);

std::string serialize(const Reflection &reflection);
std::optional<Reflection> deserialize(std::string_view bytes);

}  // namespace smtl::msl
