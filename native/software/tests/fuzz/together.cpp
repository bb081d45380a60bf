// Statements by which threads learn of each other.
#include <algorithm>

#include "program.h"

namespace fuzz {

// Lane functions of active lanes; shuffles where all are.
Statement Program::talk() {
    const bool shuffles = uniform_ && chance(2), adds_floats = !shuffles && chance(4);
    const Type type{shuffles      ? pick({Kind::i32, Kind::u16, Kind::i8, Kind::f32, Kind::f16})
                    : adds_floats ? pick({Kind::f32, Kind::f16})
                                  : pick({Kind::i32, Kind::u32, Kind::i16, Kind::u16, Kind::i8, Kind::u8}),
                    chance(2) ? 1 : 2 + below(3)};
    // Whatever order they are added in.
    const Expression from = adds_floats ? exact(type, 1) : expression(type, 1);
    Variable made{type, fresh("v"), allocate(1, false)};
    const std::string prefix = pick({"simd", "simd", "quad"});
    const unsigned size = prefix == "simd" ? lanes : 4, k = 1 + below(size - 1);
    std::string name =
        pick({"sum", "product", "min", "max", "and", "or", "xor", "prefix_inclusive_sum", "prefix_exclusive_sum",
              "prefix_inclusive_product", "prefix_exclusive_product", "broadcast_first"});
    if (adds_floats) name = pick({"sum", "prefix_inclusive_sum", "prefix_exclusive_sum", "broadcast_first"});
    if (shuffles)
        name = pick({"shuffle", "shuffle", "broadcast", "shuffle_xor", "shuffle_up", "shuffle_down",
                     "shuffle_rotate_up", "shuffle_rotate_down"});
    const bool varies = name == "shuffle" && chance(2);
    const Expression whose = varies ? converted(small(size, 1), {Kind::u16, 1}) : number({Kind::u16, 1}, k);
    const std::string text = declared(type, made.name) + " = " + prefix + "_" + name + "(" + from.text +
                             (varies     ? ", " + whose.text
                              : shuffles ? ", " + std::to_string(k)
                                         : "") +
                             ");\n";
    scope_.push_back(made);
    return {text, [=, this](Mask mask) {
                std::vector<Value> given(threads), results(threads);
                each(mask, [&](unsigned thread) { given[thread] = from.at(thread); });
                for (unsigned first = 0; first < threads; first += size) {
                    const Mask active =
                        mask >> first << first & (first + size < 64 ? (Mask(1) << (first + size)) - 1 : everyone);
                    each(active, [&](unsigned thread) {
                        const unsigned lane = thread - first;
                        const unsigned other = name == "shuffle" || name == "broadcast" ? unsigned(whose.at(thread)[0])
                                               : name == "shuffle_xor"                  ? lane ^ k
                                               : name == "shuffle_up"                   ? (lane < k ? lane : lane - k)
                                               : name == "shuffle_down"      ? (lane + k < size ? lane + k : lane)
                                               : name == "shuffle_rotate_up" ? (lane - k) % size
                                                                             : (lane + k) % size;
                        for (unsigned i = 0; i < type.n; ++i) {
                            Number &result = results[thread][i];
                            if (shuffles) {
                                result = given[first + other][i];
                                continue;
                            }
                            if (name == "broadcast_first") {
                                result = given[unsigned(std::countr_zero(active))][i];
                                continue;
                            }
                            const bool scans = name.starts_with("prefix"), product = name.ends_with("product"),
                                       inclusive = name.starts_with("prefix_i");
                            bool any = scans && !inclusive;
                            Number all = product && scans ? 1 : 0;
                            each(active, [&](unsigned from_thread) {
                                if (scans && (from_thread > thread || (from_thread == thread && !inclusive))) return;
                                const Number x = given[from_thread][i];
                                all = !any                    ? x
                                      : product               ? binary("*", type.kind, all, x)
                                      : name.ends_with("sum") ? binary("+", type.kind, all, x)
                                      : name == "and"         ? all & x
                                      : name == "or"          ? all | x
                                      : name == "xor"         ? wrap(type.kind, Wide(all ^ x))
                                                              : call(name, type.kind, all, x, 0);
                                any = true;
                            });
                            result = all;
                        }
                    });
                }
                each(mask, [&](unsigned thread) { memory_[made.at(thread)] = results[thread]; });
                return mask;
            }};
}

// What the active lanes say of a condition.
Statement Program::vote() {
    const bool simd = !chance(3);
    const std::string prefix = simd ? "simd" : "quad",
                      name = pick({"ballot", "all", "any", "is_first", "active_threads_mask"});
    const unsigned size = simd ? lanes : 4;
    const bool masks = name == "ballot" || name == "active_threads_mask",
               asks = name != "is_first" && name != "active_threads_mask";
    const Expression which = condition(2);
    Variable made{{masks ? Kind::u64 : Kind::boolean, 1}, fresh("v"), allocate(1, false)};
    const std::string call = prefix + "_" + name + "(" + (asks ? which.text : "") + ")",
                      value = masks ? "ulong(" + prefix + "_vote::vote_t(" + call + "))" : call;
    scope_.push_back(made);
    return {declared(made.type, made.name) + " = " + value + ";\n", [=, this](Mask mask) {
                Mask said = 0;
                each(mask, [&](unsigned thread) { said |= Mask(which.at(thread)[0] != 0) << thread; });
                for (unsigned first = 0; first < threads; first += size) {
                    const Mask group = (Mask(1) << size) - 1, active = mask >> first & group,
                               yes = said >> first & active;
                    each(active, [&](unsigned lane) {
                        memory_[made.at(first + lane)] =
                            Value{name == "ballot"     ? yes
                                  : name == "all"      ? Number(yes == active)
                                  : name == "any"      ? Number(yes != 0)
                                  : name == "is_first" ? Number(lane == unsigned(std::countr_zero(active)))
                                                       : active};
                    });
                }
                return mask;
            }};
}

// By threadgroup memory, with barriers.
Statement Program::exchange() {
    const Type type = any_type();
    const Expression from = expression(type, 2);
    Variable made{type, fresh("v"), allocate(1, false)};
    const std::string name = fresh("shared");
    const unsigned k = below(threads);
    const std::string barrier = chance(4) ? "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);\n"
                                          : "threadgroup_barrier(mem_flags::mem_threadgroup);\n";
    const std::string text = declared(type, name, "threadgroup") + "[" + std::to_string(threads) + "];\n" + name +
                             "[tid] = " + from.text + ";\n" + barrier + declared(type, made.name) + " = " + name +
                             "[(tid + " + std::to_string(k) + ") % " + std::to_string(threads) + "];\n" + barrier;
    scope_.push_back(made);
    return {text, [=, this](Mask mask) {
                std::vector<Value> given(threads);
                each(mask, [&](unsigned thread) { given[thread] = from.at(thread); });
                each(mask, [&](unsigned thread) { memory_[made.at(thread)] = given[(thread + k) % threads]; });
                return mask;
            }};
}

// The same with structures, each member stored by itself or all at once.
Statement Program::exchange_structures() {
    const Structure &structure = structures_[below(unsigned(structures_.size()))];
    const std::string shared = fresh("shared"), own = fresh("s"),
                      barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);\n";
    const unsigned k = below(threads);
    const bool whole = chance(2);
    std::string text = "threadgroup " + structure.name + " " + shared + "[" + std::to_string(threads) + "];\n";
    if (whole) text += "{\nconst " + structure.name + " given = {";
    std::vector<Expression> values;
    for (const Member &member : structure.members) {
        values.push_back(expression(member.type, 1));
        text +=
            whole ? values.back().text + ", " : shared + "[tid]." + member.name + " = " + values.back().text + ";\n";
    }
    if (whole) text += "};\n" + shared + "[tid] = given;\n}\n";
    text += barrier + structure.name + " " + own + " = " + shared + "[(tid + " + std::to_string(k) + ") % " +
            std::to_string(threads) + "];\n" + barrier;
    const std::vector<Variable> made = instance(structure, own, ".", 0, {});
    scope_.insert(scope_.end(), made.begin(), made.end());
    return {text, [=, this](Mask mask) {
                for (std::size_t i = 0; i < made.size(); ++i) {
                    std::vector<Value> given(threads);
                    each(mask, [&](unsigned thread) { given[thread] = values[i].at(thread); });
                    each(mask, [&](unsigned thread) { memory_[made[i].at(thread)] = given[(thread + k) % threads]; });
                }
                return mask;
            }};
}

// Atomic functions whose order does not matter: one for each counter.
Statement Program::count() {
    static const char *const names[] = {"add", "sub", "and", "or", "xor", "min", "max"};
    static const char *const operators[] = {"+", "-", "&", "|", "^", "", ""};
    const unsigned which = below(7);
    const Variable counter = counters_[below(unsigned(counters_.size()))];
    const Kind kind = counter.type.kind;
    const Expression value = expression({kind, 1}, 2);
    const std::string text = std::string("atomic_fetch_") + names[which] + "_explicit(&" + counter.name + "[" +
                             std::to_string(which) + "], " + value.text + ", memory_order_relaxed);\n";
    return {text, [=, this](Mask mask) {
                each(mask, [&](unsigned thread) {
                    Number &number = memory_[counter.at(thread, which)][0];
                    const Number operand = value.at(thread)[0];
                    number = which < 5 ? binary(operators[which], kind, number, operand)
                                       : call(names[which], kind, number, operand, 0);
                });
                return mask;
            }};
}

}  // namespace fuzz
