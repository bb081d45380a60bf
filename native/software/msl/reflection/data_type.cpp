#include "data_type.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace smtl::msl {
namespace {

// MTLDataType numbers a scalar and its vectors of 2, 3 and 4 in a row.
struct Family {
    std::uint32_t scalar;
    const char *name;
    std::size_t size;
    const char *bits;  // the integer type with the value's bits where a literal cannot say it exactly
};

constexpr std::array<Family, 12> families = {{
    {3, "float", 4, "uint"},
    {16, "half", 2, "ushort"},
    {29, "int", 4, nullptr},
    {33, "uint", 4, nullptr},
    {37, "short", 2, nullptr},
    {41, "ushort", 2, nullptr},
    {45, "char", 1, nullptr},
    {49, "uchar", 1, nullptr},
    {53, "bool", 1, nullptr},
    {81, "long", 8, nullptr},
    {85, "ulong", 8, nullptr},
    {121, "bfloat", 2, "ushort"},
}};

// The first of the matrices: they are numbered by columns, then by rows.
struct Matrices {
    std::uint32_t first;
    const char *name;
    std::size_t size;  // of a component
};

constexpr std::array<Matrices, 2> matrices = {{{7, "float", 4}, {20, "half", 2}}};

const Matrices *matrices_of(std::uint32_t data_type) {
    for (const Matrices &all : matrices)
        if (data_type >= all.first && data_type < all.first + 9) return &all;
    return nullptr;
}

const Family *family_of(std::uint32_t data_type) {
    for (const Family &family : families)
        if (data_type >= family.scalar && data_type < family.scalar + 4) return &family;
    return nullptr;
}

// As it is written where the source may have given its name to something else. Keywords it cannot.
std::string global_name(const std::string &name) {
    constexpr std::array<std::string_view, 6> keywords = {"float", "int", "short", "char", "bool", "long"};
    const bool keyword = std::find(keywords.begin(), keywords.end(), name) != keywords.end();
    return keyword ? name : "::" + name;
}

}  // namespace

DataTypeShape data_type_shape(std::uint32_t data_type) {
    if (const Matrices *all = matrices_of(data_type)) {
        const std::uint32_t number = data_type - all->first;
        return {2 + number / 3, 2 + number % 3};
    }
    const Family *family = family_of(data_type);
    return {1, family ? data_type - family->scalar + 1 : 1};
}

std::string data_type_name(std::uint32_t data_type) {
    if (data_type == struct_data_type) return "struct";
    if (data_type == array_data_type) return "array";
    if (data_type == pointer_data_type) return "pointer";
    const DataTypeShape shape = data_type_shape(data_type);
    const std::string components = std::to_string(shape.components);
    if (const Matrices *all = matrices_of(data_type))
        return all->name + std::to_string(shape.columns) + "x" + components;
    const Family *family = family_of(data_type);
    if (!family) return "MTLDataType " + std::to_string(data_type);
    return shape.components == 1 ? family->name : family->name + components;
}

std::string data_type_value(const smtl_constant_value &value) {
    const Family *family = family_of(value.data_type);
    if (!family) return "{}";
    const std::uint32_t components = data_type_shape(value.data_type).components;
    std::string text;
    for (std::uint32_t i = 0; i < components; ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, value.bytes + i * family->size, family->size);
        const std::string number = std::to_string(bits) + "ul";
        text += text.empty() ? "" : ", ";
        if (family->bits) {
            text += "__builtin_bit_cast(" + global_name(family->name) + ", " + global_name(family->bits) + "(" +
                    number + "))";
        } else {
            text += global_name(family->name) + "(" + number + ")";
        }
    }
    return components == 1 ? text : global_name(data_type_name(value.data_type)) + "(" + text + ")";
}

}  // namespace smtl::msl

size_t smtl_data_type_alignment(std::uint64_t data_type) {
    using namespace smtl::msl;
    if (data_type > UINT32_MAX) return 0;
    const auto type = static_cast<std::uint32_t>(data_type);
    const Matrices *all = matrices_of(type);
    const Family *family = family_of(type);
    if (!all && !family) return 0;
    const std::uint32_t components = data_type_shape(type).components;
    // A vector of 3 takes the room of one of 4.
    return (all ? all->size : family->size) * (components == 3 ? 4 : components);
}

size_t smtl_data_type_size(std::uint64_t data_type) {
    const std::size_t column = smtl_data_type_alignment(data_type);
    return column == 0 ? 0 : column * smtl::msl::data_type_shape(static_cast<std::uint32_t>(data_type)).columns;
}
