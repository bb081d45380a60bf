// Clang accepts arithmetic of a half and a bfloat, misinterprets it, and crashes when it writes machine code. It only
// warns about the conversion.
#pragma once

#include <string>

#include "msl/translate.h"

namespace smtl::msl {

// Whether both types occur, and so may meet.
bool may_mix_halves(const Translation &translation);

// The compiler's argument that makes it warn.
inline constexpr const char *mixed_halves_warning = "-Wdouble-promotion";

// The compiler's messages with that argument: errors in place of those warnings, and without other warnings of that
// kind.
struct MixedHalves {
    std::string messages;
    bool found = false;
};
MixedHalves find_mixed_halves(const std::string &messages);

}  // namespace smtl::msl
