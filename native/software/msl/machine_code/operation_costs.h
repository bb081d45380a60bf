// What operations of a kernel's source cost: those of the language, and calls of the standard library.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "msl/include/smtl/abi.h"

namespace smtl::msl {

struct OperationCost {
    smtl_operation_kind kind = SMTL_OPERATIONS_FLOAT;  // of the arithmetic
    unsigned arithmetic = 0;
    unsigned functions = 0;
};

// An instruction of clang's intermediate code, "add nsw i32 %a, 1"; nothing if it is no arithmetic. Negations are free,
// as those of floating-point numbers are on a GPU.
std::optional<OperationCost> cost_of_instruction(std::string_view instruction);

// A call of a function with this mangled name; nothing if the library has no such function, or if it does no
// arithmetic. For each thread: the SIMD-group's multiplication of matrices is that of 32.
std::optional<OperationCost> cost_of_call(const std::string &mangled);

}  // namespace smtl::msl
