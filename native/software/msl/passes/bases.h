// The members of a structure with bases. Metal's vectors are built in, so a structure of them keeps its padding as a
// base. The library's are classes, and clang would put members of the derived structure there.
#pragma once

#include "msl/source/source.h"

namespace smtl::msl {

// For a source that is executed. After: such a structure begins with what moves its members behind the padding of its
// last base (include/smtl/bases.h), and is refused if another of its bases has padding.
void move_members(Source &source);

}  // namespace smtl::msl
