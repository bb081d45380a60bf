// Where the lanes of a SIMD-group part and come together again. On a GPU the lanes that leave a branch or a loop wait for the
// others, and a lane's variables can be read while it is inactive. So each statement that lanes do not execute alike, and in
// which SIMD-group or quad-group functions stand, becomes a region (include/smtl/region.h), and shuffles name the variable
// that they take. What all lanes execute alike stays as it is.
#include <algorithm>

#include "lockstep.h"

namespace smtl::msl {

struct Translator::Lockstep::Regions {
    struct Region {
        Range statement;
        bool turn = false;  // not a region, but a branch that waits until lanes in those before it have left them
    };
    struct Operand {
        Index at = 0, declared = 0;
    };
    using Names = std::map<std::string_view, Index, std::less<>>;  // where they are declared; 0: what cannot be shown

    Lockstep &function;
    std::vector<Token> &tokens = function.tokens_;
    std::vector<Index> calls;  // of lane functions
    std::set<std::string_view, std::less<>> diverging;
    std::set<Index> diverging_loops, diverging_continues;
    bool returns = false;  // lanes apart
    bool editing = false;
    std::vector<Index> loops;     // and switches
    std::vector<bool> switches;   // whether lanes part there
    std::vector<Names> scopes;
    std::vector<Region> regions;
    std::vector<Operand> operands;
    std::size_t depth = 0;

    explicit Regions(Lockstep &lockstep) : function(lockstep), diverging(lockstep.lane_values_) {}

    bool talks(Range range) const {
        const auto call = std::lower_bound(calls.begin(), calls.end(), range.begin);
        return call != calls.end() && *call < range.end;
    }

    bool diverges(Range range) const {
        if (function.mentions(range, diverging) || function.mentions_shared(range)) return true;
        for (auto call = std::lower_bound(calls.begin(), calls.end(), range.begin); call != calls.end() && *call < range.end; ++call) {
            const std::string_view name = tokens[*call].text;
            if (!name.starts_with("simd_") || name == "simd_is_first" || name.starts_with("simd_shuffle") || name.starts_with("simd_prefix")) return true;
        }
        return false;
    }

    void find_calls() {
        for (Index i = function.body_.begin, open = 0; i < function.body_.end; ++i) {
            if (!function.is_call(i, function.body_.end, open)) continue;
            const std::string_view name = tokens[i].text;
            if (name.starts_with("simd_") || name.starts_with("quad_") || function.translator_.lane_functions_.contains(name)) calls.push_back(i);
        }
    }

    // The variable whose part is assigned to.
    Index assigned(Index operation) const {
        Index i = operation;
        for (Index steps = 0; i > function.body_.begin + 1 && steps < longest_place; ++steps) {
            --i;
            if (tokens[i].is("]")) {
                for (Index open = 1; open > 0 && i > function.body_.begin + 1 && steps < longest_place; ++steps) {
                    --i;
                    open += tokens[i].is("]");
                    open -= tokens[i].is("[");
                }
            } else if (tokens[i].is_identifier() && (tokens[i - 1].is(".") || tokens[i - 1].is("->"))) {
                --i;
            } else {
                break;
            }
        }
        return i;
    }

    void spread(Range range, bool apart) {
        for (Index i = range.begin; i < range.end; ++i) {
            const bool counts = tokens[i].is("++") || tokens[i].is("--");
            if (counts && apart) {
                diverging.insert(tokens[assigned(i)].text);
                if (i + 1 < range.end && tokens[i + 1].is_identifier()) diverging.insert(tokens[i + 1].text);
            }
            if (!is_assignment(tokens[i])) continue;
            if (apart || diverges({i + 1, function.value_end(i + 1, range.end)})) diverging.insert(tokens[assigned(i)].text);
        }
        std::erase_if(diverging, [](std::string_view name) { return name.empty(); });
    }

    void declare(Range range) {
        static const std::set<std::string_view> words = {"return", "else", "goto", "case", "new", "delete", "throw", "using", "typename", "struct", "sizeof"};
        bool declares = false;
        for (Index i = range.begin + 1; i < range.end; ++i) {
            if (tokens[i].is("(") || tokens[i].is("[") || tokens[i].is("{")) {
                i = function.translator_.skip_group(i, range.end) - 1;
                continue;
            }
            if (!tokens[i].is_identifier()) continue;
            const Token &before = tokens[i - 1];
            const bool indirect = before.is("*") || before.is("&");
            const bool typed = (before.is_identifier() && !words.contains(before.text)) || before.is(">") || indirect;
            if (!typed && !(declares && before.is(","))) continue;
            const bool array = i + 1 < range.end && tokens[i + 1].is("[");
            if (i + 1 < range.end && !array && !tokens[i + 1].is("=") && !tokens[i + 1].is(",") && !tokens[i + 1].is("(") && !tokens[i + 1].is("{") && !tokens[i + 1].is(":")) continue;
            declares = true;
            scopes.back()[tokens[i].text] = indirect || array || function.shared_.contains(tokens[i].text) ? 0 : i;
        }
    }

    void declare_parameters() {
        for (const Range &part : function.translator_.split_commas(*function.declaration_.parameters)) {
            Index name = part.end;
            bool value = function.translator_.address_space_of(part) == AddressSpace::none;
            for (Index i = part.begin; i < part.end && !tokens[i].is("[") && !tokens[i].is("="); ++i) {
                if (tokens[i].is_identifier()) name = i;
                value = value && !tokens[i].is("*") && !tokens[i].is("&");
            }
            if (name < part.end) scopes.back()[tokens[name].text] = value ? name : 0;
        }
    }

    void find_operands(Range range) {
        for (auto call = std::lower_bound(calls.begin(), calls.end(), range.begin); call != calls.end() && *call < range.end; ++call) {
            const std::string_view name = tokens[*call].text;
            const bool reads = name.find("_shuffle") != std::string_view::npos || name.ends_with("_broadcast");
            if (!reads || !tokens[*call + 1].is("(") || !tokens[*call + 2].is_identifier() || !tokens[*call + 3].is(",")) continue;
            for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
                const auto found = scope->find(tokens[*call + 2].text);
                if (found == scope->end()) continue;
                if (found->second != 0) operands.push_back({*call + 2, found->second});
                break;
            }
        }
    }

    void simple(Range range, bool apart) {
        const Token &first = tokens[range.begin];
        if (apart && (first.is("break") || first.is("continue") || first.is("return"))) {
            if (first.is("return")) returns = true;
            for (Index loop : loops) {
                if (first.is("return") || loop == loops.back()) diverging_loops.insert(loop);
            }
            const auto around = std::find_if(loops.rbegin(), loops.rend(), [&](Index loop) { return !tokens[loop].is("switch"); });
            if (first.is("continue") && around != loops.rend()) {
                diverging_loops.insert(*around);
                diverging_continues.insert(*around);
            }
        }
        if (!editing) return spread(range, apart);
        if (std::none_of(tokens.begin() + std::ptrdiff_t(range.begin), tokens.begin() + std::ptrdiff_t(range.end), [](const Token &token) { return token.is("{"); })) find_operands(range);
        declare(range);
    }

    Index block(Index begin, Index end, bool apart) {
        const Index past = function.translator_.skip_group(begin, end);
        scopes.emplace_back();
        for (Index i = begin + 1; i + 1 < past;) i = statement(i, past - 1, apart);
        scopes.pop_back();
        return past;
    }

    // Past the statement that begins there; `apart`: not all lanes come to it.
    Index statement(Index begin, Index end, bool apart) {
        if (depth > most_depth) return end;
        ++depth;
        Index past = begin + 1;
        const Token &first = tokens[begin];
        if (first.is("{")) {
            past = block(begin, end, apart);
        } else if (first.is("if") || first.is("for") || first.is("while") || first.is("do") || first.is("switch")) {
            past = std::max(past, control(begin, end, apart));
        } else if (first.is("case") || first.is("default")) {
            while (past < end && !tokens[past].is(":") && !tokens[past].is(";") && !tokens[past].is("}")) ++past;
            if (editing && past < end && tokens[past].is(":") && !switches.empty() && switches.back()) regions.push_back({{past, past + 1}, true});
        } else if (!first.is(";") && !first.is("else") && !first.is(":")) {
            past = std::max(past, function.translator_.skip_to_semicolon(begin, end));
            simple({begin, tokens[past - 1].is(";") ? past - 1 : past}, apart);
        }
        --depth;
        return past;
    }

    Index control(Index begin, Index end, bool apart) {
        const std::string_view word = tokens[begin].text;
        const bool loop = word == "for" || word == "while" || word == "do";
        const std::size_t number = regions.size();
        Index i = begin + 1;
        bool constant = false;
        if (i < end && tokens[i].is("constexpr")) {
            constant = true;
            ++i;
        }
        Range head{i, i};
        const auto read_head = [&] {
            if (i < end && tokens[i].is("(")) head = {i + 1, function.translator_.skip_group(i, end) - 1};
            if (!head.empty()) i = head.end + 1;
        };
        if (word == "do") {
            const Index body_end = i < end && tokens[i].is("{") ? function.translator_.skip_group(i, end) : i;
            if (body_end + 1 < end && tokens[body_end].is("while")) head = {body_end + 2, function.translator_.skip_group(body_end + 1, end) - 1};
        } else {
            read_head();
        }
        const bool parts = !constant && (diverges(head) || (loop && diverging_loops.contains(begin)));
        if (editing) regions.push_back({});
        scopes.emplace_back();
        if (loop || word == "switch") loops.push_back(begin);
        if (word == "switch") switches.push_back(parts);
        if (!head.empty()) simple(head, apart || parts);
        const Index body = i;
        const std::size_t iteration = regions.size();
        if (editing && loop) regions.push_back({});
        i = i < end ? statement(i, end, apart || parts) : end;
        const Range once{body, i};
        const bool turn = parts && talks(once);
        if (word == "if" && i < end && tokens[i].is("else")) {
            const std::size_t other = regions.size();
            if (editing && turn) regions.push_back({});
            const Index branch = i + 1;
            i = branch < end ? statement(branch, end, apart || parts) : end;
            if (editing && turn) regions[other] = {{branch, i}, true};
        }
        if (word == "do" && i < end && tokens[i].is("while")) {
            ++i;
            read_head();
            if (i < end && tokens[i].is(";")) ++i;
        }
        if (loop || word == "switch") loops.pop_back();
        if (word == "switch") switches.pop_back();
        scopes.pop_back();
        if (editing && parts && talks({begin, i})) {
            regions[number].statement = {begin, i};
            if (loop && diverging_continues.contains(begin)) regions[iteration] = {once};
        }
        return i;
    }

    void walk() {
        for (int pass = 0; pass < 4; ++pass) {
            editing = pass == 3;
            scopes.assign(1, {});
            if (editing) {
                declare_parameters();
                if (returns && !function.declaration_.kernel) regions.push_back({function.body_});
            }
            (void)block(function.body_.begin, function.body_.end, false);
        }
    }

    static std::string number(Index declared) { return std::to_string(declared + 1); }

    std::string declaration(Range statement, std::set<Index> &named) const {
        std::set<Index> shown;
        std::string text = " ::smtl::region smtl_region(::smtl::region_site()";
        auto operand = std::lower_bound(operands.begin(), operands.end(), statement.begin, [](const Operand &a, Index at) { return a.at < at; });
        for (; operand != operands.end() && operand->at < statement.end; ++operand) {
            if (shown.size() == most_shown) break;
            if (operand->declared >= statement.begin || !shown.insert(operand->declared).second) continue;
            named.insert(operand->declared);
            text += ", ::smtl::show<" + number(operand->declared) + ">(" + std::string(tokens[operand->at].text) + ")";
        }
        return text + ");";
    }

    void edit() {
        std::sort(operands.begin(), operands.end(), [](const Operand &a, const Operand &b) { return a.at < b.at; });
        std::set<Index> named;
        for (const Region &region : regions) {
            if (region.statement.empty()) continue;
            const Range statement = region.statement;
            const std::string text = region.turn ? " ::smtl::take_turn();" : declaration(statement, named);
            if (tokens[statement.begin].is("{") || tokens[statement.begin].is(":")) {
                tokens[statement.begin].appended += text;
            } else {
                tokens[statement.begin - 1].appended += " {" + text;
                tokens[statement.end - 1].appended += " }";
            }
        }
        for (const Operand &operand : operands) {
            if (!named.contains(operand.declared)) continue;
            tokens[operand.at - 1].appended += "::smtl::named<" + number(operand.declared) + ">(";
            tokens[operand.at].appended += ")";
        }
    }

    static constexpr std::size_t most_depth = 128;
    static constexpr Index longest_place = 1 << 8;
    static constexpr std::size_t most_shown = 64;  // they lie on the stack
};

void Translator::Lockstep::join_lanes() {
    Regions regions(*this);
    regions.find_calls();
    if (regions.calls.empty()) return;
    translator_.lane_functions_.insert(function_);
    regions.walk();
    regions.edit();
}

}  // namespace smtl::msl
