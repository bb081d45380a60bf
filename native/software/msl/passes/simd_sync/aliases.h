// Which variables of a function may change under another name: through pointers and references, in functions that they
// are passed to, and in objects that hold or call them.
#pragma once

#include "function_sync.h"

namespace smtl::msl {

// The token stands before a name that is declared.
bool ends_type(const Token &token);

// By names: whatever a name may stand for counts.
class FunctionSync::Aliases {
public:
    explicit Aliases(const FunctionSync &function);

    const Names &changing() const { return changing_; }
    // Names do not tell: any variable may change.
    bool anything() const { return anything_; }
    // Variables that the body declares.
    const Names &variables() const { return variables_; }
    bool is_declared(std::string_view name) const { return variables_.contains(name) || parameters_.contains(name); }

private:
    void find_variables();
    void find_aliases();
    void find_reference(Index symbol, bool plain);
    void find_structured_binding(Index open);
    void find_passed_on(Index open);
    bool calls_pointer(Index open) const;
    bool declares(Index name) const;
    bool declares_indirect(Index symbol, Index statement, bool words) const;
    bool ends_cast(Index close) const;
    void insert(Range names) { function_.collect_names(names, changing_); }
    void insert_location(Index end);
    void insert_argument_names(Index call);
    void insert_value_names(Index begin);

    const FunctionSync &function_;
    const Source &source_;
    const LaneFunctions &lanes_;
    const Range body_;
    Names changing_, variables_, parameters_;
    Names pointers_;  // to what a thread has alone
    bool anything_ = false;
};

}  // namespace smtl::msl
