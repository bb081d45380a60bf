// What a function's names stand for: memory that lanes share, and values that differ from lane to lane.
#include <algorithm>
#include <array>

#include "function_sync.h"
#include "msl/source/attributes.h"

namespace smtl::msl {
namespace {

bool is_lane_attribute(std::string_view name) {
    for (const char *lane :
         {"thread_index_in_simdgroup", "thread_index_in_quadgroup", "quadgroup_index_in_threadgroup",
          "thread_index_in_threadgroup", "thread_position_in_threadgroup", "thread_position_in_grid"}) {
        if (name == lane) return true;
    }
    return false;
}

bool is_open(const Token &token) { return token.is("(") || token.is("[") || token.is("{"); }

bool is_shared_space(const Token &token) { return token.is("threadgroup") || token.is("device"); }

}  // namespace

// `threadgroup float *p`, `threadgroup float tile[32]`, `device float &x`, with further declarators in the same
// statement unless these are parameters. Casts declare nothing.
void FunctionSync::find_shared(Range range, bool parameters) {
    for (auto variable = variables_.shared.lower_bound(range.begin);
         variable != variables_.shared.end() && variable->first < range.end; ++variable) {
        const auto &[name, array] = *variable;
        declared_.insert(name);
        shared_[source_[name].text] = {.threadgroup = true, .object = !array};
    }
    for (Index i = range.begin; i < range.end; ++i) {
        const SharedType *const alias = shared_type(i);
        if (!is_shared_space(source_[i]) && alias == nullptr) continue;
        const bool threadgroup = alias != nullptr ? alias->threadgroup : source_[i].is("threadgroup");
        bool pointer = alias != nullptr && alias->pointer, reference = alias != nullptr && alias->reference;
        bool indirect = pointer || reference;
        Index words = alias != nullptr, name = 0, begin = i + 1;
        if (alias != nullptr && source_[begin].is("<")) begin = source_.skip_angles(begin, range.end).value_or(begin);
        for (Index j = begin; j < range.end && !is_shared_space(source_[j]);) {
            const Token &token = source_[j];
            if (token.is("*") || token.is("&")) {
                indirect = true;
                pointer = pointer || token.is("*");
                name = 0;
            } else if (token.is("<") && name != 0) {
                const auto past = source_.skip_angles(j, range.end);
                if (!past) break;
                j = *past;
                continue;
            } else if (token.is("(") && j + 3 < range.end && source_[j + 1].is("&") && source_[j + 2].is_identifier() &&
                       source_[j + 3].is(")")) {
                indirect = pointer = reference = true;  // T (&name)[8]
                name = j + 2;
                break;
            } else if (token.is_identifier()) {
                name = j;
                ++words;
            } else if (!token.is("::")) {
                break;
            }
            ++j;
        }
        if (name == 0 || (!indirect && words < 2)) continue;
        for (;;) {
            Index end = name + 1;
            const bool array = source_[end].is("[") && !source_.opens_attribute(end);
            declared_.insert(name);
            // An array of pointers is a thread's own.
            if (!array || !pointer || reference) shared_[source_[name].text] = {threadgroup, !pointer && !array};
            while (end < range.end && !is_shared_space(source_[end]) && !source_[end].is(",") &&
                   !source_[end].is(";") && !source_[end].is(")")) {
                end = source_[end].is("=")   ? std::max(value_end(end + 1, range.end), end + 1)
                      : source_[end].is("[") ? source_.skip_group(end, range.end)
                                             : end + 1;
            }
            if (parameters || end + 1 >= range.end || !source_[end].is(",")) break;
            pointer = alias != nullptr && alias->pointer;
            reference = alias != nullptr && alias->reference;
            for (name = end + 1; source_[name].is("*") || source_[name].is("&") || source_[name].is("const"); ++name) {
                pointer = pointer || source_[name].is("*");
                reference = reference || source_[name].is("&");
            }
            if (name >= range.end || !source_[name].is_identifier() || is_shared_space(source_[name])) break;
        }
    }
}

// `auto p = tile + 32;`, `auto p = &tile[n];`
void FunctionSync::find_deduced() {
    for (Index i = body_.begin; i + 3 < body_.end; ++i) {
        if (!source_[i].is("auto")) continue;
        Index name = i + 1;
        while (source_[name].is("const") || source_[name].is("*")) ++name;
        if (!source_[name].is_identifier() || !source_[name + 1].is("=")) continue;
        Index value = name + 2;
        while (value + 1 < body_.end && (source_[value].is("(") || source_[value].is("&"))) ++value;
        const auto found = shared_.find(source_[value].text);
        if (found == shared_.end() || found->second.object) continue;
        const Token &behind = source_[value + 1];
        const bool element = behind.is("[") || behind.is("->");
        if (element != source_[value - 1].is("&")) continue;
        declared_.insert(name);
        shared_[source_[name].text] = {.threadgroup = found->second.threadgroup};
    }
}

// What the name of a type stands for, unless it is a part of another type.
const SharedType *FunctionSync::shared_type(Index name) const {
    const auto found = lanes_.shared_types.find(source_[name].text);
    const Token &before = source_[name - 1];
    const bool whole = !before.is("<") && !before.is("using") && !before.is(".") && !before.is("->");
    return found != lanes_.shared_types.end() && whole ? &found->second : nullptr;
}

// A kernel's parameters that tell threads apart, and all of another function's that may: any value may be an index,
// and what is in device memory may be the thread's own.
void FunctionSync::find_lane_values() {
    for (const Range &part : source_.split_commas(*declaration_.parameters)) {
        const Parameter &parameter = parameters_.emplace_back(read_parameter(source_, part));
        const AddressSpace space = address_space_of(source_, part);
        bool threadgroup = space == AddressSpace::threadgroup;
        for (Index i = part.begin; i < part.end; ++i) {
            const SharedType *const alias = shared_type(i);
            threadgroup = threadgroup || (alias != nullptr && alias->threadgroup);
        }
        bool lane =
            !declaration_.kernel && !threadgroup && (space == AddressSpace::none || space == AddressSpace::device);
        bool index = false;
        for (const Attribute &attribute : attributes_in(source_, part)) {
            lane = lane || is_lane_attribute(attribute.name);
            index = index || attribute.name == "thread_index_in_simdgroup" ||
                    attribute.name == "thread_index_in_threadgroup";
        }
        if (!lane || parameter.declarator.name == 0) continue;
        const std::string_view name = source_[parameter.declarator.name].text;
        lane_values_.insert(name);
        if (index) lane_indices_.insert(name);
    }
    if (lane_values_.empty()) return;
    keep_lane_indices();
    // What is made of them, twice: loops hand values back.
    spread_lane_values();
    spread_lane_values();
}

// Keeps the indices that nothing but operators reads: a function or a reference may change another one, and a
// declaration hides it.
void FunctionSync::keep_lane_indices() {
    // An operator of the source's own may change what it gets.
    if (lanes_.functions.contains("operator")) return lane_indices_.clear();
    for (Index i = body_.begin + 1; i + 1 < body_.end && !lane_indices_.empty(); ++i)
        if (source_[i].is_identifier() && !is_only_read(i)) lane_indices_.erase(source_[i].text);
}

bool FunctionSync::is_only_read(Index name) const {
    constexpr std::array<std::string_view, 8> leads = {"!", "+", "-", "/", "%", "<", "==", "!="};
    constexpr std::array<std::string_view, 17> follows = {
        "+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "<<", ">>", "&", "|", "&&", "||"};
    const Token &before = source_[name - 1], &behind = source_[name + 1];
    const bool subscript = before.is("[") && behind.is("]") && ends_operand(source_[name - 2]);
    if (before.is(".") || before.is("->") || (subscript && !source_[name - 2].is("auto"))) return true;
    const bool address = before.is("&") && !ends_operand(source_[name - 2]);
    if (address || is_increment(before) || is_increment(behind) || is_assignment(behind)) return false;
    return before.is_one_of(leads) || behind.is_one_of(follows);
}

void FunctionSync::spread_lane_values() {
    for (Index i = body_.begin + 1; i + 1 < body_.end; ++i) {
        if (!source_[i].is_identifier() || lane_values_.contains(source_[i].text)) continue;
        const Token &next = source_[i + 1];
        const bool constructed =
            (next.is("(") || next.is("{")) && (source_[i - 1].is_identifier() || source_[i - 1].is(">"));
        if (!is_assignment(next) && !constructed) continue;
        const Index end = constructed ? source_.skip_group(i + 1, std::min(body_.end, i + longest_value))
                                      : value_end(i + 2, body_.end);
        if (mentions({i + 2, end}, lane_values_)) lane_values_.insert(source_[i].text);
    }
}

bool FunctionSync::is_assignment(const Token &token) {
    for (const char *comparison : {"==", "!=", "<=", ">="})
        if (token.is(comparison)) return false;
    return token.kind == TokenKind::punctuator && token.meaning.ends_with('=');
}

bool FunctionSync::is_increment(const Token &token) { return token.is("++") || token.is("--"); }

bool FunctionSync::mentions(Range range, const Names &names) const {
    for (Index i = range.begin; i < range.end; ++i) {
        const bool member = i > 0 && (source_[i - 1].is(".") || source_[i - 1].is("->"));
        if (!member && source_[i].is_identifier() && names.contains(source_[i].text)) return true;
    }
    return false;
}

// The names of objects, not of their members.
void FunctionSync::collect_names(Range range, Names &names) const {
    for (Index i = range.begin; i < range.end; ++i)
        if (source_[i].is_identifier() && !source_[i - 1].is(".") && !source_[i - 1].is("->"))
            names.insert(source_[i].text);
}

bool FunctionSync::mentions_shared(Range range) const {
    for (Index i = range.begin; i < range.end; ++i)
        if (source_[i].is_identifier() && shared_.contains(source_[i].text)) return true;
    return false;
}

// What a statement or the head of one declares: `T a = 1, *b;`, `for (T x : values)`. `is_variable` says what is
// known by then: `a * b` multiplies if `a` is one, and `f(a)` calls.
std::vector<Declarator> FunctionSync::declared_in(Range range,
                                                  const std::function<bool(std::string_view)> &is_variable) const {
    std::vector<Declarator> found;
    for (Index begin = range.begin, end = begin; begin < range.end; begin = ++end) {
        while (end < range.end && !source_[end].is(";"))
            end = source_[end].kind == TokenKind::punctuator && is_open(source_[end])
                      ? source_.skip_group(end, range.end)
                      : end + 1;
        Specifiers specifiers;
        Index i = read_specifiers(source_, begin, end, specifiers);
        if (!specifiers.typed || specifiers.alias || begins_no_declaration(source_[begin]) ||
            is_variable(source_[begin].text))
            continue;
        // A condition declares only what it gives a value.
        const bool condition = begin > range.begin || (end == range.end && source_[end].is(")"));
        while (i < end) {
            Declarator declarator;
            declarator.begin = i;
            declarator.end = i = read_declarator(source_, i, end, declarator);
            const Index name = declarator.name;
            if (name == 0) break;
            const bool enclosed = source_[declarator.begin].is("(");
            if (enclosed && (!source_[name + 1].is(")") || is_variable(source_[name].text))) break;
            Index behind = name + 1 + enclosed;
            for (Index past = behind; behind < end; behind = past) {
                past = source_[behind].is("[") ? source_.skip_group(behind, end) : past_attribute(source_, behind, end);
                if (past == behind) break;
            }
            const bool valued = behind < end && (source_[behind].is("=") || source_[behind].is("{") ||
                                                 source_[behind].is("(") || source_[behind].is(":"));
            const bool plain = !enclosed && (behind >= end || source_[behind].is(","));
            if (!valued && (!plain || condition)) break;
            found.push_back(std::move(declarator));
            if (i < end && source_[i].is(",")) ++i;
        }
    }
    return found;
}

// A call of the function that is named at `name`; its parenthesis.
bool FunctionSync::is_call(Index name, Index end, Index &open) const {
    if (!source_[name].is_identifier() || name + 1 >= end) return false;
    open = name + 1;
    if (source_[open].is("<") && source_.may_open_arguments(open)) {
        const auto past = source_.skip_angles(open, end);
        if (!past || *past >= end) return false;
        open = *past;
    }
    return source_[open].is("(");
}

// Behind the attributes of a statement: `[[likely]] { ... }`.
Index FunctionSync::past_attributes(Index i, Index end) const {
    while (i < end && source_.opens_attribute(i)) i = source_.skip_group(i, end);
    return i;
}

// Past `case value:` or `default:`; `i` if neither begins there.
Index FunctionSync::past_label(Index i, Index end) const {
    if (i >= end || (!source_[i].is("case") && !source_[i].is("default"))) return i;
    std::size_t choices = 0;
    Index colon = i + 1;
    for (; colon < end; colon = source_.skip_part(colon, end)) {
        choices += source_[colon].is("?");
        if (source_[colon].is(";") || source_[colon].is("}") || (source_[colon].is(":") && choices-- == 0)) break;
    }
    return colon < end && source_[colon].is(":") ? colon + 1 : i;
}

// The call makes lanes wait for each other.
bool FunctionSync::meets(Index call) const {
    const std::string_view name = source_[call].text;
    return name.starts_with("simd_") || name.starts_with("quad_") || name == "threadgroup_barrier" ||
           name == "simdgroup_barrier" || meeting_.contains(name);
}

}  // namespace smtl::msl
