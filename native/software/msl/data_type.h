// MTLDataType: the types that function constants can have.
#pragma once

#include <cstdint>
#include <string>

#include "msl.h"

namespace smtl::msl {

// As Metal spells it.
std::string data_type_name(std::uint32_t data_type);
// A value as a C++ initialiser, bit for bit.
std::string data_type_value(const smtl_constant_value &value);

}  // namespace smtl::msl
