#include "saturation.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "text/lines.h"

namespace smtl::msl {
namespace {

constexpr std::string_view intrinsic = "@llvm.fpto";
constexpr std::string_view function = "@smtl.fpto";

// As the intermediate code spells a float: the bits of a double.
std::string spell(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%016llX", static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
    return text;
}

// Replaces the declaration of an intrinsic, `fptosi.sat.i32.f32` after the prefix; empty for any other.
std::string define(std::string_view name) {
    const bool is_signed = name.starts_with("si.sat.i");
    constexpr std::size_t type = std::string_view("si.sat.").size();
    const std::size_t dot = name.find('.', type);
    if ((!is_signed && !name.starts_with("ui.sat.i")) || dot == std::string_view::npos) return {};
    const std::string to(name.substr(type, dot - type));
    const std::string_view from = name.substr(dot + 1);
    const int bits = std::atoi(to.c_str() + 1);
    if (bits < 8 || bits > 64 || (from != "f32" && from != "f16" && from != "bf16")) return {};
    const std::uint64_t ones = ~std::uint64_t(0) >> (64 - bits);
    const std::string most = std::to_string(is_signed ? ones >> 1 : ones);
    const double least = is_signed ? -std::ldexp(1.0, bits - 1) : 0.0;
    std::string text = "define internal " + to + " " + std::string(function) + std::string(name) + "(";
    if (from == "f32") {
        text += "float %x) alwaysinline nounwind {\n";
    } else {
        const std::string narrow = from == "f16" ? "half" : "bfloat";
        text += narrow + " %narrow) alwaysinline nounwind {\n  %x = fpext " + narrow + " %narrow to float\n";
    }
    // A NaN is not above the least value either. But the optimiser forgets that where the source itself has chosen
    // between x and zero.
    text += "  %above = fcmp ogt float %x, " + spell(least) + "\n  %bounded = select i1 %above, float %x, float " +
            spell(least) + "\n  %integer = fpto" + (is_signed ? "si" : "ui") + " float %bounded to " + to +
            "\n  %over = fcmp oge float %x, " + spell(std::ldexp(1.0, is_signed ? bits - 1 : bits)) +
            "\n  %saturated = select i1 %over, " + to + " " + most + ", " + to + " %integer\n";
    return text + "  %nan = fcmp uno float %x, %x\n  %result = select i1 %nan, " + to + " 0, " + to +
           " %saturated\n  ret " + to + " %result\n}\n";
}

}  // namespace

std::string expand_saturation(std::string_view code) {
    std::string text, definitions;
    text.reserve(code.size());
    while (!code.empty()) {
        std::string_view line = take_line(code);
        const bool declares = line.starts_with("declare ");
        for (std::size_t at = line.find(intrinsic); at != std::string_view::npos; at = line.find(intrinsic)) {
            const std::string_view name = line.substr(at + intrinsic.size());
            const std::string defined = define(name.substr(0, name.find('(')));
            if (defined.empty()) break;
            if (declares) {
                definitions += defined;
                line = {};
                break;
            }
            (text += line.substr(0, at)) += function;
            line.remove_prefix(at + intrinsic.size());
        }
        text += line;
    }
    return text + definitions;
}

}  // namespace smtl::msl
