// The functions of a dynamic library that other code calls: what a source defines outside of types and unnamed
// namespaces and calls neither `static`, `inline` nor `constexpr`, unless an attribute says otherwise.
#pragma once

#include "msl/source/declarations.h"
#include "msl/source/source.h"

namespace smtl::msl {

// Before the declarations are edited. Each exported function has the attributes by which machine_code/ knows it.
void mark_exported_functions(Source &source, const Declarations &declarations, Exports exports);

}  // namespace smtl::msl
