// Where names are values: from where they are declared to the end of the block, of the body behind the parameters, or
// of the type.
#pragma once

#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "token.h"

namespace smtl::msl {

class Scopes {
public:
    // The tokens outlive this.
    explicit Scopes(const std::vector<Token> &tokens) : tokens_(tokens), open_(1) {}

    // Goes on to a token, one after the other from the second on; `declares`: it is the name of a value.
    void pass(std::size_t i, bool declares);

    bool has(std::string_view name) const { return visible_.contains(name); }
    // Members of a type are values before they are declared, too.
    bool is_in_type() const { return types_ > 0; }

private:
    using Names = std::vector<std::string_view>;

    struct Open {
        std::size_t at = 0;
        bool type = false;  // the body of one
        Names names;
        Names parameters;  // of the body that follows
    };

    void close(std::size_t i);
    void forget(Names &names);

    const std::vector<Token> &tokens_;
    std::vector<Open> open_;  // brackets
    std::multiset<std::string_view> visible_;
    std::size_t types_ = 0;
    bool type_follows_ = false;
    std::size_t template_angles_ = 0;  // around the parameters of a template
};

}  // namespace smtl::msl
