#include "keywords.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smtl::msl {
namespace {

// What C++ has and Metal does not.
constexpr std::array<std::string_view, 9> rejected = {"virtual", "throw",  "try",  "catch",       "new",
                                                      "delete",  "typeid", "goto", "dynamic_cast"};
// Keywords of OpenCL that are names like any other in Metal.
constexpr std::array<std::string_view, 8> reserved = {"global",    "local",      "generic",    "pipe",
                                                      "read_only", "write_only", "read_write", "uniform"};

// Clang gives pointers to functions an address space where templates take them as arguments, and then finds none that
// fits. References to functions have none, and are called the same.
void refer_to_functions(Source &source, Range template_parameters) {
    for (Index i = template_parameters.begin; i + 3 < template_parameters.end; ++i) {
        const bool pointer =
            source[i].is("(") && source[i + 1].is("*") && source[i + 2].is_identifier() && source[i + 3].is(")");
        if (pointer) source[i + 1].replace("&");
    }
}

}  // namespace

void check_keywords(Source &source) {
    for (Index i = 0; i < source.size(); ++i) {
        Token &token = source[i];
        if (!token.is_identifier() || token.replaced) continue;
        if (token.is("template") && source[i + 1].is("<")) {
            constexpr Index longest = 1 << 11;  // templates of templates of templates
            if (const auto past = source.skip_angles(i + 1, source.size() - 1))
                refer_to_functions(source, {i + 2, std::min(*past, i + longest)});
        }
        const bool deleted = token.is("delete") && i > 0 && source[i - 1].is("=");
        if (token.is_one_of(rejected) && !deleted)
            source.problem(i, "'" + std::string(token.text) + "' is not supported in Metal");
        else if (token.is_one_of(reserved) || (token.is("private") && !source[i + 1].is(":")))
            token.replace(std::string(token.text) + "_");
    }
}

}  // namespace smtl::msl
