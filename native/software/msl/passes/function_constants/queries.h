// `is_function_constant_defined(flag)` becomes `((::smtl::is_same_object(flag, ::ns::flag) &&
// ::ns::smtl_defined_flag))`.
#pragma once

#include <string>
#include <utility>

#include "conditions.h"

namespace smtl::msl {

// Past the query that begins there, and what stands for it.
std::pair<Index, std::string> constant_query(const Source &source, const ProgramConstants &constants, Index begin,
                                             Index end);

// Before: `translation` lists all function constants. After: no query is written, and the list says which constants are
// asked for and may be missing.
void edit_constant_queries(Source &source, const ProgramConstants &constants, Translation &translation);

}  // namespace smtl::msl
