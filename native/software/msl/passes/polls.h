// Loops in which a thread may wait for an atomic to change.
//
// Before: the brackets of the source match. After: an atomic function whose value somebody uses has a last argument,
// `smtl::in_loop()`, where it stands in a loop, or in a function that is called in one. Include/smtl/polls.h says what
// it is for. Whatever a name may stand for counts: an atomic function that nobody waits for costs little.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

void edit_polls(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
