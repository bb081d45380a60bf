// Where the lanes of a SIMD-group part and come together again. On a GPU the lanes that leave a branch or a loop wait
// for the others, and a lane's variables can be read while it is inactive. So each branch and each loop in which
// SIMD-group or quad-group functions stand becomes a region (include/smtl/region.h), and shuffles name the variable
// that they take. Which lanes take a branch is known when they run: where all take it, the region costs one more
// meeting.
#include <algorithm>

#include "msl/source/attributes.h"
#include "regions.h"

namespace smtl::msl {

bool FunctionSync::Regions::talks(Range range) const {
    if (function.lanes_.anything_talks) return !range.empty();
    const auto call = std::lower_bound(calls.begin(), calls.end(), range.begin);
    return call != calls.end() && *call < range.end;
}

void FunctionSync::Regions::find_calls() {
    for (Index i = function.body_.begin, open = 0; i < function.body_.end; ++i) {
        if (function.lanes_.calls_talk && is_call_of_value(source, i, function.lanes_)) calls.push_back(i);
        const std::string_view name = source[i].text;
        if (!is_lane_function(name) && !function.lanes_.talking.contains(name)) continue;
        // A `<` that compares, among a template's arguments, hides where these end.
        if (function.is_call(i, function.body_.end, open) || source[i + 1].is("<")) calls.push_back(i);
    }
}

bool FunctionSync::Regions::is_variable(std::string_view name) const {
    return std::any_of(scopes.begin(), scopes.end(), [&](const Names &scope) { return scope.contains(name); });
}

void FunctionSync::Regions::declare(const std::vector<Declarator> &declarators) {
    for (const Declarator &declarator : declarators) {
        const std::string_view name = source[declarator.name].text;
        const bool shown = !declarator.indirect && !declarator.array && !function.shared_.contains(name);
        scopes.back()[name] = shown ? declarator.name : 0;
    }
}

void FunctionSync::Regions::declare_parameters(Range parameters) {
    for (const Range &part : source.split_commas(parameters)) {
        const Declarator declarator = read_parameter(source, part).declarator;
        const bool value =
            !declarator.indirect && !declarator.array && address_space_of(source, part) == AddressSpace::none;
        if (declarator.name != 0) scopes.back()[source[declarator.name].text] = value ? declarator.name : 0;
    }
}

void FunctionSync::Regions::find_operands(Range range) {
    const auto find = [&](std::string_view name) -> std::optional<Index> {
        for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
            if (const auto found = scope->find(name); found != scope->end()) return found->second;
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

void FunctionSync::Regions::simple(Range range, bool apart, bool chooses) {
    const Token &first = source[range.begin];
    returns = returns || (apart && first.is("return"));
    if (apart && first.is("continue")) {
        const auto loop = std::find_if(around.rbegin(), around.rend(), [](const Breakable &one) { return one.loop; });
        if (loop != around.rend()) loop->continues = true;
    }
    bool lambda = false;
    for (Index i = range.begin; i < range.end; ++i) {
        for (const char *word : {"constexpr", "static_assert", "typedef", "using"})
            chooses = chooses && !source[i].is(word);
        if (!is_lambda(i)) continue;
        lambda = true;
        const Index open = lambda_body(source, function.lanes_, i, range.end);
        if (open >= range.end || !source[open].is("{")) continue;
        if (talks(range)) regions.push_back({{open, source.skip_group(open, range.end)}});
        const Index parameters = source.skip_group(i, range.end);
        scopes.emplace_back();
        if (source[parameters].is("("))
            declare_parameters({parameters + 1, source.skip_group(parameters, range.end) - 1});
        i = std::max(i + 1, block(open, range.end, true)) - 1;
        scopes.pop_back();
    }
    if (!lambda) find_operands(range);
    const std::vector<Declarator> declarators =
        function.declared_in(range, [&](std::string_view name) { return is_variable(name); });
    if (chooses) find_choices(range, declared_names(range, declarators));
    declare(declarators);
}

Index FunctionSync::Regions::block(Index begin, Index end, bool apart) {
    const Index past = source.skip_group(begin, end);
    scopes.emplace_back();
    for (Index i = begin + 1; i + 1 < past;) i = statement(i, past - 1, apart);
    scopes.pop_back();
    return past;
}

// Past the statement that begins there; `apart`: not all lanes come to it.
Index FunctionSync::Regions::statement(Index begin, Index end, bool apart) {
    if (depth > most_depth) {
        if (talks({begin, end}))
            source.problem(begin, "statements that call SIMD-group functions are nested too deeply: at most " +
                                      std::to_string(most_depth) + " levels");
        return end;
    }
    begin = function.past_attributes(begin, end);
    for (Index past; (past = function.past_label(begin, end)) > begin;) {
        if (!entries.empty() && (source[begin].is("case") || source[begin].is("default"))) entries.back().own = begin;
        if (!around.empty() && around.back().turns) regions.push_back({{past - 1, past}, Kind::turn});
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

// A region holds lanes from its beginning on, and those that jump into it would pass that by.
void FunctionSync::Regions::leave_entries(bool choice, bool has_region) {
    const Entries left = entries.back();
    entries.pop_back();
    const Index label = choice ? left.inner : std::max(left.own, left.inner);
    if (label == 0) return;
    if (has_region)
        source.problem(label, "SIMD-group functions are called in this 'switch': its labels cannot stand inside of a "
                              "loop or branch");
    else if (!choice && !entries.empty())
        entries.back().inner = label;
}

Index FunctionSync::Regions::control(Index begin, Index end, bool apart) {
    const std::string_view word = source[begin].text;
    const bool choice = word == "switch", loop = !choice && word != "if";
    const bool constant = begin + 1 < end && source[begin + 1].is("constexpr");
    Index i = begin + 1 + constant;
    // Found before those within, which stand behind them.
    const std::size_t number = regions.size(), iteration = number + 1;
    regions.resize(number + 2);
    scopes.emplace_back();
    entries.emplace_back();
    Range head{i, i};
    const auto read_head = [&] {
        if (i < end && source[i].is("(")) head = {i + 1, source.skip_group(i, end) - 1};
        if (head.empty()) return;
        i = head.end + 1;
    };
    if (word != "do") read_head();
    const bool parts = !constant && (loop || !is_constant(head));
    if (!head.empty()) simple(head, apart || parts, !constant);
    // If no region held the lanes of its cases together, those that waited for a turn would miss what comes next.
    // A body without braces is one statement, which all lanes execute that come to it.
    if (loop || choice) {
        const bool turns = choice && parts && i < end && source[i].is("{") && talks({begin, source.skip_group(i, end)});
        around.push_back({.loop = loop, .turns = turns});
    }
    Range body{i, i < end ? statement(i, end, apart || parts) : end};
    i = body.end;
    if (loop && around.back().continues && parts && talks(body)) regions[iteration] = {body};
    if (loop || choice) around.pop_back();
    if (word == "if" && i < end && source[i].is("else")) {
        const bool turn = parts && talks(body);
        const std::size_t other = regions.size();
        if (turn) regions.push_back({});
        const Index branch = i + 1;
        i = branch < end ? statement(branch, end, apart || parts) : end;
        if (turn) regions[other] = {{branch, i}, Kind::turn};
    }
    if (word == "do" && i < end && source[i].is("while")) {
        ++i;
        read_head();
        if (!head.empty()) simple(head, true);
        if (i < end && source[i].is(";")) ++i;
    }
    scopes.pop_back();
    const bool last = depth == 1 && function.declaration_.kernel && i + 1 == function.body_.end;
    if (parts && talks({begin, i})) regions[number] = {{begin, i}, last ? Kind::last_statement : Kind::statement};
    leave_entries(choice, !regions[number].range.empty() || !regions[iteration].range.empty());
    return i;
}

void FunctionSync::Regions::walk() {
    scopes.assign(1, {});
    declare_parameters(*function.declaration_.parameters);
    regions.push_back({});
    (void)block(function.body_.begin, function.body_.end, false);
    if (returns && !function.declaration_.kernel) regions.front().range = function.body_;
}

std::string FunctionSync::Regions::declaration(const Region &region, std::set<Index> &named) const {
    const Range statement = region.range;
    std::set<Index> shown;
    std::string variables;
    auto operand = std::lower_bound(operands.begin(), operands.end(), statement.begin,
                                    [](const Operand &a, Index at) { return a.range.begin < at; });
    for (; operand != operands.end() && operand->range.begin < statement.end; ++operand) {
        for (const auto &[name, declared] : operand->variables) {
            if (shown.size() == most_shown) break;
            if (declared >= statement.begin || !shown.insert(declared).second) continue;
            named.insert(declared);
            variables += ", ::smtl::show<" + number(declared) + ">(" + std::string(name) + ")";
        }
    }
    if (!variables.empty()) return " ::smtl::region smtl_region(::smtl::region_site()" + variables + ");";
    return region.kind == Kind::last_statement ? " ::smtl::last_region smtl_region;" : " ::smtl::region<> smtl_region;";
}

void FunctionSync::Regions::edit() {
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
        const std::string text = region.kind == Kind::turn ? " ::smtl::take_turn();" : declaration(region, named);
        if (region.kind == Kind::expression)
            function.write_around(range, " ({" + text, "; })");
        else if (source[range.begin].is("{") || source[range.begin].is(":"))
            function.write_around({range.begin + 1, function.body_.end}, text, "");
        else
            function.write_around(range, " {" + text, " }");
    }
    for (const Operand &operand : operands) {
        const auto is_named = [&](const ShuffledVariable &variable) { return named.contains(variable.declared); };
        if (std::all_of(operand.variables.begin(), operand.variables.end(), is_named)) write_operand(operand);
    }
}

// The function has its parameters from the variables, so it means those of whichever lane it is called for. It is not
// generic: clang finds no operator for some components of a parameter whose type is deduced (components.h).
void FunctionSync::Regions::write_operand(const Operand &operand) {
    std::string numbers, parameters, arguments;
    for (const auto &[name, declared] : operand.variables) {
        const std::string comma = numbers.empty() ? "" : ", ";
        numbers += comma + number(declared);
        parameters.append(comma + "decltype(::smtl::by_value(").append(name).append(")) ").append(name);
        arguments.append(", ").append(name);
    }
    const bool plain = operand.range.end == operand.range.begin + 1;
    function.write_around(operand.range,
                          plain ? "::smtl::named<" + numbers + ">("
                                : "::smtl::computed<" + numbers + ">([&](" + parameters + ") { return ",
                          plain ? ")" : "; }" + arguments + ")");
}

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
