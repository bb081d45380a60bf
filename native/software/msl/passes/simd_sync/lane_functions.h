// What calls say of lanes, by the names of functions: which of them talk to other lanes, whose values differ from lane
// to lane though their arguments do not, and which store through a parameter. Whatever a name may stand for counts.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "msl/source/declarations.h"

namespace smtl::msl {

// A name of a type in memory that lanes share: `typedef threadgroup float *name;`
struct SharedType {
    bool threadgroup = false, pointer = false, reference = false;
};

struct LaneFunctions {
    using Names = std::set<std::string_view, std::less<>>;
    Names talking;  // that call SIMD-group or quad-group functions, or such that do
    Names varying;  // whose values differ where their arguments do not
    Names writing;  // functions and constructors that may store through an argument
    Names members;    // functions
    std::map<std::string_view, Index, std::less<>> fields;  // members with values, and how many dimensions they have
    Names functions;  // that the source declares; all operators have one name
    Names types;
    std::map<std::string_view, SharedType, std::less<>> shared_types;
    Names constants;              // not functions, but names that stand for one value
    std::set<Index> lambdas;      // where they begin
    bool anything_writes = false; // names of functions do not tell
    bool calls_write = false;     // objects that are called may change
    bool anything_talks = false;  // the same of those that talk to other lanes
    bool anything_varies = false; // and of those whose values differ
    bool calls_vary = false;      // what calls of objects give differs
};
LaneFunctions find_lane_functions(const Source &source, const Declarations &declarations);

// Where the `fields` come from.
void find_fields(const Source &source, const Declaration &declaration, LaneFunctions &lanes);

// Those that talk or vary and are named without a call.
void find_passed_on(const Source &source, const Declarations &declarations, LaneFunctions &lanes);

// A type that may be a reference although it has no `&`: `decltype((x))`, `decltype(auto)`,
// `add_lvalue_reference_t<T>`.
bool names_reference(const Source &source, Index i);

// The brace of a lambda's body, or what ends its head without one.
Index lambda_body(const Source &source, const LaneFunctions &lanes, Index lambda, Index end);

// A function that is defined and that is left.
bool is_function(const Declaration &declaration);

// A SIMD-group or quad-group function; a function of Metal's whose value differs from lane to lane.
bool is_lane_function(std::string_view name);
bool is_varying_function(std::string_view name);

}  // namespace smtl::msl
