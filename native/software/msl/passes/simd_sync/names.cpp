// What a function's names stand for: memory that lanes share, and values that differ from lane to lane.
#include <algorithm>

#include "simd_sync.h"

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

bool is_shared_space(const Token &token) { return token.is("threadgroup") || token.is("device"); }

}  // namespace

// `threadgroup float *p`, `threadgroup float tile[32]`, `device float &x`, with further declarators in the same
// statement where these are no parameters. Casts declare nothing.
void Translator::Lockstep::find_shared(Range range, bool parameters) {
    for (auto variable = translator_.shared_variables_.lower_bound(range.begin);
         variable != translator_.shared_variables_.end() && variable->first < range.end; ++variable) {
        const auto &[name, array] = *variable;
        declared_.insert(name);
        shared_[tokens_[name].text] = {.threadgroup = true, .object = !array};
    }
    for (Index i = range.begin; i < range.end; ++i) {
        if (!is_shared_space(tokens_[i])) continue;
        const bool threadgroup = tokens_[i].is("threadgroup");
        bool indirect = false, pointer = false, reference = false;
        Index words = 0, name = 0;
        for (Index j = i + 1; j < range.end && !is_shared_space(tokens_[j]);) {
            const Token &token = tokens_[j];
            if (token.is("*") || token.is("&")) {
                indirect = true;
                pointer = pointer || token.is("*");
                name = 0;
            } else if (token.is("<") && name != 0) {
                const auto past = translator_.skip_angles(j, range.end);
                if (!past) break;
                j = *past;
                continue;
            } else if (token.is("(") && j + 3 < range.end && tokens_[j + 1].is("&") && tokens_[j + 2].is_identifier() &&
                       tokens_[j + 3].is(")")) {
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
        for (Index end = name + 1;; ++name, end = name + 1) {
            const bool array = tokens_[end].is("[") && !translator_.opens_attribute(end);
            declared_.insert(name);
            // An array of pointers is a thread's own.
            if (!array || !pointer || reference) shared_[tokens_[name].text] = {threadgroup, !pointer && !array};
            while (end < range.end && !is_shared_space(tokens_[end]) && !tokens_[end].is(",") &&
                   !tokens_[end].is(";") && !tokens_[end].is(")") && !tokens_[end].is("=")) {
                end = tokens_[end].is("[") ? translator_.skip_group(end, range.end) : end + 1;
            }
            name = end;
            if (parameters || end + 1 >= range.end || !tokens_[end].is(",") || !tokens_[end + 1].is_identifier() ||
                is_shared_space(tokens_[end + 1]))
                break;
        }
    }
}

// Of a kernel's parameters those that tell threads apart; of other functions' all that may: any value may be an index,
// and what is in device memory may be the thread's own.
void Translator::Lockstep::find_lane_values(const Declaration &declaration) {
    for (const Range &part : translator_.split_commas(*declaration.parameters)) {
        const AddressSpace space = translator_.address_space_of(part);
        bool lane = !declaration.kernel && (space == AddressSpace::none || space == AddressSpace::device);
        for (const Attribute &attribute : translator_.attributes_in(part))
            lane = lane || is_lane_attribute(attribute.name);
        if (!lane) continue;
        Index name = part.end;
        for (Index i = part.begin; i < part.end && !tokens_[i].is("[") && !tokens_[i].is("="); ++i) {
            if (tokens_[i].is_identifier()) name = i;
        }
        if (name < part.end) lane_values_.insert(tokens_[name].text);
    }
    if (lane_values_.empty()) return;
    // What is made of them, twice: loops hand values back.
    spread_lane_values();
    spread_lane_values();
}

void Translator::Lockstep::spread_lane_values() {
    for (Index i = body_.begin + 1; i + 1 < body_.end; ++i) {
        if (!tokens_[i].is_identifier() || lane_values_.contains(tokens_[i].text)) continue;
        const Token &next = tokens_[i + 1];
        const bool constructed =
            (next.is("(") || next.is("{")) && (tokens_[i - 1].is_identifier() || tokens_[i - 1].is(">"));
        if (!is_assignment(next) && !constructed) continue;
        const Index end = constructed ? translator_.skip_group(i + 1, std::min(body_.end, i + longest_value))
                                      : value_end(i + 2, body_.end);
        if (mentions({i + 2, end}, lane_values_)) lane_values_.insert(tokens_[i].text);
    }
}

bool Translator::Lockstep::is_assignment(const Token &token) {
    for (const char *comparison : {"==", "!=", "<=", ">="}) {
        if (token.is(comparison)) return false;
    }
    return token.kind == TokenKind::punctuator && token.text.ends_with('=');
}

bool Translator::Lockstep::mentions(Range range, const std::set<std::string_view, std::less<>> &names) const {
    for (Index i = range.begin; i < range.end; ++i) {
        const bool member = i > 0 && (tokens_[i - 1].is(".") || tokens_[i - 1].is("->"));
        if (!member && tokens_[i].is_identifier() && names.contains(tokens_[i].text)) return true;
    }
    return false;
}

bool Translator::Lockstep::mentions_shared(Range range) const {
    for (Index i = range.begin; i < range.end; ++i) {
        if (tokens_[i].is_identifier() && shared_.contains(tokens_[i].text)) return true;
    }
    return false;
}

// A call of the function that is named at `name`; its parenthesis.
bool Translator::Lockstep::is_call(Index name, Index end, Index &open) const {
    if (!tokens_[name].is_identifier() || name + 1 >= end) return false;
    open = name + 1;
    if (tokens_[open].is("<")) {
        const auto past = translator_.skip_angles(open, end);
        if (!past || *past >= end) return false;
        open = *past;
    }
    return tokens_[open].is("(");
}

// The call makes lanes wait for each other.
bool Translator::Lockstep::meets(Index call) const {
    const std::string_view name = tokens_[call].text;
    return name.starts_with("simd_") || name.starts_with("quad_") || name == "threadgroup_barrier" ||
           name == "simdgroup_barrier" || translator_.meeting_functions_.contains(name);
}

}  // namespace smtl::msl
