// The parts of a function in which lanes may be apart: regions.cpp walks over the statements, choices.cpp over
// expressions.
#pragma once

#include "function_sync.h"

namespace smtl::msl {

struct FunctionSync::Regions {
    enum class Kind {
        statement,
        last_statement,  // of a kernel: no lane waits behind it
        expression,
        turn,
        turn_in_expression
    };
    struct Region {
        Range range;
        Kind kind = Kind::statement;  // a turn is a branch that waits for the lanes in the branches before it
    };
    struct Operand {
        Range range;
        std::vector<ShuffledVariable> variables;
    };
    // A loop or a switch.
    struct Breakable {
        bool loop = false;
        bool turns = false;      // of a switch: its cases wait for each other
        bool continues = false;  // of a loop: not all lanes end an iteration together
    };
    // Labels of a `switch` in a loop, branch or `switch`: its own, and in loops and branches within. 0: there is none.
    struct Entries {
        Index own = 0;
        Index inner = 0;
    };
    using Names = std::map<std::string_view, Index, std::less<>>;  // where they are declared; 0: what cannot be shown

    FunctionSync &function;
    Source &source = function.source_;
    std::vector<Index> calls;  // of lane functions
    bool returns = false;  // lanes apart
    std::vector<Breakable> around;  // the innermost last
    std::vector<Entries> entries;  // of each loop, branch and `switch` around
    std::vector<Names> scopes;
    std::vector<Region> regions;
    std::vector<Operand> operands;
    std::size_t depth = 0;

    explicit Regions(FunctionSync &sync) : function(sync) {}

    void find_calls();
    void walk();
    void edit();

    bool talks(Range range) const;
    bool is_lambda(Index i) const { return function.lanes_.lambdas.contains(i); }
    bool is_variable(std::string_view name) const;
    void declare(const std::vector<Declarator> &declarators);
    void declare_parameters(Range parameters);
    void find_operands(Range range);
    void simple(Range range, bool apart, bool chooses = true);
    Index block(Index begin, Index end, bool apart);
    Index statement(Index begin, Index end, bool apart);
    Index control(Index begin, Index end, bool apart);
    void leave_entries(bool choice, bool has_region);
    static std::string number(Index declared) { return std::to_string(declared + 1); }
    std::string declaration(const Region &region, std::set<Index> &named) const;
    void write_operand(const Operand &operand);

    // choices.cpp
    bool is_constant(Range condition) const;
    bool is_reference(Index symbol) const;
    std::vector<Range> declared_names(Range range, const std::vector<Declarator> &declarators) const;
    bool is_lvalue(Range range) const;
    bool chosen_talks(Range range, bool lvalue) const;
    void find_choices(Range range, const std::vector<Range> &names);
    Index past_arguments(Index open, Index end) const;

    static constexpr std::size_t most_depth = 256, most_shown = 64;  // what is shown lies on the stack
};

}  // namespace smtl::msl
