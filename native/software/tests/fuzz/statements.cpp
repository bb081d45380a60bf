#include <algorithm>

#include "program.h"

namespace fuzz {

std::string Program::text_of(const Block &block) {
    std::string text;
    for (const Statement &statement : block) text += statement.text;
    return text;
}

Mask Program::run(const Block &block, Mask mask) {
    for (const Statement &statement : block)
        if (mask != 0) mask = statement.run(mask);
    return mask;
}

// A statement draws from a generator of its own, so that the others stay what they are without it.
Block Program::block(unsigned depth, unsigned most, std::uint64_t id, bool keeps_scope) {
    Block made;
    const std::size_t visible = scope_.size();
    for (unsigned i = 0, n = 1 + below(most); i < n; ++i) {
        const std::uint64_t child = id * 1000003 + i + 1, around = std::exchange(id_, child);
        const std::mt19937_64 random = std::exchange(random_, std::mt19937_64(child));
        statements_.push_back(child);
        if (!off_.contains(child)) made.push_back(statement(depth));
        random_ = random;
        id_ = around;
    }
    if (!keeps_scope) scope_.resize(visible);
    return made;
}

Statement Program::statement(unsigned depth) {
    switch (below(depth > 2 ? 11 : 18)) {
    case 0:
    case 1: return declaration();
    case 2:
    case 3:
    case 4: return assignment();
    case 5: return loops_.empty() && function_ == nullptr ? declaration() : leave();
    case 6: return !blocking_ || function_ != nullptr ? assignment() : chance(4) ? vote() : talk();
    case 7: return !uniform_ || !blocking_ ? assignment() : chance(3) ? exchange_structures() : exchange();
    case 8: return function_ == nullptr && !counters_.empty() ? count() : assignment();
    case 9: return structure();
    case 10: return matrix();
    case 11:
    case 12:
    case 13: return branch(depth);
    case 14:
    case 15: return loop(depth);
    case 16: return choose(depth);
    default: return call_with_references();
    }
}

// The words of a declaration in an order that the language allows.
std::string Program::declared(Type type, const std::string &name, const std::string &space, bool constant) {
    std::vector<std::string> words{spell(type)};
    if (!space.empty())
        words.push_back(space);
    else if (chance(6))
        words.push_back("thread");
    if (constant) words.push_back("const");
    if (chance(8)) words.push_back("__attribute__((unused))");
    std::shuffle(words.begin(), words.end(), random_);
    std::string text = pick<std::string>({"", "", "", "", "", "", "[[maybe_unused]] ", "alignas(32) "});
    for (const std::string &word : words) text += word + " ";
    return text + name;
}

Statement Program::declaration() {
    const Type type = any_type();
    Variable made{type, fresh("v"), 0};
    if (chance(4)) {
        // An array, with all its elements.
        made.count = 1u << (1 + below(2));
        made.base = allocate(made.count, false);
        std::vector<Expression> elements;
        std::string text = declared(type, made.name) + "[" + std::to_string(made.count) + "] = {";
        for (unsigned i = 0; i < made.count; ++i) {
            elements.push_back(expression(type, 1));
            text += (i ? ", " : "") + elements.back().text;
        }
        scope_.push_back(made);
        return {text + "};\n", [=, this](Mask mask) {
                    each(mask, [&](unsigned thread) {
                        for (unsigned i = 0; i < made.count; ++i) memory_[made.at(thread, i)] = elements[i].at(thread);
                    });
                    return mask;
                }};
    }
    made.base = allocate(1, false);
    const Expression value = expression(type, 2);
    std::string text;
    switch (below(5)) {
    case 0: text = declared(type, made.name) + "((" + value.text + "));\n"; break;
    case 1: text = declared(type, made.name) + " = " + spell(type) + "(" + value.text + ");\n"; break;
    case 2:
        made.writable = chance(2);
        text = declared(type, made.name, "", !made.writable) + "{" + spell(type) + "(" + value.text + ")};\n";
        break;
    default: text = declared(type, made.name) + " = " + value.text + ";\n";
    }
    scope_.push_back(made);
    if (chance(6)) {
        // Another name for it.
        Variable alias = made;
        const std::string qualifier = made.writable ? "" : "const ";
        alias.name = fresh("r");
        if (chance(2)) {
            text += "thread " + qualifier + spell(type) + " &" + alias.name + " = " + made.name + ";\n";
        } else {
            text += qualifier + "thread " + spell(type) + " *" + alias.name + " = &" + made.name + ";\n";
            alias.name = "(*" + alias.name + ")";
        }
        scope_.push_back(alias);
    }
    return {text, [=, this](Mask mask) {
                each(mask, [&](unsigned thread) { memory_[made.at(thread)] = value.at(thread); });
                return mask;
            }};
}

const Variable *Program::writable() {
    std::vector<const Variable *> found;
    for (const Variable &variable : scope_)
        if (variable.writable) found.push_back(&variable);
    return found.empty() ? nullptr : found[below(unsigned(found.size()))];
}

Statement Program::assignment() {
    const Variable *const chosen = writable();
    if (chosen == nullptr) return declaration();
    const Variable to = *chosen;
    const Type type = to.type;
    Expression index{{Kind::i32, 1}, "", primary, [](unsigned) { return Value{}; }};
    if (to.count > 0) index = small(to.count, 1);
    std::string target = to.text(index.text);
    // Some of its components, in any order.
    std::vector<unsigned> components{0, 1, 2, 3};
    components.resize(type.n);
    if (type.n > 1 && chance(2)) {
        std::shuffle(components.begin(), components.end(), random_);
        components.resize(to.packed ? 1 : 1 + below(type.n));
        const char *const letters = to.packed ? "xyzw" : pick({"xyzw", "rgba"});
        target += components.size() == 1 && chance(3) ? "[" + std::to_string(components[0]) + "]" : "." + [&] {
            std::string name;
            for (const unsigned component : components) name += letters[component];
            return name;
        }();
    }
    const Type part{type.kind, unsigned(components.size())};
    Expression value = expression(part, 2);
    std::string op;
    const bool overflows = part.n == 1 && (is_signed(type.kind) || width(type.kind) < 32);
    if (is_integer(type.kind) && chance(3))
        op = overflows ? pick({"&", "|", "^", "<<", ">>"}) : pick({"+", "-", "*", "&", "|", "^", "<<", ">>"});
    else if (is_float(type.kind) && chance(3))
        op = pick({"+", "-", "*"});
    else if (part.n == 1 && chance(4) && type.kind != Kind::boolean)
        value = expression({any_kind(), 1}, 1);  // converts by itself
    if (op.empty() && part.n == 1 && type.kind != value.type.kind && is_float(type.kind) && is_float(value.type.kind))
        value = converted(value, part);
    const std::string text = target + " " + op + "= " + value.text + ";\n";
    const Kind kind = value.type.kind;
    // Scalars of fewer bits are computed as ints.
    const Kind computed = part.n == 1 && !is_float(type.kind) ? std::max(type.kind, Kind::i32) : type.kind;
    return {text, [=, this](Mask mask) {
                each(mask, [&](unsigned thread) {
                    Value &memory = memory_[to.at(thread, unsigned(index.at(thread)[0]))];
                    const Value given = value.at(thread);
                    for (std::size_t i = 0; i < components.size(); ++i) {
                        Number &number = memory[components[i]];
                        number = op.empty()
                                     ? convert(kind, type.kind, given[i])
                                     : convert(computed, type.kind,
                                               binary(op, computed, convert(type.kind, computed, number),
                                                      op == "<<" || op == ">>" ? given[i]
                                                                               : convert(kind, computed, given[i])));
                    }
                });
                return mask;
            }};
}

Statement Program::branch(unsigned depth) {
    const bool together = uniform_ && chance(3), around = std::exchange(uniform_, together);
    const Expression which = together ? uniform_condition() : condition(2);
    const Block first = block(depth + 1, 3, id_ * 7);
    const Block second = chance(2) ? block(depth + 1, 3, id_ * 11) : Block{};
    uniform_ = around;
    std::string text = "if (" + which.text + ") {\n" + text_of(first) + "}";
    if (!second.empty()) text += " else {\n" + text_of(second) + "}";
    return {text + "\n", [=](Mask mask) {
                Mask taken = 0;
                each(mask, [&](unsigned thread) { taken |= Mask(which.at(thread)[0]) << thread; });
                return run(first, taken) | run(second, mask & ~taken);
            }};
}

Statement Program::loop(unsigned depth) {
    const bool together = uniform_ && blocking_ && chance(2);
    const Expression limit = together ? steadily([&] { return small(4, 1); }) : small(4, 1);
    Variable counter{{pick({Kind::i32, Kind::u32, Kind::i16, Kind::u8}), 1}, fresh("n"), allocate(1, false)};
    counter.writable = false, counter.steady = together;
    Variable end{{Kind::i32, 1}, "", allocate(1, false)};
    scope_.push_back(counter);
    all_loops_.push_back(std::make_unique<Loop>());
    Loop *const state = all_loops_.back().get();
    state->uniform = together;
    loops_.push_back(state);
    const bool around = std::exchange(uniform_, together);
    const Block body = block(depth + 1, 3, id_ * 7);
    uniform_ = around;
    loops_.pop_back();
    scope_.pop_back();
    const std::string name = counter.name, stop = name + "_end", type = counter.type.name(),
                      limit_text = "const int " + stop + " = " + limit.text + ";\n";
    std::string text;
    const unsigned form = below(4);
    switch (form) {
    case 0:
        text = "{\n" + limit_text + type + " " + name + ", next_" + name + " = 0;\ndo {\n" + name + " = next_" + name +
               "++;\n" + text_of(body) + "} while (next_" + name + " < " + type + "(" + stop + "));\n}\n";
        break;
    case 1:
        text = "{\n" + limit_text + type + " " + name + " = 0;\nwhile (" + name + " < " + type + "(" + stop + ")) {\n" +
               type + " next_" + name + " = " + name + "++;\n{ const " + type + " " + name + " = next_" + name + ";\n" +
               text_of(body) + "}\n}\n}\n";
        break;
    default:
        text = "{\n" + limit_text + "for (" + type + " " + name + " = 0; " + name + " < " + type + "(" + stop + "); " +
               pick({"++", ""}) + name;
        text += text.ends_with("; " + name) ? "++) {\n" : ") {\n";
        text += text_of(body) + "}\n}\n";
    }
    return {text, [=, this](Mask mask) {
                each(mask, [&](unsigned thread) { memory_[end.at(thread)] = limit.at(thread); });
                const Loop outer = std::exchange(*state, {0, 0, together});
                Mask done = 0, active = mask;
                for (unsigned n = 0; active != 0; ++n) {
                    Mask going = 0;
                    each(active, [&](unsigned thread) {
                        memory_[counter.at(thread)] = Value{n};
                        going |= Mask((n == 0 && form == 0) || n < memory_[end.at(thread)][0]) << thread;
                    });
                    done |= active & ~going;
                    active = run(body, going) | std::exchange(state->skipped, 0);
                }
                done |= state->left;
                *state = outer;
                return done;
            }};
}

Statement Program::choose(unsigned depth) {
    const bool together = uniform_ && chance(3), falls_through = chance(2), around = std::exchange(uniform_, together);
    const Expression which = together ? steadily([&] { return small(4, 2); }) : small(4, 2);
    const std::vector<Loop *> loops = std::exchange(loops_, {});
    std::vector<Block> cases;
    // A return would be all that may leave; of loops around nothing is known here.
    std::string text = "switch (" + which.text + ") {\n";
    for (unsigned i = 0; i < 3; ++i) {
        cases.push_back(block(depth + 1, 2, id_ * 13 + i));
        text += (i < 2 ? "case " + std::to_string(i) : "default") + std::string(": {\n") + text_of(cases.back()) +
                "}\n" + (falls_through ? "" : "break;\n");
    }
    loops_ = loops;
    uniform_ = around;
    return {text + "}\n", [=](Mask mask) {
                std::array<Mask, 3> chosen{};
                each(mask,
                     [&](unsigned thread) { chosen[std::min<Number>(which.at(thread)[0], 2)] |= Mask(1) << thread; });
                Mask end = 0, falling = 0;
                for (unsigned i = 0; i < 3; ++i) {
                    const Mask past = run(cases[i], chosen[i] | falling);
                    falling = falls_through ? past : 0;
                    end |= falls_through ? 0 : past;
                }
                return end | falling;
            }};
}

// A break, a continue or a return, of some.
Statement Program::leave() {
    if (!loops_.empty() && loops_.back()->uniform && !uniform_) return assignment();
    const Expression which = uniform_ ? uniform_condition() : condition(1);
    std::string text = "if (" + which.text + ") ";
    const auto parted = [=](Mask mask, auto &&gone) {
        Mask leaving = 0;
        each(mask, [&](unsigned thread) { leaving |= Mask(which.at(thread)[0]) << thread; });
        gone(leaving);
        return mask & ~leaving;
    };
    if (function_ != nullptr && (loops_.empty() || chance(2))) {
        const Expression value = expression(function_->result, 1);
        const std::size_t base = function_->result_base;
        return {text + "return " + value.text + ";\n", [=, this](Mask mask) {
                    return parted(mask, [&](Mask leaving) {
                        each(leaving, [&](unsigned thread) { memory_[base + thread] = value.at(thread); });
                    });
                }};
    }
    Loop *const state = loops_.back();
    if (chance(2))
        return {text + "break;\n",
                [=](Mask mask) { return parted(mask, [&](Mask leaving) { state->left |= leaving; }); }};
    return {text + "{ continue; }\n",
            [=](Mask mask) { return parted(mask, [&](Mask leaving) { state->skipped |= leaving; }); }};
}

// A call of a function that changes variables of its caller's.
Statement Program::call_with_references() {
    const Function *called = nullptr;
    for (const Function &function : functions_)
        if (function.changes && (called == nullptr || chance(2))) called = &function;
    if (called == nullptr) return declaration();
    std::vector<Expression> arguments;
    std::vector<Variable> changed;
    std::string text = called->name;
    for (std::size_t i = 0; i < called->parameters.size(); ++i) {
        const Variable &parameter = called->parameters[i];
        text += i ? ", " : "(";
        arguments.push_back(expression(parameter.type, 1));
        if (called->passing[i].empty()) {
            text += arguments.back().text;
            continue;
        }
        const Variable *found = nullptr;
        for (const Variable &variable : scope_) {
            const bool taken = std::any_of(changed.begin(), changed.end(),
                                           [&](const Variable &other) { return other.base == variable.base; });
            const bool whole = !variable.packed && (variable.count == 0 || variable.suffix.empty());
            if (variable.writable && variable.where == parameter.where && variable.type == parameter.type &&
                variable.count == parameter.count && whole && !taken)
                found = &variable;
        }
        if (found == nullptr) return assignment();
        changed.push_back(*found);
        text += (called->passing[i] == "*" && parameter.count == 0 ? "&" : "") + found->name;
    }
    Variable made{called->result, fresh("v"), allocate(1, false)};
    scope_.push_back(made);
    return {declared(made.type, made.name) + " = " + text + ");\n", [=, this](Mask mask) {
                each(mask, [&](unsigned thread) {
                    std::vector<Value> given;
                    for (std::size_t i = 0; i < arguments.size(); ++i)
                        given.push_back(called->passing[i].empty() ? arguments[i].at(thread) : Value{});
                    const auto copy = [&](bool in) {
                        for (std::size_t i = 0, k = 0; i < arguments.size(); ++i) {
                            const Variable &parameter = called->parameters[i];
                            if (called->passing[i].empty()) {
                                if (in) memory_[parameter.at(thread)] = given[i];
                                continue;
                            }
                            const Variable &variable = changed[k++];
                            for (unsigned n = 0; n < std::max(parameter.count, 1u); ++n) {
                                Value &inside = memory_[parameter.at(thread, n)],
                                      &outside = memory_[variable.at(thread, n)];
                                (in ? inside : outside) = in ? outside : inside;
                            }
                        }
                    };
                    copy(true);
                    run(called->body, Mask(1) << thread);
                    copy(false);
                    memory_[made.at(thread)] = memory_[called->result_base + thread];
                });
                return mask;
            }};
}

}  // namespace fuzz
