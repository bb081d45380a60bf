// `device float &r = m[0].x`, `threadgroup T &at(int i) threadgroup { return v[i]; }`: members, the library's too, find
// their object without its space. After: what names a space where it refers to such a result has it.
#pragma once

#include "msl/source/declarations.h"

namespace smtl::msl {

void qualify_results(Source &source, const Declarations &declarations);

}  // namespace smtl::msl
