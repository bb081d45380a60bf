#include <cstdio>

#include "program.h"

namespace fuzz {
namespace {

const char *const letters[] = {"xyzw", "rgba"};

// Component by component; scalars fill vectors.
template <class F> std::function<Value(unsigned)> mapped(unsigned n, std::vector<Expression> operands, F f) {
    return [n, operands = std::move(operands), f](unsigned thread) {
        std::array<Value, 3> values{};
        for (std::size_t k = 0; k < operands.size(); ++k) {
            values[k] = operands[k].at(thread);
            if (operands[k].type.n == 1) values[k].fill(values[k][0]);
        }
        Value result{};
        for (unsigned i = 0; i < n; ++i) result[i] = f(values[0][i], values[1][i], values[2][i]);
        return result;
    };
}

}  // namespace

Kind Program::any_kind() { return Kind(below(kinds)); }
Type Program::any_type() {
    return chance(3) ? palette_[below(unsigned(palette_.size()))] : Type{any_kind(), chance(2) ? 1 : 2 + below(3)};
}

std::string Program::spell(Type type) {
    const std::string name = type.name(), scalar = name_of(type.kind);
    if (type.n > 1 && chance(6))
        return pick<std::string>({"", "metal::"}) + "vec<" + scalar + ", " + std::to_string(type.n) + ">";
    // The language's keywords lie in no namespace.
    const bool keyword = type.n == 1 && name[0] != 'u' && name[0] != 'h' && name != "bfloat";
    return chance(8) && !keyword ? "metal::" + name : name;
}

Expression Program::literal(Type type) {
    if (type.n > 1) {
        const Expression one = literal({type.kind, 1});
        return {type, spell(type) + "(" + one.text + ")", primary,
                mapped(type.n, {one}, [](Number x, Number, Number) { return x; })};
    }
    const auto made = [&](const std::string &text, Number number, Rank rank = primary) {
        return Expression{type, text, rank, [number](unsigned) { return Value{number}; }};
    };
    if (type.kind == Kind::boolean) return chance(2) ? made("true", 1) : made("false", 0);
    if (is_float(type.kind)) {
        const unsigned eighths = below(chance(3) ? 4096 : 64);
        const std::string suffix = type.kind == Kind::f16 ? "h" : type.kind == Kind::bf16 ? "bf" : pick({"f", "", "F"});
        const Number number = rounded(type.kind, eighths / 8.0);
        char text[40];
        std::snprintf(text, sizeof text, chance(4) && suffix == "f" ? "%a" : "%.4f", eighths / 8.0);
        return made(text + suffix, number);
    }
    const unsigned bits = width(type.kind);
    std::uint64_t value = chance(2) ? below(10) : random_() >> (64 - (1 + below(bits - is_signed(type.kind))));
    if (chance(6)) value = ~std::uint64_t(0) >> (64 - bits + is_signed(type.kind));
    char digits[40];
    std::snprintf(digits, sizeof digits, chance(3) ? "0x%lx" : "%lu", static_cast<unsigned long>(value));
    const std::string suffix = type.kind == Kind::u32   ? pick({"u", "U"})
                               : type.kind == Kind::i64 ? pick({"l", "L"})
                               : type.kind == Kind::u64 ? pick({"ul", "UL", "uL"})
                                                        : "";
    const bool negative = is_signed(type.kind) && chance(3);
    const Number number = wrap(type.kind, negative ? -Wide(value) : Wide(value));
    const std::string text = (negative ? "-" : "") + std::string(digits) + suffix;
    return bits < 32 ? made(name_of(type.kind) + ("(" + text + ")"), number)
                     : made(text, number, negative ? unary : primary);
}

Expression Program::number(Type type, unsigned value) {
    return converted({{Kind::i32, 1}, std::to_string(value), primary, [=](unsigned) { return Value{value}; }}, type);
}

Expression Program::small(unsigned bound, unsigned depth) {
    const Kind kind = pick({Kind::i32, Kind::u32, Kind::i16, Kind::u64, Kind::u8});
    const Expression number = expression({kind, 1}, depth);
    return {{Kind::i32, 1}, number.in(bit_and) + " & " + std::to_string(bound - 1), bit_and, [=](unsigned thread) {
                return Value{number.at(thread)[0] & (bound - 1)};
            }};
}

Expression Program::read(const Variable &variable, unsigned depth) {
    const Expression index = variable.count == 0
                                 ? Expression{{Kind::i32, 1}, "", primary, [](unsigned) { return Value{}; }}
                                 : small(variable.count, depth);
    const std::string name = variable.text(index.text);
    // A packed vector becomes a vector first.
    return {variable.type, variable.packed ? spell(variable.type) + "(" + name + ")" : name,
            name[0] == '*' && !variable.packed ? unary : primary, [this, variable, index](unsigned thread) {
                return memory_[variable.at(thread, unsigned(index.at(thread)[0]))];
            }};
}

Expression Program::converted(Expression from, Type to) {
    if (from.type == to) return from;
    // Between a half and a bfloat the conversion must be written down.
    if (from.type.n != to.n && is_float(from.type.kind) && is_float(to.kind))
        from = converted(std::move(from), {to.kind, 1});
    const auto kind = from.type.kind;
    auto at = mapped(to.n, {from}, [=](Number x, Number, Number) { return convert(kind, to.kind, x); });
    const std::string type = spell(to);
    if (from.type.n != to.n || chance(2)) return {to, type + "(" + from.text + ")", primary, at};
    if (chance(2)) return {to, "static_cast<" + type + ">(" + from.text + ")", primary, at};
    return {to, "(" + type + ")" + from.in(primary), unary, at};
}

// An operation on two scalars of any kinds that may meet, two vectors of one type, or a vector and a scalar.
Expression Program::operation(const std::string &op, Expression a, Expression b) {
    const bool shifts = op == "<<" || op == ">>", logical = op == "&&" || op == "||",
               compares = op[0] != '&' && op[0] != '|' && !shifts && (op[0] == '<' || op[0] == '>' || op.back() == '=');
    const unsigned n = std::max(a.type.n, b.type.n);
    const Kind kind = n > 1     ? (a.type.n > 1 ? a : b).type.kind
                      : logical ? Kind::boolean
                      : shifts  ? std::max(a.type.kind, Kind::i32)
                                : meeting(a.type.kind, b.type.kind);
    const Rank rank = op == "*" || op == "/" || op == "%" ? product
                      : op == "+" || op == "-"            ? sum
                      : shifts                            ? shift
                      : op == "==" || op == "!="          ? equality
                      : compares                          ? order
                      : op == "&"                         ? bit_and
                      : op == "|"                         ? bit_or
                      : op == "^"                         ? bit_xor
                      : op == "&&"                        ? logical_and
                                                          : logical_or;
    const std::string text = a.in(rank) + " " + op + " " + b.in(rank - 1);
    // An overflow of signed scalars is undefined, so these are computed as unsigned ones.
    const bool overflows = n == 1 && (kind == Kind::i32 || kind == Kind::i64) && (op == "+" || op == "-" || op == "*");
    const Type unsigned_type{Kind(unsigned(kind) + 1), 1}, signed_type{kind, 1};
    const std::string wrapped = spell(signed_type) + "(" + spell(unsigned_type) + "(" + a.text + ") " + op + " " +
                                spell(unsigned_type) + "(" + b.text + "))";
    const Kind first = a.type.kind, second = b.type.kind;
    const auto at = mapped(n, {a, b}, [=, name = logical ? op.substr(1) : op](Number x, Number y, Number) {
        return binary(name, kind, convert(first, kind, x), shifts ? y : convert(second, kind, y));
    });
    return {
        {compares || logical ? Kind::boolean : kind, n}, overflows ? wrapped : text, overflows ? primary : rank, at};
}

Expression Program::comparison(Type type, unsigned depth) {
    if (chance(4)) return operation(pick({"&&", "||"}), expression(type, depth), expression(type, depth));
    if (chance(5)) {
        const Expression a = expression(type, depth);
        return {type, "!" + a.in(primary), unary,
                mapped(type.n, {a}, [](Number x, Number, Number) { return Number(!x); })};
    }
    const Type of{any_kind(), type.n};
    const std::string op = of.kind == Kind::boolean ? pick({"==", "!="}) : pick({"<", "<=", ">", ">=", "==", "!="});
    return operation(op, expression(of, depth), expression(of, depth));
}

Expression Program::arithmetic(Type type, unsigned depth) {
    const bool scalar = type.n == 1;
    if (is_float(type.kind)) {
        if (chance(6)) {
            const Expression a = expression(type, depth);
            return {type, "-" + a.in(primary), unary,
                    mapped(type.n, {a}, [=](Number x, Number, Number) { return rounded(type.kind, -real(x)); })};
        }
        const std::string op = pick({"+", "-", "*", "/"});
        const Expression a = expression(type, depth);
        // The other operand may have another type, if the result then has the same one.
        const Type other = chance(4)             ? Type{type.kind, 1}
                           : scalar && chance(3) ? Type{pick({Kind::i32, Kind::u8, Kind::i64}), 1}
                                                 : type;
        const Expression b = expression(other, depth);
        return chance(2) && scalar ? operation(op, b, a) : operation(op, a, b);
    }
    // An overflow is not a constant expression.
    if (plain_ && (is_signed(type.kind) || width(type.kind) < 32)) return leaf(type);
    // Scalars of fewer bits become ints.
    const Type wide = scalar ? Type{std::max(type.kind, Kind::i32), 1} : type;
    const auto operand = [&] {
        return expression(scalar && chance(3)
                              ? Type{type.kind == wide.kind ? pick({Kind::i8, Kind::u16, Kind::i32}) : type.kind, 1}
                          : !scalar && chance(4) ? Type{type.kind, 1}
                                                 : wide,
                          depth);
    };
    Expression a = expression(wide, depth);
    if (chance(6)) {
        const bool minus = chance(2);
        const auto at = mapped(wide.n, {a}, [=](Number x, Number, Number) {
            return wrap(wide.kind, minus ? -integer(wide.kind, x) : ~integer(wide.kind, x));
        });
        if (minus && wide.n == 1 && is_signed(wide.kind)) {
            return converted({wide,
                              spell(wide) + "(-" + spell({Kind(unsigned(wide.kind) + 1), 1}) + "(" + a.text + "))",
                              primary, at},
                             type);
        }
        return converted({wide, (minus ? "-" : "~") + a.in(primary), unary, at}, type);
    }
    const std::string op = pick({"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "+", "*"});
    if (op == "/" || op == "%") {
        // The divisor is a number from 1 to 64.
        Expression divisor = operation("+", operation("&", expression(wide, depth), number(wide, 63)), number(wide, 1));
        return converted(operation(op, a, divisor), type);
    }
    if (op == "<<" || op == ">>") {
        Expression by = chance(3) ? literal({wide.kind, 1}) : small(128, 0);
        for (const Variable &variable : scope_)
            if ((variable.type.n == 1 || variable.type.n == wide.n) && chance(3)) by = read(variable, 0);
        return converted(
            operation(op, a,
                      by.type.n == 1 && scalar && !is_float(by.type.kind) && chance(2) ? by : converted(by, wide)),
            type);
    }
    return converted(operation(op, a, operand()), type);
}

Expression Program::library_call(Type type, unsigned depth) {
    std::string name;
    unsigned count = 1;
    Type of = type;
    const auto from = [&](std::initializer_list<const char *> one, std::initializer_list<const char *> two,
                          std::initializer_list<const char *> three) {
        count = 1 + below(3);
        name = count == 1 ? pick(one) : count == 2 ? pick(two) : pick(three);
    };
    if (is_float(type.kind))
        from({"abs", "fabs", "floor", "ceil", "trunc", "rint", "round", "saturate", "sign"},
             {"min", "max", "fmin", "fmax", "step"}, {"clamp", "fma"});
    else
        from({"abs", "clz", "ctz", "popcount", "reverse_bits"},
             {"min", "max", "addsat", "subsat", "hadd", "rhadd", "mulhi", "rotate", "absdiff"},
             {"clamp", "min3", "max3", "median3", "madhi"});
    if (name == "absdiff" && is_signed(type.kind)) name = "hadd";
    if (name == "absdiff" && chance(2)) of.kind = Kind(unsigned(type.kind) - 1);
    std::vector<Expression> arguments;
    for (unsigned i = 0; i < count; ++i) arguments.push_back(expression(of, depth));
    // The bounds must be in order.
    if (name == "clamp") arguments[2] = operation("+", arguments[1] = literal(of), literal(of));
    if (name == "clamp" && (is_integer(of.kind) || of.n == 1)) {
        arguments[1] = literal(of), arguments[2] = literal(of);
        if (binary(">", of.kind, arguments[1].at(0)[0], arguments[2].at(0)[0])) std::swap(arguments[1], arguments[2]);
    }
    std::string text = chance(6) ? "metal::" + name : name;
    for (unsigned i = 0; i < count; ++i) text += (i ? ", " : "(") + arguments[i].text;
    const auto at =
        mapped(type.n, arguments, [=](Number x, Number y, Number z) { return call(name, of.kind, x, y, z); });
    Expression made{type, text + ")", primary, at};
    // Nothing promises which of two zeros they give, so adding a zero makes the result the same.
    if (is_float(type.kind) && count > 1 && name != "fma" && name != "step")
        made = operation("+", made, number(type, 0));
    return made;
}

Expression Program::chosen(Type type, unsigned depth) {
    const Expression a = expression(type, depth), b = expression(type, depth);
    const bool one = type.n == 1 || chance(2);
    const Expression which = one ? condition(depth) : expression({Kind::boolean, type.n}, depth);
    const auto at = mapped(type.n, {a, b, which}, [](Number x, Number y, Number w) { return w ? y : x; });
    if (one && (type.n > 1 || chance(2)))
        return {type, which.in(logical_or) + " ? " + b.in(choice) + " : " + a.in(choice), choice, at};
    return {type, "select(" + a.text + ", " + b.text + ", " + which.text + ")", primary, at};
}

// A vector from vectors and scalars.
Expression Program::built(Type type, unsigned depth) {
    std::vector<Expression> parts;
    std::string text = spell(type);
    for (unsigned left = type.n; left > 0;) {
        const unsigned n = plain_ ? 1 : 1 + below(std::min(left, type.n - 1));
        parts.push_back(expression({type.kind, n}, depth));
        // A scalar of another kind converts by itself.
        text += (left == type.n ? "(" : ", ") + parts.back().text;
        left -= n;
    }
    return {type, text + ")", primary, [parts](unsigned thread) {
                Value result{};
                unsigned i = 0;
                for (const Expression &part : parts) {
                    const Value value = part.at(thread);
                    for (unsigned k = 0; k < part.type.n; ++k) result[i++] = value[k];
                }
                return result;
            }};
}

Expression Program::swizzled(Type type, unsigned depth) {
    const unsigned size = 2 + below(3);
    const Expression from = expression({type.kind, size}, depth);
    if (type.n == 1 && chance(3)) {
        const Expression index = small(size == 3 ? 2 : size, depth);
        return {type, from.in(primary) + "[" + index.text + "]", primary,
                [=](unsigned thread) { return Value{from.at(thread)[index.at(thread)[0]]}; }};
    }
    std::string name;
    std::array<unsigned, 4> components{};
    const char *const set = letters[below(2)];
    for (unsigned i = 0; i < type.n; ++i) name += set[components[i] = below(size)];
    // Where the operands of an operator are both swizzles of what depends on a template's argument, clang finds none.
    const std::string text = from.in(primary) + "." + name;
    return {type, generic_ && type.n > 1 ? spell(type) + "(" + text + ")" : text, primary, [=](unsigned thread) {
                const Value value = from.at(thread);
                Value result{};
                for (unsigned i = 0; i < type.n; ++i) result[i] = value[components[i]];
                return result;
            }};
}

Expression Program::function_call(const Function &function, unsigned depth) {
    std::vector<Expression> arguments;
    std::string text = function.name;
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
        arguments.push_back(expression(function.parameters[i].type, depth));
        text += (i ? ", " : "(") + arguments.back().text;
    }
    const Function *const called = &function;
    return {function.result, text + ")", primary, [this, called, arguments](unsigned thread) {
                std::vector<Value> values;
                for (const Expression &argument : arguments) values.push_back(argument.at(thread));
                for (std::size_t i = 0; i < values.size(); ++i) memory_[called->parameters[i].at(thread)] = values[i];
                run(called->body, Mask(1) << thread);
                return memory_[called->result_base + thread];
            }};
}

Expression Program::leaf(Type type) {
    std::vector<const Variable *> same, others;
    for (const Variable &variable : scope_)
        if (variable.type == type)
            same.push_back(&variable);
        else if (variable.type.n == type.n || variable.type.n == 1)
            others.push_back(&variable);
    if (!same.empty() && !chance(4)) return read(*same[below(unsigned(same.size()))], 0);
    if (!others.empty() && !chance(3)) return converted(read(*others[below(unsigned(others.size()))], 0), type);
    return literal(type);
}

Expression Program::condition(unsigned depth) { return expression({Kind::boolean, 1}, depth); }
Expression Program::uniform_condition() {
    return steadily([&] { return condition(2); });
}

Expression Program::expression(Type type, unsigned depth) {
    if (depth == 0 || (plain_ && type.kind == Kind::boolean)) return leaf(type);
    if (plain_ && type.n > 1) return built(type, depth - 1);
    --depth;
    switch (plain_ ? pick({1, 7}) : int(below(10))) {
    case 0: return leaf(type);
    case 1: return converted(expression({any_kind(), chance(4) ? 1 : type.n}, depth), type);
    case 2: return chosen(type, depth);
    case 3: return type.n > 1 ? built(type, depth) : swizzled(type, depth);
    case 4: return swizzled(type, depth);
    case 5:
        for (const Function &function : functions_)
            if (!function.changes && function.result == type && chance(2)) return function_call(function, depth);
        [[fallthrough]];
    case 6:
        if (chance(3)) return type.kind == Kind::boolean ? test(type, depth) : exact_call(type, depth);
        return type.kind == Kind::boolean ? comparison(type, depth) : library_call(type, depth);
    default: return type.kind == Kind::boolean ? comparison(type, depth) : arithmetic(type, depth);
    }
}

}  // namespace fuzz
