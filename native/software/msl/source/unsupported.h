// What Metal has and this does not, by the names that sources use it under.
#pragma once

#include <string_view>

namespace smtl::msl {

// "textures are", "ray tracing is": what a name belongs to; empty where it is none of these. `qualifies`: `::` or `<`
// stands behind the name, without which some of them are words like any other.
std::string_view unsupported_subject(std::string_view name, bool qualifies);

}  // namespace smtl::msl
