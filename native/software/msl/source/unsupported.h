// Parts of Metal that are not supported, by the names that sources use.
#pragma once

#include <string_view>

namespace smtl::msl {

// "textures are", "ray tracing is": the part that a name belongs to; empty for other names. `qualifies`: `::` or `<`
// follows the name. Without these, some of the names are ordinary words.
std::string_view unsupported_subject(std::string_view name, bool qualifies);

}  // namespace smtl::msl
