// Library functions whose operands have to be chosen for their results to be exact.
#include <cmath>
#include <cstring>

#include "program.h"

namespace fuzz {
namespace {

// One number of one component after the other.
std::function<Value(unsigned)> each_component(unsigned n, std::vector<Expression> operands,
                                              std::function<Number(const std::array<Number, 4> &)> f) {
    return [=, operands = std::move(operands), f = std::move(f)](unsigned thread) {
        std::array<Value, 4> values{};
        for (std::size_t k = 0; k < operands.size(); ++k) {
            values[k] = operands[k].at(thread);
            if (operands[k].type.n == 1) values[k].fill(values[k][0]);
        }
        Value result{};
        for (unsigned i = 0; i < n; ++i) result[i] = f({values[0][i], values[1][i], values[2][i], values[3][i]});
        return result;
    };
}

Number of_real(double value) { return std::bit_cast<Number>(value); }

std::string listed(const std::string &name, const std::vector<Expression> &arguments) {
    std::string text = name;
    for (std::size_t i = 0; i < arguments.size(); ++i) text += (i ? ", " : "(") + arguments[i].text;
    return text + ")";
}

}  // namespace

// Small integers: sums and products of a few of them are exact in every type.
Expression Program::exact(Type type, unsigned depth) {
    const Expression magnitude = small(8, depth);
    const Expression number = {{Kind::i32, 1}, "int(" + magnitude.text + ") - 3", sum, [=](unsigned thread) {
                                   return Value{wrap(Kind::i32, Wide(magnitude.at(thread)[0]) - 3)};
                               }};
    if (type.n == 1) return converted(number, type);
    std::vector<Expression> parts{converted(number, {type.kind, 1})};
    while (parts.size() < type.n) parts.push_back(exact({type.kind, 1}, 0));
    return {type, listed(spell(type), parts), primary, [parts](unsigned thread) {
                Value result{};
                for (std::size_t i = 0; i < parts.size(); ++i) result[i] = parts[i].at(thread)[0];
                return result;
            }};
}

Expression Program::exact_call(Type type, unsigned depth) {
    if (type.kind != Kind::boolean && chance(3)) return reinterpreted(type, depth);
    if (!is_float(type.kind)) return bits_call(type, depth);
    std::vector<Expression> given;
    const auto made = [&](const std::string &name, auto &&f) {
        return Expression{type, listed(name, given), primary,
                          each_component(type.n, given, [=](const std::array<Number, 4> &x) {
                              return rounded(type.kind, f(real(x[0]), real(x[1]), real(x[2])));
                          })};
    };
    switch (below(type.kind == Kind::bf16 ? 2 : 5)) {
    case 0: {
        given = {exact(type, depth), exact(type, depth), operation("/", exact(type, 0), number({type.kind, 1}, 4))};
        return made("mix", [](double a, double b, double t) { return a + (b - a) * t; });
    }
    case 1:
        if (type.n == 1) {
            const Type vector{type.kind, 2 + below(3)};
            const Expression a = exact(vector, depth), b = exact(vector, depth);
            const std::string name = pick({"dot", "distance_squared"});
            // Nothing promises which of two zeros it gives.
            return operation("+",
                             {type, listed(name, {a, b}), primary,
                              [=](unsigned thread) {
                                  const Value x = a.at(thread), y = b.at(thread);
                                  double result = 0;
                                  for (unsigned i = 0; i < vector.n; ++i) {
                                      const double difference = real(x[i]) - real(y[i]);
                                      result += name == "dot" ? real(x[i]) * real(y[i]) : difference * difference;
                                  }
                                  return Value{of_real(result)};
                              }},
                             number(type, 0));
        }
        if (type.n == 3) {
            const Expression a = exact(type, depth), b = exact(type, depth);
            return operation("+",
                             {type, listed("cross", {a, b}), primary,
                              [=](unsigned thread) {
                                  const Value x = a.at(thread), y = b.at(thread);
                                  Value result{};
                                  for (unsigned i = 0; i < 3; ++i) {
                                      const unsigned j = (i + 1) % 3, k = (i + 2) % 3;
                                      result[i] = of_real(real(x[j]) * real(y[k]) - real(x[k]) * real(y[j]));
                                  }
                                  return result;
                              }},
                             number(type, 0));
        }
        given = {exact(type, depth), exact(type, depth)};
        return made("fmax", [](double a, double b, double) { return a < b ? b : a; });
    case 2:
        given = {exact(type, depth), exact({Kind::i32, type.n}, depth)};
        return {type, listed("ldexp", given), primary,
                each_component(type.n, given, [=](const std::array<Number, 4> &x) {
                    return rounded(type.kind, std::ldexp(real(x[0]), int(std::int64_t(x[1]))));
                })};
    case 3:
        given = {operation("/", exact(type, depth), number({type.kind, 1}, 8))};
        return made("fract", [](double a, double, double) { return a - std::floor(a); });
    default:
        given = {expression(type, depth), exact(type, depth)};
        return made("copysign", [](double a, double b, double) { return std::copysign(a, b); });
    }
}

// Functions of integers: on runs of bits, and products of 24 bits.
Expression Program::bits_call(Type type, unsigned depth) {
    const unsigned bits = width(type.kind);
    if (bits == 32 && chance(3)) {
        const Type narrow{is_signed(type.kind) ? Kind::i16 : Kind::u16, type.n};
        std::vector<Expression> given;
        const bool adds = chance(2);
        for (unsigned i = 0; i < (adds ? 3 : 2); ++i) given.push_back(converted(expression(narrow, depth), type));
        // A product plus a third number may be larger than an int.
        if (adds) given[2] = exact(type, 0);
        return {type, listed(adds ? "mad24" : "mul24", given), primary,
                each_component(type.n, given, [=](const std::array<Number, 4> &x) {
                    return wrap(type.kind,
                                integer(type.kind, x[0]) * integer(type.kind, x[1]) + integer(type.kind, x[2]));
                })};
    }
    const bool inserts = chance(2);
    std::vector<Expression> given{expression(type, depth)};
    if (inserts) given.push_back(expression(type, depth));
    const std::size_t first = given.size();
    for (unsigned i = 0; i < 2; ++i) given.push_back(converted(small(bits / 2, depth), {Kind::u32, 1}));
    if (chance(3)) given[first + 1] = number({Kind::u32, 1}, bits / 2);
    return {type, listed(inserts ? "insert_bits" : "extract_bits", given), primary,
            each_component(type.n, given, [=](const std::array<Number, 4> &x) {
                const unsigned offset = unsigned(x[first]), count = unsigned(x[first + 1]);
                const std::uint64_t mask = (std::uint64_t(1) << count) - 1;
                if (inserts) return wrap(type.kind, Wide((x[0] & ~(mask << offset)) | (x[1] & mask) << offset));
                const std::uint64_t field = x[0] >> offset & mask;
                const bool negative = is_signed(type.kind) && count > 0 && field >> (count - 1) & 1;
                return wrap(type.kind, Wide(negative ? field | ~mask : field));
            })};
}

// The bits of a value of another type of this size.
Expression Program::reinterpreted(Type type, unsigned depth) {
    std::vector<Type> types;
    for (unsigned kind = unsigned(Kind::i8); kind < kinds; ++kind) {
        for (unsigned n = 1; n <= 4; ++n) {
            const Type other{Kind(kind), n};
            const bool alike = n == 3 || type.n == 3 ? n == type.n && size_of(other.kind) == size_of(type.kind)
                                                     : other.size() == type.size();
            if (alike) types.push_back(other);
        }
    }
    // Processors flush bfloats that are too small for a normal number.
    if (type.kind == Kind::bf16) return literal(type);
    const Type from = types[below(unsigned(types.size()))];
    // Nothing promises the bits of a NaN.
    const Expression value = is_float(from.kind) ? exact(from, depth) : expression(from, depth);
    return {type, "as_type<" + spell(type) + ">(" + value.text + ")", primary, [=](unsigned thread) {
                const Value given = value.at(thread);
                unsigned char bytes[32];
                for (unsigned i = 0; i < from.n; ++i) store(from.kind, given[i], bytes + i * size_of(from.kind));
                Value result{};
                for (unsigned i = 0; i < type.n; ++i) result[i] = load(type.kind, bytes + i * size_of(type.kind));
                return result;
            }};
}

// A question about numbers.
Expression Program::test(Type type, unsigned depth) {
    if (type.n == 1 && chance(2)) {
        const Expression of = expression({Kind::boolean, 2 + below(3)}, depth);
        const bool all = chance(2);
        return {type, std::string(all ? "all" : "any") + "(" + of.text + ")", primary, [=](unsigned thread) {
                    const Value value = of.at(thread);
                    unsigned set = 0;
                    for (unsigned i = 0; i < of.type.n; ++i) set += value[i] != 0;
                    return Value{all ? set == of.type.n : set > 0};
                }};
    }
    const Expression of = expression({pick({Kind::f32, Kind::f16, Kind::bf16}), type.n}, depth);
    const std::string name = pick({"isnan", "isinf", "isfinite"});
    return {type, name + "(" + of.text + ")", primary,
            each_component(type.n, {of}, [=](const std::array<Number, 4> &x) {
                const double value = real(x[0]);
                return Number(name == "isnan"   ? std::isnan(value)
                              : name == "isinf" ? std::isinf(value)
                                                : std::isfinite(value));
            })};
}

}  // namespace fuzz
