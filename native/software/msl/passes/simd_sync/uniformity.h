// Which values of a function are the same in all lanes that compute them together.
#pragma once

#include "function_sync.h"

namespace smtl::msl {

// By the names of variables: one differs if any assignment anywhere could make it differ. What is not understood
// differs.
class FunctionSync::Uniformity {
public:
    explicit Uniformity(FunctionSync &function);

    bool diverges(Range range) const;
    // Follows what an expression or a declaration assigns; `apart`: not all lanes come to it.
    void spread(Range range, bool apart);
    std::size_t diverging() const { return diverging_.size(); }
    void give_up() { everything_ = true; }

private:
    void find_parameters();
    void find_other_names();
    void find_reference(Index symbol, bool plain);
    void find_structured_binding(Index open);
    void find_declared();
    bool declares(Index name) const;
    bool declares_indirect(Index symbol, Index statement) const;
    bool ends_cast(Index close) const;
    bool is_unknown(Index name) const;
    void insert(Range names);
    void insert_argument_names(Index call);
    void insert_value_names(Index begin);
    Index location_begin(Index end);

    FunctionSync &function_;
    Source &source_;
    const LaneFunctions &lanes_;
    const Range body_;
    std::set<std::string_view, std::less<>> diverging_;
    std::set<std::string_view, std::less<>> declared_;
    std::set<std::string_view, std::less<>> pointers_;  // to what a thread has alone
    bool member_ = false;
    bool everything_ = false;
};

}  // namespace smtl::msl
