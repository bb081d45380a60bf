// Reports functions that call themselves, directly or through others. Of names with one definition only: which of
// several a call means is not known here. Nothing is edited.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

void check_recursion(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
