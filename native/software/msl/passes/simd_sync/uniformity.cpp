#include "uniformity.h"

#include <algorithm>
#include <array>

namespace smtl::msl {

FunctionSync::Uniformity::Uniformity(const FunctionSync &function)
    : function_(function), source_(function.source_), lanes_(function.lanes_), body_(function.body_),
      aliases_(function), diverging_(function.lane_values_), member_(function.declaration_.member),
      everything_(aliases_.anything() || lanes_.anything_varies) {
    for (Index i = function.declaration_.name_begin; i < function.declaration_.name_end; ++i)
        member_ = member_ || source_[i].is("::");
    diverging_.insert(aliases_.changing().begin(), aliases_.changing().end());
    find_parameters();
}

// A kernel's parameters differ if they tell lanes apart, or hold pointers to what lanes share. Those of other functions
// may be anything.
void FunctionSync::Uniformity::find_parameters() {
    for (const Parameter &parameter : function_.parameters_) {
        const Declarator &declarator = parameter.declarator;
        if (declarator.name == 0) continue;
        bool shared = false;
        for (const auto *spaces : {&parameter.specifiers.spaces, &declarator.spaces, &declarator.other_spaces}) {
            for (const Index space : *spaces)
                shared = shared || source_[space].is("device") || source_[space].is("threadgroup");
        }
        const std::string_view name = source_[declarator.name].text;
        if (!function_.declaration_.kernel || (shared && !function_.shared_.contains(name))) diverging_.insert(name);
    }
}

// It may be a member of an object, which any function may have changed.
bool FunctionSync::Uniformity::is_unknown(Index name) const {
    constexpr std::array<std::string_view, 4> words = {"true", "false", "const", "constexpr"};
    const Token &token = source_[name], &before = source_[name - 1], &behind = source_[name + 1];
    if (!token.is_identifier() || std::find(words.begin(), words.end(), token.text) != words.end() || before.is(".") ||
        before.is("->") || behind.is("::"))
        return false;
    // A variable or a constant of that name may be another one.
    if (token.is("this") || lanes_.members.contains(token.text) || lanes_.fields.contains(token.text)) return true;
    if (before.is("::")) return false;
    Index open = 0;
    if (behind.is_identifier() || function_.is_call(name, body_.end, open)) return false;
    return !aliases_.is_declared(token.text) && !lanes_.constants.contains(token.text);
}

// What ends there and is called.
bool FunctionSync::Uniformity::may_be_object(Index end) const {
    const Token &token = source_[end], &before = source_[end - 1];
    if (!token.is_identifier()) return token.is(")") || token.is("]") || token.is("}");
    return before.is(".") || before.is("->") || aliases_.is_declared(token.text) ||
           lanes_.constants.contains(token.text);
}

bool FunctionSync::Uniformity::diverges(Range range) const {
    if (range.empty()) return false;
    if (everything_ || function_.mentions(range, diverging_) || function_.mentions_shared(range)) return true;
    for (Index i = range.begin; i < range.end; ++i) {
        const std::string_view name = source_[i].text;
        if (lanes_.calls_vary && source_[i + 1].is("(") && may_be_object(i)) return true;
        if (!source_[i].is_identifier()) continue;
        const bool called = source_[i + 1].is("(") || source_[i + 1].is("<");
        if ((called && (is_varying_function(name) || lanes_.varying.contains(name))) || (member_ && is_unknown(i)))
            return true;
    }
    return false;
}

Index FunctionSync::Uniformity::location_begin(Index end) {
    const std::optional<Index> begin = function_.location_begin(end, diverging_);
    everything_ = everything_ || !begin;
    return begin.value_or(end - 1);
}

void FunctionSync::Uniformity::spread(Range range, bool apart) {
    if (everything_) return;
    bool chooses = false;
    for (Index i = range.begin; i < range.end; ++i)
        chooses = chooses || source_[i].is("?") || source_[i].is("&&") || source_[i].is("||");
    apart = apart || (chooses && diverges(range));
    // Whatever stands between the name and the value, and however the value is given.
    for (const Declarator &declarator : function_.declared_in(range, [](std::string_view) { return false; })) {
        if (apart || diverges({declarator.name + 1, declarator.end})) diverging_.insert(source_[declarator.name].text);
    }
    std::size_t depth = 0;
    for (Index i = range.begin; i < range.end; ++i) {
        depth += source_[i].is("(") || source_[i].is("[") || source_[i].is("{");
        depth -= depth > 0 && (source_[i].is(")") || source_[i].is("]") || source_[i].is("}"));
        // `T name(value), other{value}, array[2]{...}`
        const bool begins = i > body_.begin && source_[i].is_identifier() && i + 1 < range.end &&
                            (ends_type(source_[i - 1]) || (source_[i - 1].is(",") && depth == 0));
        Index value = i + 1;
        while (begins && value < range.end && source_[value].is("[")) value = source_.skip_group(value, range.end);
        const bool constructed =
            begins && value < range.end && (source_[value].is("{") || (source_[value].is("(") && value == i + 1));
        if (is_increment(source_[i])) {
            Index name = i + 1;
            if (i > range.begin && ends_operand(source_[i - 1])) {
                name = apart || diverges({i > longest_location + range.begin ? i - longest_location : range.begin, i})
                           ? location_begin(i)
                           : range.end;
            } else {
                while (name < range.end && source_[name].is("*")) ++name;
                const bool group = source_[name].is("(");
                const Index past = group ? source_.skip_group(name, range.end) : name + longest_location;
                if (!apart && !diverges({name, std::min(range.end, past)})) name = range.end;
                // It may be any of the variables there.
                if (group && name < range.end) function_.collect_names({name, past}, diverging_);
            }
            if (name < range.end && source_[name].is_identifier()) diverging_.insert(source_[name].text);
        } else if (function_.is_assignment(source_[i])) {
            const Index end = function_.value_end(i + 1, range.end), begin = i > range.begin ? i - 1 : i;
            const bool simple =
                source_[begin].is_identifier() && !source_[begin - 1].is(".") && !source_[begin - 1].is("->");
            const bool differs = apart || end == i + 1 || diverges({i + 1, end});
            if (!differs && simple) continue;
            // A location that differs makes elements differ.
            const std::size_t before = diverging_.size();
            const Index location = location_begin(i);
            if (differs || diverging_.size() > before || diverges({location, i}))
                function_.collect_names({location, location + 1}, diverging_);
        } else if (constructed) {
            const Index end = source_.skip_group(value, std::min(range.end, value + longest_value));
            if (apart || end == range.end || diverges({value + 1, end})) diverging_.insert(source_[i].text);
        }
    }
}

}  // namespace smtl::msl
