// Which values of a function are the same in all lanes that compute them together.
#pragma once

#include "aliases.h"

namespace smtl::msl {

// By the names of variables: one differs if any assignment anywhere could make it differ. What is not understood
// differs.
class FunctionSync::Uniformity {
public:
    explicit Uniformity(const FunctionSync &function);

    bool diverges(Range range) const;
    // Follows what an expression or a declaration assigns; `apart`: not all lanes come to it.
    void spread(Range range, bool apart);
    std::size_t diverging() const { return diverging_.size(); }
    void give_up() { everything_ = true; }

private:
    void find_parameters();
    bool is_unknown(Index name) const;
    bool may_be_object(Index end) const;
    Index location_begin(Index end);

    const FunctionSync &function_;
    const Source &source_;
    const LaneFunctions &lanes_;
    const Range body_;
    const Aliases aliases_;
    Names diverging_;
    bool member_ = false;
    bool everything_ = false;
};

}  // namespace smtl::msl
