// Kernel functions, kernel templates and their explicit instantiations.
#include <array>
#include <cstdint>

#include "msl/source/unsupported.h"
#include "translator.h"

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

// All buffers, all threadgroup memory and all attributes are fewer. What a template says of its parameters is kept for
// each of its instantiations.
constexpr std::size_t most_parameters = 128;
constexpr std::size_t longest_parameter = 2048;

bool is_input_attribute(std::string_view name) {
    for (std::string_view input : input_attributes) {
        if (name == input) return true;
    }
    return false;
}

}  // namespace

// Reads one parameter. Errors are reported where the kernel is defined, not again at its instantiations.
KernelParameter Translator::read_parameter(Range range, bool report) {
    KernelParameter parameter;
    parameter.space = address_space_of(range);
    bool located = false;
    for (const Attribute &attribute : attributes_in(range)) {
        if (attribute.name == "buffer" || attribute.name == "threadgroup") {
            parameter.kind = attribute.name == "buffer" ? ParameterKind::buffer : ParameterKind::threadgroup_memory;
            parameter.index_expression = spelling(attribute.arguments);
            located = true;
        } else if (attribute.name == "function_constant") {
            parameter.condition = spelling(attribute.arguments);
            parameter.condition_begin = attribute.arguments.begin;
            parameter.condition_end = attribute.arguments.end;
            if (report && parameter.condition.empty())
                problem(attribute.at, "[[function_constant]] needs a condition in terms of function constants");
        } else if (is_input_attribute(attribute.name)) {
            parameter.kind = ParameterKind::attribute;
            parameter.attribute = attribute.name;
            located = true;
        } else if (report && !is_standard_attribute(attribute.name)) {
            problem(attribute.at, "[[" + attribute.name + "]] parameters of kernels are not supported");
            located = true;
        }
    }
    if (report && parameter.kind == ParameterKind::attribute && !parameter.condition.empty()) {
        problem(range.begin, "[[function_constant]] belongs to arguments that the host sets, which [[" +
                                 parameter.attribute + "]] is not");
    }
    // The declared name: the last identifier outside brackets and attributes; what stands before it is the type.
    // `T (&name)[8]` has it in parentheses.
    Index name = range.end;
    Index type_end = range.end;
    bool indirect = false;
    for (Index i = range.begin; i < range.end;) {
        if (tokens_[i].is("=")) break;
        if (tokens_[i].is("[") || tokens_[i].is("(")) {
            indirect = indirect || !opens_attribute(i);
            const Index past = skip_group(i, range.end);
            if (tokens_[i].is("(") && i + 2 < past && (tokens_[i + 1].is("*") || tokens_[i + 1].is("&")) &&
                tokens_[i + 2].is_identifier()) {
                name = i + 2;
                break;
            }
            i = past;
            continue;
        }
        if (tokens_[i].is("<")) {
            if (const auto past = skip_angles(i, range.end)) {
                indirect = indirect || tokens_[i - 1].is("array");
                i = *past;
                continue;
            }
        }
        if (tokens_[i].is("*") || tokens_[i].is("&")) {
            // An identifier before it belongs to the type; there may be no name after it.
            indirect = true;
            name = type_end = range.end;
        }
        const bool named = i > range.begin && tokens_[i].is_identifier() && !tokens_[i - 1].is("::");
        if (named && !tokens_[i].is("const") && !tokens_[i].is("volatile")) name = type_end = i;
        ++i;
    }
    for (Index i = range.begin; i < type_end;) {
        if (opens_attribute(i)) {
            i = skip_group(i, type_end);
            continue;
        }
        if (i == name) {
            ++i;
            continue;
        }
        if (!parameter.type.empty() && !tokens_[i].leading.empty()) parameter.type += ' ';
        parameter.type += tokens_[i].text;
        ++i;
    }
    parameter.token = range.begin;
    if (name < range.end) {
        parameter.name = std::string(tokens_[name].text);
        parameter.token = name;
    }
    if (!located) {
        const bool memory = parameter.space == AddressSpace::threadgroup;
        parameter.kind = memory ? ParameterKind::threadgroup_memory : ParameterKind::buffer;
        if (report && (!indirect || parameter.space == AddressSpace::none)) {
            std::string_view subject;
            for (Index j = range.begin; j + 1 < range.end && subject.empty(); ++j)
                subject = unsupported_subject(tokens_[j].text, tokens_[j + 1].is("<") || tokens_[j + 1].is("::"));
            problem(range.begin, "kernel parameter '" + parameter.name + "'" +
                                     (subject.empty() ? " has neither an attribute nor the type of a buffer"
                                                      : ": " + std::string(subject) + " not supported"));
        }
    }
    return parameter;
}

std::vector<KernelParameter> Translator::read_parameters(Range parameters, bool report) {
    std::vector<KernelParameter> read;
    const std::vector<Range> parts = split_commas(parameters);
    if (parts.size() == 1 && parts[0].end - parts[0].begin == 1 && tokens_[parts[0].begin].is("void")) return read;
    for (const Range &part : parts) {
        if (!part.empty() && read.size() <= most_parameters) read.push_back(read_parameter(part, report));
        if (report && !read.empty() &&
            read.back().type.size() + read.back().index_expression.size() > longest_parameter)
            problem(part.begin, "this parameter of a kernel is too long");
    }
    if (report && parts.size() > most_parameters)
        problem(parameters.begin, "a kernel has no more than " + std::to_string(most_parameters) + " parameters");
    return read;
}

std::string Translator::written(Range range) const {
    std::string text;
    for (Index i = range.begin; i < range.end; ++i) {
        const Token &token = tokens_[i];
        text += token.leading.empty() ? "" : " ";
        text += token.replaced ? token.replacement : std::string(token.text);
    }
    return text;
}

// The indices as C++: Metal numbers what has no index with those that are left, for buffers and threadgroup memory
// apart.
std::string Translator::describe_indices(const std::vector<KernelParameter> &parameters) const {
    std::array<std::string, 2> taken;
    for (const KernelParameter &parameter : parameters) {
        if (parameter.kind == ParameterKind::attribute || parameter.index_expression.empty()) continue;
        taken[parameter.kind == ParameterKind::buffer ? 0 : 1] += ", (" + parameter.index_expression + ")";
    }
    std::array<unsigned, 2> automatic{};
    std::string text;
    for (const KernelParameter &parameter : parameters) {
        if (!text.empty()) text += ", ";
        const std::size_t kind = parameter.kind == ParameterKind::buffer ? 0 : 1;
        if (parameter.kind == ParameterKind::attribute) {
            text += "0";
        } else if (!parameter.index_expression.empty()) {
            text += "static_cast<unsigned>(" + parameter.index_expression + ")";
        } else {
            text += "::smtl::automatic_index(" + std::to_string(automatic[kind]++) + taken[kind] + ")";
        }
    }
    return text.empty() ? "0" : text;
}

// Notes the kernel and returns the declarations that the rest of the compiler finds it by.
std::string Translator::register_kernel(Index at, std::string name, const std::string &address,
                                        std::vector<KernelParameter> parameters, const std::string &thread_limit) {
    const auto [known, fresh] = addresses_.emplace(name, address);
    if (!fresh) {
        // An instantiation may be repeated; a name cannot stand for two kernels.
        if (known->second != address) problem(at, "a kernel of the name '" + name + "' was defined before");
        return {};
    }
    if (checking_) {
        result_.kernels.push_back({std::move(name), scope_, {}, {}, {}, std::move(parameters)});
        return {};
    }
    const std::string number = std::to_string(result_.kernels.size());
    const std::string identifier = "smtl_kernel_" + number;
    const std::string indices = "smtl_indices_" + number;
    std::string text = " [[maybe_unused]] static constexpr auto " + identifier + " = " + address + ";";
    text += " [[maybe_unused]] static constexpr unsigned " + indices + "[] = {" + describe_indices(parameters) + "};";
    std::string limit;
    if (!thread_limit.empty()) {
        limit = "smtl_limit_" + number;
        text += " [[maybe_unused]] static constexpr unsigned " + limit + " = (" + thread_limit + ");";
        limit = qualified(limit);
    }
    result_.kernels.push_back(
        {std::move(name), scope_, qualified(identifier), qualified(indices), std::move(limit), std::move(parameters)});
    return text;
}

// `device float *p[4]` takes four buffers, where a parameter of C++ would be a pointer to pointers: it becomes an array
// that is a value.
void Translator::edit_buffer_arrays(Range parameters) {
    for (const Range &part : split_commas(parameters)) {
        Index begin = part.begin;
        while (begin < part.end && opens_attribute(begin)) begin = skip_group(begin, part.end);
        Index star = part.end, bounds = part.end;
        for (Index i = begin; i < part.end && !tokens_[i].is("(") && !tokens_[i].is("="); ++i) {
            if (tokens_[i].is("<")) i = skip_angles(i, part.end).value_or(i + 1) - 1;
            if (tokens_[i].is("*")) star = i;
            if (tokens_[i].is("[")) {
                if (!opens_attribute(i) && bounds == part.end) bounds = i;
                i = skip_group(i, part.end) - 1;
            }
        }
        if (star == part.end || bounds == part.end) continue;
        const Index past = skip_group(bounds, part.end);
        const Token &first = tokens_[begin];
        tokens_[begin].replace("::metal::array<" + (first.replaced ? first.replacement : std::string(first.text)));
        tokens_[star].replace("*, " + written({bounds + 1, past - 1}) + ">");
        erase_range({bounds, past});
    }
}

void Translator::add_kernel_definition(const Declaration &declaration, Index body_end) {
    const Range name_range{declaration.name_begin, declaration.name_end};
    const std::string name = spelling(name_range);
    bool returns_nothing = false;
    for (Index i = declaration.begin; i < declaration.name_begin; ++i)
        returns_nothing = returns_nothing || tokens_[i].is("void");
    if (!returns_nothing) problem(declaration.name_begin, "a kernel returns nothing: its type is 'void'");
    std::vector<KernelParameter> parameters = read_parameters(*declaration.parameters, true);
    if (declaration.template_parameters && !declaration.template_parameters->empty()) {
        Template pattern;
        tokens_[body_end].appended +=
            define_conditions(parameters, std::to_string(body_end), *declaration.template_parameters);
        pattern.parameters = std::move(parameters);
        for (const Range &part : split_commas(*declaration.template_parameters)) {
            bool given = false, pack = false;
            for (Index i = part.begin; i < part.end; ++i) {
                given = given || tokens_[i].is("=");
                pack = pack || tokens_[i].is("...");
            }
            pattern.needed_arguments += !given && !pack;
            if (pattern.most_arguments != SIZE_MAX)
                pattern.most_arguments = pack ? SIZE_MAX : pattern.most_arguments + 1;
        }
        if (!declaration.thread_limit.empty() && !checking_) {
            // The limit may depend on what the kernel is instantiated with.
            pattern.thread_limit = "smtl_template_limit_" + std::to_string(body_end);
            tokens_[body_end].appended += " template <" + written(*declaration.template_parameters) +
                                          "> [[maybe_unused]] constexpr unsigned " + pattern.thread_limit + " = (" +
                                          spelling(declaration.thread_limit) + ");";
        }
        constexpr std::size_t most_overloads = 256;  // each instantiation looks at them all
        if (templates_[name].size() == most_overloads)
            problem(declaration.name_begin,
                    "more kernel templates than " + std::to_string(most_overloads) + " are called '" + name + "'");
        if (templates_[name].size() < most_overloads) templates_[name].push_back(std::move(pattern));
        return;
    }
    std::string host_name = declaration.host_name.empty() ? qualified(name) : declaration.host_name;
    tokens_[body_end].appended += define_conditions(parameters, std::to_string(body_end), {});
    for (KernelParameter &parameter : parameters) {
        if (!parameter.condition.empty()) parameter.condition = "::" + qualified(parameter.condition);
    }
    // In full: the name may be that of a function of the standard library, too.
    tokens_[body_end].appended += register_kernel(declaration.name_begin, std::move(host_name), "&::" + qualified(name),
                                                  std::move(parameters), spelling(declaration.thread_limit));
}

// `template [[host_name("x")]] kernel void f<float>(...);` and `template [[host_name("x")]] kernel type f<float>;`
// become a constant that takes the address with the type that is written.
void Translator::add_kernel_instantiation(const Declaration &declaration, Index semicolon) {
    const Range name_range{declaration.name_begin, declaration.name_end};
    std::string name = spelling(name_range);
    Range arguments;
    for (Index i = declaration.name_begin; i < declaration.name_end; ++i) {
        if (!tokens_[i].is("<")) continue;
        arguments = {i + 1, declaration.name_end - 1};
        break;
    }
    std::string type;
    for (Index i = declaration.begin; i < declaration.name_begin; ++i) {
        const Token &token = tokens_[i];
        if (token.is("template") || token.is("kernel") || token.is("inline") || token.is("static")) continue;
        type += token.leading.empty() ? "" : " ";
        type += token.replaced ? token.replacement : std::string(token.text);
    }
    std::vector<KernelParameter> given;
    if (declaration.parameters) {
        type += "(" + written(*declaration.parameters) + ")";
        given = read_parameters(*declaration.parameters, false);
    }
    std::string base = name.substr(0, name.find('<'));
    while (!base.empty() && base.back() == ' ') base.pop_back();
    if (const std::size_t colons = base.rfind("::"); colons != std::string::npos) base = base.substr(colons + 2);
    const auto found = templates_.find(base);
    if (found == templates_.end()) {
        problem(declaration.name_begin,
                "explicit instantiation of '" + base + "', which is no kernel template defined before");
        erase_range({declaration.begin, semicolon});
        return;
    }
    // Of overloaded templates, the last one that takes as many arguments of both kinds; function arguments may stand
    // for template arguments.
    const Template *pattern = nullptr;
    const std::size_t count = split_commas(arguments).size();
    bool exact = false;
    for (const Template &candidate : found->second) {
        if (declaration.parameters && candidate.parameters.size() != given.size()) continue;
        const bool takes = count >= candidate.needed_arguments && count <= candidate.most_arguments;
        if (takes || !exact) pattern = &candidate;
        exact = exact || takes;
    }
    std::vector<KernelParameter> parameters = pattern ? pattern->parameters : given;
    for (std::size_t i = 0; i < given.size() && i < parameters.size(); ++i) {
        if (!given[i].type.empty()) parameters[i].type = given[i].type;
    }
    const std::size_t colons = name.rfind("::", name.find('<'));
    const std::string scope = colons == std::string::npos ? "" : name.substr(0, colons + 2);
    std::string conditions;
    for (std::size_t i = 0; i < parameters.size() && !checking_; ++i) {
        if (parameters[i].condition.empty() || !pattern) continue;
        const std::string condition = "smtl_condition_" + std::to_string(semicolon) + "_" + std::to_string(i);
        conditions += " template <class = void> static constexpr bool " + condition + "() { return " + scope +
                      parameters[i].condition + "(); }";
        parameters[i].condition = "::" + qualified(condition);
    }
    std::string thread_limit = spelling(declaration.thread_limit);
    if (thread_limit.empty() && pattern && !pattern->thread_limit.empty() && count >= pattern->needed_arguments) {
        thread_limit = scope + pattern->thread_limit + "<" + written(arguments) + ">";
    }
    std::string host_name = declaration.host_name.empty() ? qualified(name) : declaration.host_name;
    if (checking_) {  // an explicit instantiation of C++, now that `kernel` and the attributes are gone
        (void)register_kernel(declaration.name_begin, std::move(host_name), name, std::move(parameters), {});
        return;
    }
    const std::string address = "static_cast<::smtl::function_pointer<" + type + ">>(&" + name + ")";
    erase_range({declaration.begin, semicolon});
    tokens_[semicolon].appended += conditions + register_kernel(declaration.name_begin, std::move(host_name), address,
                                                                std::move(parameters), thread_limit);
}

}  // namespace smtl::msl
