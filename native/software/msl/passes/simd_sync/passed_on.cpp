// Functions that are named without a call: whatever gets them may call them by another name.
#include <algorithm>
#include <array>

#include "lane_functions.h"

namespace smtl::msl {
namespace {

// Where `a::b<c>::name` begins.
Index qualified_begin(const Source &source, Index name) {
    while (name > 1 && source[name - 1].is("::")) {
        --name;
        const Token &before = source[name - 1];
        if (before.is(">") && source.group_begin(name - 1) > 0 && source.group_begin(name - 1) < name - 1)
            name = source.group_begin(name - 1) - 1;
        else if (before.is_identifier() && !begins_no_declaration(before))
            --name;
    }
    return name;
}

// `(T)` before an operand.
bool is_cast(const Source &source, Index close) {
    const Index open = source.group_begin(close);
    const bool number = open + 2 == close && names_arithmetic_type(source[open + 1].text);
    return open > 0 && open < close && !number && !ends_operand(source[open - 1]);
}

bool is_passed_on(const Source &source, Index name) {
    constexpr std::array<std::string_view, 9> openings = {"(", ",", "=", "<", "&", "{", "?", ":", "return"},
                                              closings = {")", ",", ";", ">", "}", ":", "?", "=", "]"};
    constexpr std::array<std::string_view, 4> ends = {")", ",", ";", "}"};
    const Index begin = qualified_begin(source, name);
    Index past = name + 1;
    bool closed = true;
    if (source[past].is("<") && source.may_open_arguments(past)) {
        const auto behind = source.skip_angles(past, source.size() - 1);
        closed = behind.has_value();
        past = behind.value_or(past);
    }
    const Token &before = source[begin - 1];
    const bool unary = (before.is("*") || before.is("+")) && begin > 1 && !ends_operand(source[begin - 2]);
    if (before.is(")")) return is_cast(source, begin - 1) && (!closed || source[past].is_one_of(ends));
    return (unary || before.is_one_of(openings)) && (!closed || source[past].is_one_of(closings));
}

}  // namespace

void find_passed_on(const Source &source, const Declarations &declarations, LaneFunctions &lanes) {
    std::map<Index, Index> skipped;
    for (const Declaration &declaration : declarations)
        if (declaration.kind == DeclarationKind::kernel_instantiation) skipped[declaration.begin] = declaration.end;
    for (Index i = 1; i + 1 < source.size(); ++i) {
        if (const auto found = skipped.find(i); found != skipped.end()) i = std::max(i, found->second - 1);
        if (!source[i].is_identifier()) continue;
        // What is not evaluated passes nothing on.
        if ((source[i].is("decltype") || source[i].is("sizeof")) && source[i + 1].is("("))
            i = source.skip_group(i + 1, source.size() - 1) - 1;
        if (lanes.talking.contains(source[i].text) && is_passed_on(source, i)) lanes.calls_talk = true;
    }
}

}  // namespace smtl::msl
