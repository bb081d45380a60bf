#include "operation_costs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace smtl::msl {
namespace {

constexpr unsigned simd_width = 32, matrix_size = 8;

unsigned number(std::string_view text) {
    unsigned value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string_view take_word(std::string_view &text) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

// A type of clang's intermediate code: "float", "i32", "<4 x half>".
struct Operand {
    std::string_view element;
    unsigned length = 1;
};

Operand take_type(std::string_view &text) {
    if (!text.starts_with('<')) return {take_word(text), 1};
    const std::size_t end = std::min(text.find('>'), text.size() - 1);
    const std::string_view type = text.substr(1, end - 1);
    text.remove_prefix(std::min(end + 2, text.size()));
    return {type.substr(std::min(type.rfind(' ') + 1, type.size())), number(type)};
}

std::optional<smtl_operation_kind> kind_of_element(std::string_view element) {
    if (element == "float") return SMTL_OPERATIONS_FLOAT;
    if (element == "half") return SMTL_OPERATIONS_HALF;
    if (element == "bfloat") return SMTL_OPERATIONS_BFLOAT;
    // What has one bit is a condition.
    if (!element.starts_with('i') || element == "i1") return std::nullopt;
    return number(element.substr(1)) > 32 ? SMTL_OPERATIONS_LONG : SMTL_OPERATIONS_INT;
}

// What a function does with each component of its arguments.
struct Function {
    std::string_view name;
    unsigned arithmetic, functions;
};

// Names of <metal_stdlib>, in order. Functions that a GPU has no instruction of arithmetic for are counted as such.
constexpr auto componentwise = std::to_array<Function>({
    {"abs", 1, 0},        {"absdiff", 2, 0},      {"acos", 0, 1},        {"acosh", 0, 1},        {"addsat", 1, 0},
    {"asin", 0, 1},       {"asinh", 0, 1},        {"atan", 0, 1},        {"atan2", 0, 1},        {"atanh", 0, 1},
    {"ceil", 1, 0},       {"clamp", 2, 0},        {"clz", 1, 0},         {"cos", 0, 1},          {"cosh", 0, 1},
    {"cospi", 0, 1},      {"ctz", 1, 0},          {"divide", 1, 0},      {"exp", 0, 1},          {"exp10", 0, 1},
    {"exp2", 0, 1},       {"extract_bits", 1, 0}, {"fdim", 1, 0},        {"floor", 1, 0},        {"fma", 2, 0},
    {"fmax", 1, 0},       {"fmax3", 2, 0},        {"fmedian3", 3, 0},    {"fmin", 1, 0},         {"fmin3", 2, 0},
    {"fmod", 0, 1},       {"fract", 1, 0},        {"frexp", 0, 1},       {"hadd", 2, 0},         {"insert_bits", 1, 0},
    {"ldexp", 1, 0},      {"log", 0, 1},          {"log10", 0, 1},       {"log2", 0, 1},         {"mad24", 2, 0},
    {"madhi", 2, 0},      {"madsat", 2, 0},       {"max", 1, 0},         {"max3", 2, 0},         {"median3", 3, 0},
    {"min", 1, 0},        {"min3", 2, 0},         {"mix", 3, 0},         {"modf", 1, 0},         {"mul24", 1, 0},
    {"mulhi", 1, 0},      {"nextafter", 0, 1},    {"operator%", 1, 0},   {"operator%=", 1, 0},   {"operator&", 1, 0},
    {"operator&=", 1, 0}, {"operator*", 1, 0},    {"operator*=", 1, 0},  {"operator+", 1, 0},    {"operator++", 1, 0},
    {"operator+=", 1, 0}, {"operator-", 1, 0},    {"operator--", 1, 0},  {"operator-=", 1, 0},   {"operator/", 1, 0},
    {"operator/=", 1, 0}, {"operator<<", 1, 0},   {"operator<<=", 1, 0}, {"operator>>", 1, 0},   {"operator>>=", 1, 0},
    {"operator^", 1, 0},  {"operator^=", 1, 0},   {"operator|", 1, 0},   {"operator|=", 1, 0},   {"operator~", 1, 0},
    {"popcount", 1, 0},   {"pow", 0, 1},          {"powr", 0, 1},        {"reverse_bits", 1, 0}, {"rhadd", 2, 0},
    {"rint", 1, 0},       {"rotate", 1, 0},       {"round", 1, 0},       {"rsqrt", 0, 1},        {"saturate", 2, 0},
    {"sin", 0, 1},        {"sincos", 0, 2},       {"sinh", 0, 1},        {"sinpi", 0, 1},        {"smoothstep", 7, 0},
    {"sqrt", 0, 1},       {"subsat", 1, 0},       {"tan", 0, 1},         {"tanh", 0, 1},         {"tanpi", 0, 1},
    {"trunc", 1, 0},
});
static_assert(std::is_sorted(componentwise.begin(), componentwise.end(),
                             [](const Function &a, const Function &b) { return a.name < b.name; }));

// "float metal::dot<float, 4>(metal::smtl_vector_of<float [4]>, ...)": in which namespace, the name, and the
// parameters.
struct Signature {
    std::string_view space, name, parameters;
};

std::optional<Signature> read_signature(std::string_view text) {
    constexpr std::string_view word = "operator", symbols = "+-*/%&|^<>=!~", unnamed = "(anonymous namespace)";
    std::size_t scope = 0, start = 0, end = std::string_view::npos;  // of the qualified name, and of its last part
    unsigned depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (depth == 0 && i == start && text.substr(i).starts_with(word)) {
            end = std::min(text.find_first_not_of(symbols, i + word.size()), text.size());
            if (end == i + word.size()) return std::nullopt;  // a conversion
            // "operator*<3>", but "operator<< <3>"
            if (text[end - 1] == '<' && end < text.size() && text[end] != ' ' && text[end] != '(') --end;
            i = end - 1;
            if (text.substr(end).starts_with(" <")) ++i;
        } else if (depth == 0 && text.substr(i).starts_with(unnamed)) {
            i += unnamed.size() - 1;
        } else if (text[i] == '(' && depth == 0) {
            const std::string_view space = text.substr(scope, start - scope);
            return Signature{space, text.substr(start, std::min(end, i) - start), text.substr(i + 1)};
        } else if (text[i] == '<' || text[i] == '(') {
            if (depth++ == 0 && end == std::string_view::npos) end = i;
        } else if (text[i] == '>' || text[i] == ')') {
            --depth;
        } else if (depth == 0 && (text[i] == ' ' || text[i] == ':')) {
            start = i + 1;
            end = std::string_view::npos;
            if (text[i] == ' ') scope = start;
        }
    }
    return std::nullopt;
}

std::string_view first_of(std::string_view parameters) {
    unsigned depth = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (parameters[i] == '<' || parameters[i] == '(') ++depth;
        if (depth == 0 && (parameters[i] == ',' || parameters[i] == ')')) return parameters.substr(0, i);
        if (parameters[i] == '>' || parameters[i] == ')') --depth;
    }
    return parameters;
}

// Demanglers do not know the types of 16 bits that clang does: other types stand for them, which no kernel has.
constexpr std::string_view half_name = "decimal32", bfloat_name = "decimal64";

std::string demangled(std::string mangled) {
    for (const auto &[type, known] : {std::pair("DF16_", "Df"), std::pair("DF16b", "Dd")})
        for (std::size_t at = mangled.find(type); at != std::string::npos; at = mangled.find(type, at))
            mangled.replace(at, 5, known);
    // Nor do they know this attribute of functions, as different versions of clang write it.
    for (const std::string_view condition : {"Ua9enable_ifILb1EE", "Ua9enable_ifIXLb1EEE"})
        if (const std::size_t at = mangled.find(condition); at != std::string::npos)
            mangled.erase(at, condition.size());
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr), std::free);
    return text ? text.get() : "";
}

// Of a scalar, or of the components of a vector or a matrix.
std::optional<smtl_operation_kind> kind_of_argument(std::string_view type) {
    const auto has = [&](std::string_view word) { return type.find(word) != std::string_view::npos; };
    if (has("bool")) return std::nullopt;
    if (has(half_name)) return SMTL_OPERATIONS_HALF;
    if (has(bfloat_name)) return SMTL_OPERATIONS_BFLOAT;
    if (has("float")) return SMTL_OPERATIONS_FLOAT;
    if (has("long")) return SMTL_OPERATIONS_LONG;
    if (has("int") || has("short") || has("char")) return SMTL_OPERATIONS_INT;
    return std::nullopt;
}

// The number behind the last `mark`: components of "smtl_vector_of<float [4]>", columns of "matrix<float, 4, 3>".
unsigned number_behind(std::string_view text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    return at == std::string_view::npos ? 1 : number(text.substr(at + mark.size()));
}

struct Shape {
    unsigned columns, rows;
};

std::optional<Shape> matrix_shape(std::string_view type) {
    constexpr std::string_view name = "metal::matrix<";
    const std::size_t at = type.find(name);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view arguments = type.substr(at + name.size());
    return Shape{number_behind(arguments, ", "), number_behind(arguments.substr(arguments.find(", ") + 2), ", ")};
}

// Sums of products: of matrices and vectors, by the first two parameters.
unsigned cost_of_matrices(const Signature &called, std::string_view first) {
    std::string_view rest = called.parameters.substr(first.size());
    const std::string_view second = rest.starts_with(", ") ? first_of(rest.substr(2)) : "";
    const std::optional<Shape> a = matrix_shape(first), b = matrix_shape(second);
    const unsigned inner = a ? a->columns : b->rows;
    const bool multiplies = called.name.starts_with("operator*");
    if (multiplies && a && b) return b->columns * a->rows * (2 * inner - 1);
    if (multiplies && a && second.find('[') != std::string_view::npos) return a->rows * (2 * inner - 1);
    if (multiplies && b && first.find('[') != std::string_view::npos) return b->columns * (2 * inner - 1);
    return a ? a->columns * a->rows : b->columns * b->rows;
}

// Whether the function combines what several threads give: a reduction or a scan of lanes, or an atomic change of
// memory. Each thread counts one operation for each component that it gives.
bool combines_threads(std::string_view name) {
    constexpr auto of_lanes = std::to_array<std::string_view>({"sum", "product", "min", "max", "and", "or", "xor",
                                                               "prefix_inclusive_sum", "prefix_exclusive_sum",
                                                               "prefix_inclusive_product", "prefix_exclusive_product"});
    constexpr auto of_memory = std::to_array<std::string_view>(
        {"fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor", "fetch_min", "fetch_max", "min", "max"});
    constexpr std::string_view simdgroup = "simd_", quad = "quad_", atomic = "atomic_", last = "_explicit";
    const auto has = [](const auto &names, std::string_view sought) {
        return std::find(names.begin(), names.end(), sought) != names.end();
    };
    if (name.starts_with(simdgroup) || name.starts_with(quad)) return has(of_lanes, name.substr(simdgroup.size()));
    if (!name.starts_with(atomic) || !name.ends_with(last)) return false;
    return has(of_memory, name.substr(atomic.size(), name.size() - atomic.size() - last.size()));
}

// Of whole vectors with `n` components.
std::optional<Function> of_vector(std::string_view name, unsigned n) {
    if (name == "dot" || name == "length_squared") return Function{name, 2 * n - 1, 0};
    if (name == "length") return Function{name, 2 * n - 1, 1};
    if (name == "distance_squared") return Function{name, 3 * n - 1, 0};
    if (name == "distance") return Function{name, 3 * n - 1, 1};
    if (name == "normalize") return Function{name, 3 * n - 1, 1};
    if (name == "cross") return Function{name, 9, 0};
    if (name == "reflect") return Function{name, 4 * n, 0};
    return std::nullopt;
}

}  // namespace

std::optional<OperationCost> cost_of_instruction(std::string_view instruction) {
    constexpr auto names =
        std::to_array<std::string_view>({"fadd", "fsub", "fmul", "fdiv", "frem", "add", "sub", "mul", "sdiv", "udiv",
                                         "srem", "urem", "shl", "lshr", "ashr", "and", "or", "xor"});
    constexpr auto flags = std::to_array<std::string_view>(
        {"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "fast", "nuw", "nsw", "exact", "disjoint"});
    const std::string_view name = take_word(instruction);
    if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
    for (;;) {
        std::string_view rest = instruction;
        if (std::find(flags.begin(), flags.end(), take_word(rest)) == flags.end()) break;
        instruction = rest;
    }
    const Operand operand = take_type(instruction);
    if (name == "sub" && (instruction.starts_with("0,") || instruction.starts_with("zeroinitializer,")))
        return std::nullopt;
    const std::optional<smtl_operation_kind> kind = kind_of_element(operand.element);
    if (!kind) return std::nullopt;
    return OperationCost{*kind, operand.length, 0};
}

std::optional<OperationCost> cost_of_call(const std::string &mangled) {
    // What clang makes of a product and a sum that it may round once: "llvm.fmuladd.v4f32".
    constexpr std::string_view product_and_sum = "llvm.fmuladd.";
    if (mangled.starts_with(product_and_sum)) {
        const std::string_view type = std::string_view(mangled).substr(product_and_sum.size());
        const smtl_operation_kind kind = type.ends_with("bf16")  ? SMTL_OPERATIONS_BFLOAT
                                         : type.ends_with("f16") ? SMTL_OPERATIONS_HALF
                                                                 : SMTL_OPERATIONS_FLOAT;
        return OperationCost{kind, 2 * (type.starts_with('v') ? number(type.substr(1)) : 1), 0};
    }
    const std::string text = demangled(mangled);
    const std::optional<Signature> called = read_signature(text);
    if (!called || (!called->space.starts_with("metal::") && !called->space.starts_with("smtl::"))) return std::nullopt;
    // Members of vectors that are packed are functions of themselves and of their arguments.
    const bool is_member = called->space.ends_with(">::");
    const std::string_view first = is_member ? called->space : first_of(called->parameters);
    const std::string_view name = called->name;
    const std::optional<smtl_operation_kind> kind = kind_of_argument(first);
    if (first.find("simdgroup_matrix<") != std::string_view::npos) {
        constexpr unsigned products = matrix_size * matrix_size * matrix_size;
        const bool adds = name == "simdgroup_multiply_accumulate";
        if (!kind || (!adds && name != "simdgroup_multiply" && name != "operator*")) return std::nullopt;
        const unsigned all = adds ? 2 * products : 2 * products - matrix_size * matrix_size;
        return OperationCost{*kind, all / simd_width, 0};
    }
    const bool is_operator = name.starts_with("operator");
    if (is_operator && called->parameters.find("metal::matrix<") != std::string_view::npos) {
        const std::optional<smtl_operation_kind> of_matrix = kind_of_argument(called->parameters);
        if (!of_matrix || std::string_view("*+-/").find(name.substr(8, 1)) == std::string_view::npos)
            return std::nullopt;
        return OperationCost{*of_matrix, cost_of_matrices(*called, first), 0};
    }
    const bool has_one = first.size() == called->parameters.find(')');
    if (!kind || (has_one && !is_member && (name == "operator-" || name == "operator+"))) return std::nullopt;
    const unsigned components = number_behind(first, "[");
    if (combines_threads(name)) return OperationCost{*kind, components, 0};
    if (const std::optional<Function> whole = of_vector(name, components))
        return OperationCost{*kind, whole->arithmetic, whole->functions};
    const auto found = std::lower_bound(componentwise.begin(), componentwise.end(), name,
                                        [](const Function &one, std::string_view sought) { return one.name < sought; });
    if (found == componentwise.end() || found->name != name) return std::nullopt;
    return OperationCost{*kind, found->arithmetic * components, found->functions * components};
}

}  // namespace smtl::msl
