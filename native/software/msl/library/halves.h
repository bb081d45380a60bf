// Clang lets half and bfloat meet in arithmetic, makes nonsense of it, and crashes when it writes machine code. All it
// says is a warning about the conversion.
#pragma once

#include <string>

#include "msl/translate.h"

namespace smtl::msl {

// Both types occur, and so the two may meet.
bool may_mix_halves(const Translation &translation);

// The compiler's argument that makes it warn.
inline constexpr const char *mixed_halves_warning = "-Wdouble-promotion";

// What a compiler said with that argument, with an error in place of those warnings and without the others of their
// kind.
struct MixedHalves {
    std::string messages;
    bool found = false;
};
MixedHalves find_mixed_halves(const std::string &messages);

}  // namespace smtl::msl
