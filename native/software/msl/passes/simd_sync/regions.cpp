// Where the lanes of a SIMD-group part and come together again. On a GPU the lanes that leave a branch or a loop wait
// for the others, and a lane's variables can be read while it is inactive. So each statement that lanes do not execute
// alike, and in which SIMD-group or quad-group functions stand, becomes a region (include/smtl/region.h), and shuffles
// name the variable that they take. What all lanes execute alike stays as it is.
#include <algorithm>
#include <tuple>

#include "function_sync.h"
#include "msl/source/attributes.h"
#include "uniformity.h"

namespace smtl::msl {

struct FunctionSync::Regions {
    enum class Kind {
        statement,
        expression,
        turn,
        turn_in_expression
    };
    struct Region {
        Range range;
        Kind kind = Kind::statement;  // a turn is a branch that waits for the lanes in the branches before it
    };
    // What stands between brackets, commas and assignments.
    struct Piece {
        Index begin = 0, choice = 0, last = 0;  // the first and the last `?`, `&&` and `||`; 0: none
        bool conditional = false;               // with `?`
        std::size_t open = 0;                   // `?` without its `:`
        std::vector<Index> operands = {};       // where those begin that not all lanes may come to
    };
    struct Operand {
        Range range;
        std::vector<ShuffledVariable> variables;
    };
    using Names = std::map<std::string_view, Index, std::less<>>;  // where they are declared; 0: what cannot be shown

    FunctionSync &function;
    Source &source = function.source_;
    std::vector<Index> calls;  // of lane functions
    Uniformity uniformity;
    std::set<Index> diverging_loops, diverging_continues;
    bool returns = false;  // lanes apart
    bool editing = false;
    std::vector<Index> loops;  // and switches
    std::map<Index, Index> switch_ends;
    std::vector<bool> switches;  // whether lanes part there, and talk
    std::vector<Names> scopes;
    std::vector<Region> regions;
    std::vector<Operand> operands;
    std::size_t depth = 0;

    explicit Regions(FunctionSync &sync) : function(sync), uniformity(sync) {}

    bool talks(Range range) const {
        if (function.lanes_.anything_talks) return !range.empty();
        const auto call = std::lower_bound(calls.begin(), calls.end(), range.begin);
        return call != calls.end() && *call < range.end;
    }

    void find_calls() {
        for (Index i = function.body_.begin, open = 0; i < function.body_.end; ++i) {
            const std::string_view name = source[i].text;
            if (!is_lane_function(name) && !function.lanes_.talking.contains(name)) continue;
            // A `<` that compares, among a template's arguments, hides where these end.
            if (function.is_call(i, function.body_.end, open) || source[i + 1].is("<")) calls.push_back(i);
        }
    }

    bool is_lambda(Index i) const { return function.lanes_.lambdas.contains(i); }

    // Each part of an expression in which lanes choose what they compute, with lane functions in what they choose, is a
    // region.
    void find_choices(Range range) {
        std::vector<Piece> pieces = {{.begin = range.begin}};
        const auto finish = [&](Index end) {
            const Piece &piece = pieces.back();
            if (piece.choice == 0 || !talks({piece.choice, end}) || !uniformity.diverges({piece.begin, piece.last}))
                return;
            // Two parts that call one function must not meet in it.
            for (std::size_t n = 1; n < piece.operands.size(); ++n) {
                const Range operand{piece.operands[n], n + 1 < piece.operands.size() ? piece.operands[n + 1] - 1 : end};
                if (talks({piece.choice, operand.begin}) && talks(operand))
                    regions.push_back({operand, Kind::turn_in_expression});
            }
            regions.push_back({{piece.begin, end}, Kind::expression});
        };
        for (Index i = range.begin; i < range.end; ++i) {
            const Token &token = source[i];
            if (is_lambda(i)) {
                find_choices({i + 1, source.skip_group(i, range.end) - 1});
                const Index open = lambda_body(source, function.lanes_, i, range.end);
                i = std::max(i + 1, source[open].is("{") ? source.skip_group(open, range.end) : open) - 1;
                continue;
            }
            if (token.is("<") && source.may_open_arguments(i)) i = past_arguments(i, range.end) - 1;
            Piece &piece = pieces.back();
            const bool ends = (token.is(",") && piece.open == 0) || token.is(";") ||
                              (token.is(":") && !piece.conditional) || (is_assignment(token) && !piece.conditional);
            if (token.is("(") || token.is("[") || token.is("{")) {
                pieces.push_back({.begin = i + 1});
            } else if ((token.is(")") || token.is("]") || token.is("}")) && pieces.size() > 1) {
                finish(i);
                pieces.pop_back();
            } else if (token.is("?") || token.is("&&") || token.is("||")) {
                if (piece.choice == 0) piece.choice = i;
                piece.last = i;
                piece.conditional = piece.conditional || token.is("?");
                piece.open += token.is("?");
                piece.operands.push_back(i + 1);
            } else if (ends) {
                finish(i);
                pieces.back() = {.begin = i + 1};
            } else if (token.is("return")) {
                piece = {.begin = i + 1};
            } else if (token.is(":")) {
                piece.open -= piece.open > 0;
                piece.operands.push_back(i + 1);
            }
        }
        finish(range.end);
    }

    // Of `f<a, b>(...)`; `open` + 1 if the `<` compares.
    Index past_arguments(Index open, Index end) const {
        constexpr Index longest = 64;
        const auto past = source.skip_angles(open, end);
        if (!past || *past >= end || *past - open > longest ||
            (!source[*past].is("(") && !source[*past].is("{") && !source[*past].is("::")))
            return open + 1;
        for (Index i = open; i < *past; ++i) {
            if (source[i].is("&&") || source[i].is("||") || source[i].is("?")) return open + 1;
        }
        return *past;
    }

    void declare(Range range) {
        const auto is_variable = [&](std::string_view name) {
            return std::any_of(scopes.begin(), scopes.end(), [&](const Names &scope) { return scope.contains(name); });
        };
        for (const Declarator &declarator : function.declared_in(range, is_variable)) {
            const std::string_view name = source[declarator.name].text;
            const bool shown = !declarator.indirect && !declarator.array && !function.shared_.contains(name);
            scopes.back()[name] = shown ? declarator.name : 0;
        }
    }

    void declare_parameters(Range parameters) {
        for (const Range &part : source.split_commas(parameters)) {
            const Declarator declarator = read_parameter(source, part).declarator;
            const bool value =
                !declarator.indirect && !declarator.array && address_space_of(source, part) == AddressSpace::none;
            if (declarator.name != 0) scopes.back()[source[declarator.name].text] = value ? declarator.name : 0;
        }
    }

    void find_operands(Range range) {
        const auto find = [&](std::string_view name) -> std::optional<Index> {
            for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
                if (const auto found = scope->find(name); found != scope->end()) return found->second;
            }
            return std::nullopt;
        };
        for (auto call = std::lower_bound(calls.begin(), calls.end(), range.begin);
             call != calls.end() && *call < range.end; ++call) {
            const std::string_view name = source[*call].text;
            const bool reads = name.find("_shuffle") != std::string_view::npos || name.ends_with("_broadcast");
            const Range operand = reads && is_lane_function(name) ? function.shuffled(*call, range.end) : Range();
            std::vector<ShuffledVariable> variables = function.variables_of(operand, find);
            if (!variables.empty()) operands.push_back({operand, std::move(variables)});
        }
    }

    void simple(Range range, bool apart, bool chooses = true) {
        const Token &first = source[range.begin];
        if (apart && (first.is("break") || first.is("continue") || first.is("return"))) {
            if (first.is("return")) returns = true;
            for (Index loop : loops) {
                if (first.is("return") || loop == loops.back()) diverging_loops.insert(loop);
            }
            const auto around =
                std::find_if(loops.rbegin(), loops.rend(), [&](Index loop) { return !source[loop].is("switch"); });
            if (first.is("continue") && around != loops.rend()) {
                diverging_loops.insert(*around);
                diverging_continues.insert(*around);
            }
        }
        bool lambda = false;
        for (Index i = range.begin; i < range.end; ++i) {
            chooses = chooses && !source[i].is("constexpr") && !source[i].is("static_assert");
            if (!is_lambda(i)) continue;
            lambda = true;
            const Index open = lambda_body(source, function.lanes_, i, range.end);
            if (open >= range.end || !source[open].is("{")) continue;
            if (editing && talks(range)) regions.push_back({{open, source.skip_group(open, range.end)}});
            const Index parameters = source.skip_group(i, range.end);
            scopes.emplace_back();
            if (editing && source[parameters].is("("))
                declare_parameters({parameters + 1, source.skip_group(parameters, range.end) - 1});
            i = std::max(i + 1, block(open, range.end, true)) - 1;
            scopes.pop_back();
        }
        if (!editing) return uniformity.spread(range, apart);
        if (!lambda) find_operands(range);
        if (chooses) find_choices(range);
        declare(range);
    }

    Index block(Index begin, Index end, bool apart) {
        const Index past = source.skip_group(begin, end);
        scopes.emplace_back();
        for (Index i = begin + 1; i + 1 < past;) i = statement(i, past - 1, apart);
        scopes.pop_back();
        return past;
    }

    // Past the statement that begins there; `apart`: not all lanes come to it.
    Index statement(Index begin, Index end, bool apart) {
        if (depth > most_depth) {
            if (editing && talks({begin, end}))
                source.problem(begin, "statements that call SIMD-group functions are nested too deeply: at most " +
                                          std::to_string(most_depth) + " levels");
            return end;
        }
        begin = function.past_attributes(begin, end);
        for (Index past; (past = function.past_label(begin, end)) > begin;) {
            if (editing && !switches.empty() && switches.back()) regions.push_back({{past - 1, past}, Kind::turn});
            begin = function.past_attributes(past, end);
        }
        if (begin >= end) return end;
        ++depth;
        Index past = begin + 1;
        const Token &first = source[begin];
        if (first.is("{")) {
            past = block(begin, end, apart);
        } else if (first.is("if") || first.is("for") || first.is("while") || first.is("do") || first.is("switch")) {
            past = std::max(past, control(begin, end, apart));
        } else if (!first.is(";") && !first.is("else")) {
            past = std::max(past, source.skip_to_semicolon(begin, end));
            simple({begin, source[past - 1].is(";") ? past - 1 : past}, apart);
        }
        --depth;
        return past;
    }

    Index control(Index begin, Index end, bool apart) {
        const std::string_view word = source[begin].text;
        const bool loop = word == "for" || word == "while" || word == "do";
        const std::size_t number = regions.size();
        const bool constant = begin + 1 < end && source[begin + 1].is("constexpr");
        Index i = begin + 1 + constant;
        Range head{i, i};
        const auto read_head = [&] {
            if (i < end && source[i].is("(")) head = {i + 1, source.skip_group(i, end) - 1};
            if (!head.empty()) i = head.end + 1;
        };
        if (word == "do") {
            const Index body_end = i < end && source[i].is("{") ? source.skip_group(i, end) : i;
            if (body_end + 1 < end && source[body_end].is("while"))
                head = {body_end + 2, source.skip_group(body_end + 1, end) - 1};
        } else {
            read_head();
        }
        // Where the body has no braces, the condition is found behind it only.
        const bool unknown = word == "do" && head.empty();
        const bool parts = !constant && (unknown || uniformity.diverges(head) || diverging_loops.contains(begin));
        if (editing) regions.push_back({});
        scopes.emplace_back();
        if (loop || word == "switch") loops.push_back(begin);
        // If no region held the lanes of its cases together, those that waited for a turn would miss what comes next.
        // A body without braces is one statement, which all lanes execute that come to it.
        if (word == "switch")
            switches.push_back(parts && i < end && source[i].is("{") && talks({begin, switch_ends[begin]}));
        if (!head.empty()) simple(head, apart || parts, !constant);
        const Index body = i;
        const std::size_t iteration = regions.size();
        if (editing && loop) regions.push_back({});
        i = i < end ? statement(i, end, apart || parts) : end;
        const Range once{body, i};
        const bool turn = parts && talks(once);
        if (word == "if" && i < end && source[i].is("else")) {
            const std::size_t other = regions.size();
            if (editing && turn) regions.push_back({});
            const Index branch = i + 1;
            i = branch < end ? statement(branch, end, apart || parts) : end;
            if (editing && turn) regions[other] = {{branch, i}, Kind::turn};
        }
        if (word == "do" && i < end && source[i].is("while")) {
            ++i;
            read_head();
            if (unknown && !head.empty()) simple(head, true);
            if (i < end && source[i].is(";")) ++i;
        }
        if (loop || word == "switch") loops.pop_back();
        if (word == "switch") {
            switches.pop_back();
            switch_ends[begin] = i;
        }
        scopes.pop_back();
        if (editing && parts && talks({begin, i})) {
            regions[number].range = {begin, i};
            if (loop && diverging_continues.contains(begin)) regions[iteration] = {once};
        }
        return i;
    }

    // Repeated until nothing new is found, since values go round in loops.
    void walk() {
        constexpr int most = 16;
        for (int pass = 0; pass < most + 2; ++pass) {
            const auto found = [&] {
                return std::tuple(uniformity.diverging(), diverging_loops.size(), diverging_continues.size(), returns);
            };
            const auto before = found();
            scopes.assign(1, {});
            (void)block(function.body_.begin, function.body_.end, false);
            if (found() == before) break;
            if (pass + 1 == most) uniformity.give_up();
        }
        editing = true;
        scopes.assign(1, {});
        declare_parameters(*function.declaration_.parameters);
        if (returns && !function.declaration_.kernel) regions.push_back({function.body_});
        (void)block(function.body_.begin, function.body_.end, false);
    }

    static std::string number(Index declared) { return std::to_string(declared + 1); }

    std::string declaration(Range statement, std::set<Index> &named) const {
        std::set<Index> shown;
        std::string text = " ::smtl::region smtl_region(::smtl::region_site()";
        auto operand = std::lower_bound(operands.begin(), operands.end(), statement.begin,
                                        [](const Operand &a, Index at) { return a.range.begin < at; });
        for (; operand != operands.end() && operand->range.begin < statement.end; ++operand) {
            for (const auto &[name, declared] : operand->variables) {
                if (shown.size() == most_shown) break;
                if (declared >= statement.begin || !shown.insert(declared).second) continue;
                named.insert(declared);
                text += ", ::smtl::show<" + number(declared) + ">(" + std::string(name) + ")";
            }
        }
        return text + ");";
    }

    void edit() {
        std::sort(operands.begin(), operands.end(),
                  [](const Operand &a, const Operand &b) { return a.range.begin < b.range.begin; });
        std::set<Index> named;
        for (const Region &region : regions) {
            if (region.range.empty()) continue;
            const Range range = region.range;
            if (region.kind == Kind::turn_in_expression) {
                function.write_around(range, " (::smtl::take_turn(),", ")");
                continue;
            }
            const std::string text = region.kind == Kind::turn ? " ::smtl::take_turn();" : declaration(range, named);
            if (region.kind == Kind::expression) {
                function.write_around(range, " ({" + text, "; })");
            } else if (source[range.begin].is("{") || source[range.begin].is(":")) {
                function.write_around({range.begin + 1, function.body_.end}, text, "");
            } else {
                function.write_around(range, " {" + text, " }");
            }
        }
        for (const Operand &operand : operands) {
            const auto is_named = [&](const ShuffledVariable &variable) { return named.contains(variable.declared); };
            if (std::all_of(operand.variables.begin(), operand.variables.end(), is_named)) write_operand(operand);
        }
    }

    // The function has its parameters from the variables, so it means those of whichever lane it is called for.
    void write_operand(const Operand &operand) {
        std::string numbers, parameters, arguments;
        for (const auto &[name, declared] : operand.variables) {
            const std::string comma = numbers.empty() ? "" : ", ";
            numbers += comma + number(declared);
            parameters.append(comma + "auto ").append(name), arguments.append(", ").append(name);
        }
        const bool plain = operand.range.end == operand.range.begin + 1;
        function.write_around(operand.range,
                              plain ? "::smtl::named<" + numbers + ">("
                                    : "::smtl::computed<" + numbers + ">([&](" + parameters + ") { return ",
                              plain ? ")" : "; }" + arguments + ")");
    }

    static constexpr std::size_t most_depth = 256, most_shown = 64;  // what is shown lies on the stack
};

void FunctionSync::join_lanes() {
    Regions regions(*this);
    regions.find_calls();
    bool evaluated = false;
    for (Index i = declaration_.begin; i < declaration_.head_end; ++i)
        evaluated = evaluated || source_[i].is("constexpr");
    if (regions.calls.empty() && (evaluated || !lanes_.anything_talks)) return;
    regions.walk();
    regions.edit();
}

}  // namespace smtl::msl
