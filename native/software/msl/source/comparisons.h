// Which `<` compare.
#pragma once

#include <vector>

#include "token.h"

namespace smtl::msl {

// For each token: it is a `<` behind the name of a variable, a function or a member that is not a template, so it
// opens no template arguments. A name that the source declares as a template, too, is taken for that.
std::vector<bool> find_comparisons(const std::vector<Token> &tokens);

}  // namespace smtl::msl
