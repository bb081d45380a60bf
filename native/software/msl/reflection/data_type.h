// MTLDataType: the types of function constants and of what is in buffers.
#pragma once

#include <cstdint>
#include <string>

#include "msl/msl.h"

namespace smtl::msl {

constexpr std::uint32_t struct_data_type = 1, array_data_type = 2, pointer_data_type = 60;

// Columns of a matrix, and components of a column; a vector is one column.
struct DataTypeShape {
    std::uint32_t columns = 1, components = 1;
};
DataTypeShape data_type_shape(std::uint32_t data_type);
// As Metal spells it.
std::string data_type_name(std::uint32_t data_type);
// A value as a C++ initialiser, bit for bit.
std::string data_type_value(const smtl_constant_value &value);

}  // namespace smtl::msl
