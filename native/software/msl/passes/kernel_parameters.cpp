#include "kernel_parameters.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "msl/source/attributes.h"
#include "msl/source/unsupported.h"

namespace smtl::msl {
namespace {

// Everything that Metal passes to a compute kernel by attribute.
constexpr std::array<std::string_view, 20> input_attributes = {
    "dispatch_quadgroups_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "grid_origin",
    "grid_size",
    "quadgroup_index_in_threadgroup",
    "quadgroups_per_threadgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "thread_execution_width",
    "thread_index_in_quadgroup",
    "thread_index_in_simdgroup",
    "thread_index_in_threadgroup",
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threadgroups_per_grid",
    "threads_per_grid",
    "threads_per_simdgroup",
    "threads_per_threadgroup",
};

// More than all buffers, threadgroup memory and attributes together. What a template says of its parameters is kept for
// each of its instantiations.
constexpr std::size_t most_parameters = 128;
constexpr std::size_t longest_parameter = 2048;

bool is_input_attribute(std::string_view name) {
    for (std::string_view input : input_attributes)
        if (name == input) return true;
    return false;
}

KernelParameter read_parameter(Source &source, Range range, bool report) {
    KernelParameter parameter;
    parameter.space = address_space_of(source, range);
    bool located = false;
    for (const Attribute &attribute : attributes_in(source, range)) {
        if (attribute.name == "buffer" || attribute.name == "threadgroup") {
            parameter.kind = attribute.name == "buffer" ? ParameterKind::buffer : ParameterKind::threadgroup_memory;
            parameter.index_expression = source.spelling(attribute.arguments);
            located = true;
            if (report && parameter.index_expression.empty())
                source.problem(attribute.at,
                               "[[" + attribute.name + "]] needs an index, as in '[[" + attribute.name + "(0)]]'");
        } else if (attribute.name == "function_constant") {
            parameter.condition = source.spelling(attribute.arguments);
            parameter.condition_begin = attribute.arguments.begin;
            parameter.condition_end = attribute.arguments.end;
            if (report && parameter.condition.empty())
                source.problem(attribute.at,
                               "[[function_constant]] needs a condition made of function constants, as in "
                               "'[[function_constant(flag)]]'");
        } else if (is_input_attribute(attribute.name)) {
            parameter.kind = ParameterKind::attribute;
            parameter.attribute = attribute.name;
            located = true;
        } else if (report && !is_standard_attribute(attribute.name)) {
            source.problem(attribute.at, "kernel parameters with [[" + attribute.name + "]] are not supported");
            located = true;
        }
    }
    if (report && parameter.kind == ParameterKind::attribute && !parameter.condition.empty()) {
        source.problem(range.begin, "[[function_constant]] applies to buffers and threadgroup memory only, not to [[" +
                                        parameter.attribute + "]]");
    }
    // The declared name: the last identifier outside brackets and attributes; what stands before it is the type.
    // `T (&name)[8]` has it in parentheses.
    Index name = range.end;
    Index type_end = range.end;
    bool indirect = false;
    for (Index i = range.begin; i < range.end;) {
        if (source[i].is("=")) break;
        if (source[i].is("[") || source[i].is("(")) {
            indirect = indirect || !source.opens_attribute(i);
            const Index past = source.skip_group(i, range.end);
            if (source[i].is("(") && i + 2 < past && (source[i + 1].is("*") || source[i + 1].is("&")) &&
                source[i + 2].is_identifier()) {
                name = i + 2;
                break;
            }
            i = past;
            continue;
        }
        if (source[i].is("<")) {
            if (const auto past = source.skip_angles(i, range.end)) {
                indirect = indirect || source[i - 1].is("array");
                i = *past;
                continue;
            }
        }
        if (source[i].is("*") || source[i].is("&")) {
            // An identifier before it belongs to the type; there may be no name after it.
            indirect = true;
            name = type_end = range.end;
        }
        const bool named = i > range.begin && source[i].is_identifier() && !source[i - 1].is("::");
        if (named && !source[i].is("const") && !source[i].is("volatile")) name = type_end = i;
        ++i;
    }
    for (Index i = range.begin; i < type_end;) {
        if (source.opens_attribute(i)) {
            i = source.skip_group(i, type_end);
            continue;
        }
        if (i == name) {
            ++i;
            continue;
        }
        if (!parameter.type.empty() && !source[i].leading.empty()) parameter.type += ' ';
        parameter.type += source[i].text;
        ++i;
    }
    parameter.token = range.begin;
    if (name < range.end) {
        parameter.name = std::string(source[name].text);
        parameter.token = name;
    }
    if (!located) {
        const bool memory = parameter.space == AddressSpace::threadgroup;
        parameter.kind = memory ? ParameterKind::threadgroup_memory : ParameterKind::buffer;
        bool table = false;
        for (Index i = range.begin; i < range.end; ++i) table = table || source[i].is("visible_function_table");
        if (report && !table && (!indirect || parameter.space == AddressSpace::none)) {
            std::string_view subject;
            for (Index j = range.begin; j + 1 < range.end && subject.empty(); ++j)
                subject = unsupported_subject(source[j].text, source[j + 1].is("<") || source[j + 1].is("::"));
            source.problem(
                range.begin,
                "kernel parameter '" + parameter.name + "'" +
                    (subject.empty()
                         ? " needs an attribute such as [[thread_position_in_grid]], or the type of a buffer, such as "
                           "'device float *'"
                         : ": " + std::string(subject) + " not supported"));
        }
    }
    return parameter;
}

}  // namespace

std::vector<KernelParameter> read_parameters(Source &source, Range parameters, bool report) {
    std::vector<KernelParameter> read;
    const std::vector<Range> parts = source.split_commas(parameters);
    if (parts.size() == 1 && parts[0].end - parts[0].begin == 1 && source[parts[0].begin].is("void")) return read;
    for (const Range &part : parts) {
        if (!part.empty() && read.size() <= most_parameters) read.push_back(read_parameter(source, part, report));
        if (report && !read.empty() &&
            read.back().type.size() + read.back().index_expression.size() > longest_parameter)
            source.problem(part.begin, "the type and the index of this kernel parameter have more than " +
                                           std::to_string(longest_parameter) + " characters");
    }
    if (report && parts.size() > most_parameters)
        source.problem(parameters.begin,
                       "a kernel can have at most " + std::to_string(most_parameters) + " parameters");
    return read;
}

}  // namespace smtl::msl
