// Where lanes of one function wait for each other. The parts of the pass share this class: accesses.cpp looks at
// memory, regions.cpp at branches and loops, names.cpp at what both ask; brackets.cpp writes what they found.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lane_functions.h"
#include "msl/source/declarators.h"
#include "msl/passes/threadgroup_variables.h"

namespace smtl::msl {

// A variable in what a shuffle takes, and where it is declared.
struct ShuffledVariable {
    std::string_view name;
    Index declared = 0;
};

// Objects are found by name alone, which is all that the translation knows: it takes an object with two names for two
// objects.
class FunctionSync {
public:
    // `meeting`: functions that make lanes wait for each other, among those that have been edited.
    FunctionSync(Source &source, const Declaration &declaration, const LaneFunctions &lanes,
                 const ThreadgroupVariables &variables, LaneFunctions::Names &meeting);
    void edit();

private:
    using Names = LaneFunctions::Names;

    // A name of memory that lanes share.
    struct Shared {
        bool threadgroup = false;
        bool object = false;  // the name alone is an access: a variable or a reference, neither pointer nor array
    };
    // A statement whose parts not all lanes execute, or not equally often.
    struct Control {
        Range statement;
        bool diverges = false;
        bool by_data = false;       // the lanes decide by what lies in shared memory
        std::string_view only_lane; // what is compared, where it may let one lane through
        bool is_alone = false;      // certainly one
    };
    struct Access {
        std::string_view name;
        std::string location;       // as written; empty: unknown
        bool by_lane = false;    // the location differs from lane to lane
        bool divergent = false;  // not by all lanes
        Index only_lane = 0;     // the statement that may let one lane through; 0: none
        bool is_alone = false;   // it certainly does
        Index store = 0;         // in `stores_`, of accesses that write
    };
    struct Store {
        bool threadgroup = false;
        bool by_data = false;         // see Control
        Index assignment = 0;         // the operator; 0: an increment
        Range location;
        Range value;
        Range statement;              // that consists of the store; empty if it is a part of an expression
        std::vector<Range> controls;  // around it, in which lanes diverge
        bool before = false, after = false;  // where lanes have to wait
        bool at_once = false;                // after the store itself: lanes in the same branch read
    };
    // What this lane has done since the lanes last met.
    struct Segment {
        std::vector<Access> reads, writes;
    };
    // What happens at a token of the walk over an expression.
    struct Pending {
        Index at = 0;
        bool meets = false;
        Access write;
    };

    // What is written before and behind a statement or an expression.
    struct Brackets {
        std::string open, close;
    };
    // In the order of the source, the outer before the inner.
    struct Outer {
        bool operator()(Range a, Range b) const { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; }
    };

    // names.cpp
    void find_shared(Range range, bool parameters);
    const SharedType *shared_type(Index name) const;
    void find_deduced();
    void find_lane_values();
    void keep_lane_indices();
    bool is_only_read(Index name) const;
    void spread_lane_values();
    static bool is_assignment(const Token &token);
    static bool is_increment(const Token &token);
    bool mentions(Range range, const Names &names) const;
    void collect_names(Range range, Names &names) const;
    bool mentions_shared(Range range) const;
    std::vector<Declarator> declared_in(Range range, const std::function<bool(std::string_view)> &is_variable) const;
    bool meets(Index call) const;
    bool is_call(Index name, Index end, Index &open) const;
    Index past_attributes(Index i, Index end) const;
    Index past_label(Index i, Index end) const;

    // locations.cpp
    Index location_at(Index i, Range range, Index &name) const;
    Index past_postfix(Index i, Index end) const;
    Index value_end(Index begin, Index end) const;

    // operands.cpp
    // Where a variable of that name is declared; 0: another lane cannot read it; nothing: no variable has the name.
    using FindVariable = std::function<std::optional<Index>(std::string_view name)>;
    Range shuffled(Index call, Index end) const;
    bool is_harmless(Index name) const;
    // Those that an operand is computed from; none if it is not to be computed for another lane.
    std::vector<ShuffledVariable> variables_of(Range operand, const FindVariable &find) const;

    // regions.cpp
    void join_lanes();
    struct Regions;

    // brackets.cpp
    // The first of two around the same range stands outside.
    void write_around(Range range, std::string open, std::string close);
    void write_brackets();

    // accesses.cpp
    Index statement(Index begin, Index end);
    Index control(Index begin, Index end);
    void repeat(Range head, Index body, Index end);
    void expression(Range range, Range whole);
    void access(Index name, Range location, Range range, Range whole, std::vector<Pending> &pending);
    void read(const Access &access);
    void write(const Access &access);
    static bool conflict(const Access &earlier, const Access &later, bool stored);
    Control condition(Range statement, Range head) const;
    bool lets_one_lane_through(Range head) const;
    static void unite(std::vector<Access> &all, const std::vector<Access> &more);
    void insert();
    bool barrier_follows(Index i) const;

    // No real expression has more.
    static constexpr Index longest_location = 1 << 8, longest_value = 1 << 11;

    Source &source_;
    const Declaration &declaration_;
    const Range body_;
    std::vector<Parameter> parameters_;
    const LaneFunctions &lanes_;
    const ThreadgroupVariables &variables_;
    Names &meeting_;
    const std::string_view function_;
    std::map<std::string_view, Shared, std::less<>> shared_;
    std::set<Index> declared_;  // where
    Names lane_values_;
    Names lane_indices_;  // those that no two lanes of a SIMD-group share
    std::vector<Control> controls_;
    std::size_t depth_ = 0;
    bool repeating_ = false;
    Segment segment_;
    std::map<Index, Store> stores_;
    std::multimap<Range, Brackets, Outer> brackets_;
};

}  // namespace smtl::msl
