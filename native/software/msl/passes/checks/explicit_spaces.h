// Reports pointers and references that do not say where they point to. Nothing is edited.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

void check_explicit_spaces(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
