// Which `<` compare, and which open template arguments.
#pragma once

#include <vector>

#include "token.h"

namespace smtl::msl {

enum class Angle : char {
    unknown,
    compares,  // behind the name of a variable, a function or a member that is not a template
    opens,     // behind the name of a template of variables, which nothing else has
};

// What is known of each token that is a `<`. A name that the source declares both as a template and as something else
// is taken for the template.
std::vector<Angle> find_angles(const std::vector<Token> &tokens);

}  // namespace smtl::msl
