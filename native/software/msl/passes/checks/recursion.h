// Reports functions that call themselves, directly or through others. Looks only at names with one definition: with
// several, nobody knows here which one a call means. Nothing is edited.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

void check_recursion(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
