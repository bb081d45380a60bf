// Which functions and calls talk to other lanes, by their names. Whatever a name may stand for counts.
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
    Names talking;    // that call SIMD-group or quad-group functions, or such that do
    Names functions;  // that the source declares; all operators have one name
    Names types;
    std::map<std::string_view, SharedType, std::less<>> shared_types;
    Names constants;              // not functions, but names that stand for one value
    Names values;                 // that stand anywhere without being called
    Names declared;               // variables and parameters; some may also be types
    std::set<Index> lambdas;      // where they begin
    bool calls_talk = false;      // also those of what is not a function by its name: variables, parameters, objects
    bool anything_talks = false;  // constructors, operators: names do not tell
};
LaneFunctions find_lane_functions(const Source &source, const Declarations &declarations);

// Those that talk and are named without a call.
void find_passed_on(const Source &source, const Declarations &declarations, LaneFunctions &lanes);

// A parenthesis with the arguments of what is not a function by its name.
bool is_call_of_value(const Source &source, Index open, const LaneFunctions &lanes);

// The brace of a lambda's body, or what ends its head without one.
Index lambda_body(const Source &source, const LaneFunctions &lanes, Index lambda, Index end);

// A function that is defined and that is left.
bool is_function(const Declaration &declaration);

// A SIMD-group or quad-group function.
bool is_lane_function(std::string_view name);

}  // namespace smtl::msl
