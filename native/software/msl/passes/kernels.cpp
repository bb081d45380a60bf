#include "kernels.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "addressed_arguments.h"
#include "kernel_parameters.h"

namespace smtl::msl {
namespace {

// The indices as C++: Metal numbers what has no index with those that are left, for buffers and threadgroup memory
// apart.
std::string describe_indices(const std::vector<KernelParameter> &parameters) {
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
        if (parameter.kind == ParameterKind::attribute)
            text += "0";
        else if (!parameter.index_expression.empty())
            text += "::smtl::written_index(" + parameter.index_expression + ")";
        else
            text += "::smtl::automatic_index(" + std::to_string(automatic[kind]++) + taken[kind] + ")";
    }
    return text.empty() ? "0" : text;
}

class KernelDefinitions {
public:
    KernelDefinitions(Source &source, const Declarations &declarations, ProgramConstants &constants,
                      Translation &translation)
        : source_(source), constants_(constants), translation_(translation),
          addressed_arguments_(source, declarations) {
        for (Index i = 0; i < source.size(); ++i)
            if (source[i].is_identifier()) first_uses_.emplace(source[i].text, i);
    }
    void define(const Declaration &declaration);
    void define_visible(const Declaration &declaration);
    void declare_visible(const Declaration &declaration);
    void instantiate(const Declaration &declaration);

private:
    struct Template {
        std::vector<KernelParameter> parameters;
        ThreadLimit limit;  // the name of a variable template, as long as the kernel's own parameters
        // Template arguments, without and with those that have defaults.
        std::size_t needed_arguments = 0;
        std::size_t most_arguments = 0;
    };

    std::string parameter_types(Range parameters) const;
    void refuse_results(const Declaration &declaration);
    std::string register_kernel(const Scope &scope, Index at, std::string name, const std::string &address,
                                std::vector<KernelParameter> parameters, ThreadLimit thread_limit);

    Source &source_;
    ProgramConstants &constants_;
    Translation &translation_;
    const AddressedArguments addressed_arguments_;
    std::map<std::string, std::vector<Template>> templates_;  // by unqualified name
    std::map<std::string, std::string> addresses_;            // of the kernels by name, as written
    std::map<std::string, std::string> declared_;             // by name: the first prototype of a linked function
    std::unordered_map<std::string_view, Index> first_uses_;  // of each identifier
};

// Notes the kernel and returns the declarations by which the rest of the compiler finds it.
std::string KernelDefinitions::register_kernel(const Scope &scope, Index at, std::string name,
                                               const std::string &address, std::vector<KernelParameter> parameters,
                                               ThreadLimit thread_limit) {
    if (!addresses_.emplace(name, address).second) {
        source_.problem(at, "a kernel named '" + name + "' is already defined");
        return {};
    }
    if (source_.checking()) {
        translation_.kernels.push_back({std::move(name), scope, {}, {}, {}, std::move(parameters)});
        return {};
    }
    const std::string number = std::to_string(translation_.kernels.size());
    const std::string identifier = "smtl_kernel_" + number;
    const std::string indices = "smtl_indices_" + number;
    std::string text =
        " [[maybe_unused]] static constexpr auto " + identifier + " = " + address + "->*::smtl::kernel_address;";
    text += " [[maybe_unused]] static constexpr unsigned " + indices + "[] = {" + describe_indices(parameters) + "};";
    if (!thread_limit.expression.empty()) {
        const std::string limit = "smtl_limit_" + number;
        text += " [[maybe_unused]] static constexpr unsigned " + limit + " = ::smtl::written_index(" +
                thread_limit.expression + ");";
        thread_limit.expression = qualified(scope, limit);
    }
    translation_.kernels.push_back({std::move(name), scope, qualified(scope, identifier), qualified(scope, indices),
                                    std::move(thread_limit), std::move(parameters)});
    return text;
}

// The parameters without default arguments.
std::string KernelDefinitions::parameter_types(Range parameters) const {
    std::string types;
    for (Range part : source_.split_commas(parameters)) {
        Index end = part.begin;
        while (end < part.end && !source_[end].is("=")) end = source_.skip_part(end, part.end);
        types += (types.empty() ? "" : ", ") + source_.written({part.begin, end});
    }
    return types;
}

// What a name or `auto` stands for is only known to the compiler: `kernel_address` refuses it.
void KernelDefinitions::refuse_results(const Declaration &declaration) {
    constexpr std::array<std::string_view, 2> signs = {"signed", "unsigned"};
    constexpr std::array<std::string_view, 3> references = {"*", "&", "&&"};
    bool returns_nothing = false, returns_number = false, refers = false;
    for (Index i = declaration.template_parameters ? declaration.template_parameters->end : declaration.begin;
         i < declaration.name_begin;) {
        const std::optional<Index> past =
            source_[i].is("<") ? source_.skip_angles(i, declaration.name_begin) : std::nullopt;
        returns_nothing = returns_nothing || source_[i].is("void");
        returns_number = returns_number || names_arithmetic_type(source_[i].text) || is_one_of(source_[i].text, signs);
        refers = refers || is_one_of(source_[i].text, references);
        i = past.value_or(source_.skip_part(i, declaration.name_begin));
    }
    if ((returns_number && !returns_nothing) || refers)
        source_.problem(declaration.name_begin, "a kernel must return 'void'");
}

void KernelDefinitions::define(const Declaration &declaration) {
    const Index body_end = declaration.body.end - 1;
    const Range name_range{declaration.name_begin, declaration.name_end};
    const std::string name = source_.spelling(name_range);
    refuse_results(declaration);
    std::vector<KernelParameter> parameters = read_parameters(source_, *declaration.parameters, true);
    addressed_arguments_.mark(declaration.body, parameters);
    if (declaration.template_parameters && !declaration.template_parameters->empty()) {
        Template pattern;
        source_[body_end].appended += define_conditions(source_, constants_, parameters, std::to_string(body_end),
                                                        *declaration.template_parameters);
        pattern.parameters = std::move(parameters);
        for (const Range &part : source_.split_commas(*declaration.template_parameters)) {
            bool given = false, pack = false;
            for (Index i = part.begin; i < part.end; ++i) {
                given = given || source_[i].is("=");
                pack = pack || source_[i].is("...");
            }
            pattern.needed_arguments += !given && !pack;
            if (pattern.most_arguments != SIZE_MAX)
                pattern.most_arguments = pack ? SIZE_MAX : pattern.most_arguments + 1;
        }
        if (!declaration.thread_limit.empty() && !source_.checking()) {
            // The limit may depend on what the kernel is instantiated with.
            pattern.limit = {"smtl_template_limit_" + std::to_string(body_end), declaration.thread_limit.begin};
            source_[body_end].appended += " template <" + source_.written(*declaration.template_parameters) +
                                          "> [[maybe_unused]] constexpr unsigned " + pattern.limit.expression +
                                          " = ::smtl::written_index(" + source_.spelling(declaration.thread_limit) +
                                          ");";
        }
        constexpr std::size_t most_overloads = 256;  // each instantiation looks at them all
        if (templates_[name].size() == most_overloads)
            source_.problem(declaration.name_begin, "more than " + std::to_string(most_overloads) +
                                                        " kernel templates are named '" + name + "'");
        if (templates_[name].size() < most_overloads) templates_[name].push_back(std::move(pattern));
        return;
    }
    std::string host_name = declaration.host_name.empty() ? qualified(*declaration.scope, name) : declaration.host_name;
    source_[body_end].appended += define_conditions(source_, constants_, parameters, std::to_string(body_end), {});
    for (KernelParameter &parameter : parameters)
        if (!parameter.condition.empty())
            parameter.condition = "::" + qualified(*declaration.scope, parameter.condition);
    // Qualified, since a function of the standard library may have the same name.
    std::string address = "&::" + qualified(*declaration.scope, name);
    // Of the functions with one name, the type chooses.
    if (first_uses_.at(source_[declaration.name_begin].text) < declaration.name_begin)
        address = "static_cast<void (*)(" + parameter_types(*declaration.parameters) + ")>(" + address + ")";
    source_[body_end].appended += register_kernel(
        *declaration.scope, declaration.name_begin, std::move(host_name), address, std::move(parameters),
        {source_.spelling(declaration.thread_limit), declaration.thread_limit.begin});
}

// Beside kernels in one list of names, since a host finds both by name.
void KernelDefinitions::define_visible(const Declaration &declaration) {
    const std::string own = source_.spelling({declaration.name_begin, declaration.name_end});
    const std::string name = declaration.host_name.empty() ? qualified(*declaration.scope, own) : declaration.host_name;
    if (declaration.template_parameters)
        return source_.problem(declaration.name_begin, "a template cannot be a [[visible]] function");
    if (declaration.member)
        return source_.problem(declaration.name_begin, "a member of a type cannot be a [[visible]] function");
    std::string address = "&::" + qualified(*declaration.scope, own);
    if (!addresses_.emplace(name, address).second)
        return source_.problem(declaration.name_begin, "a function named '" + name + "' is already defined");
    // Of the functions with one name, the parameters choose.
    if (first_uses_.at(source_[declaration.name_begin].text) < declaration.name_begin)
        address =
            "::smtl::function_of<void(" + parameter_types(*declaration.parameters) + ")>::address(" + address + ")";
    const std::string identifier = "smtl_visible_" + std::to_string(translation_.visible.size());
    translation_.visible.push_back({name, qualified(*declaration.scope, identifier)});
    if (source_.checking()) return;
    source_[declaration.body.end - 1].appended +=
        " [[maybe_unused]] static constexpr auto " + identifier + " = " + address + ";";
}

// `[[visible]] T f(U);` is a function that is linked: an object of this name stands for it, unless the source itself
// defines the function.
void KernelDefinitions::declare_visible(const Declaration &declaration) {
    const std::string own = source_.spelling({declaration.name_begin, declaration.name_end});
    if (source_.checking() || !source_[declaration.end - 1].is(";")) return;
    const std::string number = std::to_string(declaration.name_begin), prototype = "smtl_declared_" + number,
                      symbol = "smtl_symbol_" + number;
    source_[declaration.name_begin].replace(prototype);
    const auto [first, is_new] = declared_.emplace(qualified(*declaration.scope, own), prototype);
    if (!is_new) {
        source_[declaration.end - 1].appended += " static_assert(__is_same(decltype(" + prototype + "), decltype(" +
                                                 first->second + ")), \"linked functions are known by name, and '" +
                                                 own + "' is declared as [[visible]] with two types\");";
        return;
    }
    source_[declaration.end - 1].appended +=
        " extern \"C\" __attribute__((visibility(\"hidden\"))) const smtl_visible_function " + symbol + " __asm__(\"" +
        std::string(named_symbol) + qualified(*declaration.scope, own) +
        "\"); [[maybe_unused]] static constexpr ::smtl::linked_function<decltype(" + prototype + "), &" + symbol +
        "> " + own + "{};";
}

// `template [[host_name("x")]] kernel void f<float>(...);` and `template [[host_name("x")]] kernel type f<float>;`
// become a constant that takes the address with the type that is written.
void KernelDefinitions::instantiate(const Declaration &declaration) {
    const Index semicolon = declaration.end - 1;
    const Range name_range{declaration.name_begin, declaration.name_end};
    std::string name = source_.spelling(name_range);
    Range arguments;
    for (Index i = declaration.name_begin; i < declaration.name_end; ++i) {
        if (!source_[i].is("<")) continue;
        arguments = {i + 1, declaration.name_end - 1};
        break;
    }
    std::string type;
    for (Index i = declaration.begin; i < declaration.name_begin; ++i) {
        const Token &token = source_[i];
        if (token.is("template") || token.is("kernel") || token.is("inline") || token.is("static")) continue;
        type += token.leading.empty() ? "" : " ";
        type += token.replaced ? token.replacement : std::string(token.text);
    }
    std::vector<KernelParameter> given;
    if (declaration.parameters) {
        type += "(" + source_.written(*declaration.parameters) + ")";
        given = read_parameters(source_, *declaration.parameters, false);
    }
    std::string base = name.substr(0, name.find('<'));
    while (!base.empty() && base.back() == ' ') base.pop_back();
    if (const std::size_t colons = base.rfind("::"); colons != std::string::npos) base = base.substr(colons + 2);
    const auto found = templates_.find(base);
    if (found == templates_.end()) {
        source_.problem(declaration.name_begin, "explicit instantiation of '" + base +
                                                    "': no kernel template of this name is defined before it");
        source_.erase({declaration.begin, semicolon});
        return;
    }
    // The last one of overloaded templates that takes as many arguments of both kinds; function arguments may stand
    // for template arguments.
    const Template *pattern = nullptr;
    const std::size_t count = source_.split_commas(arguments).size();
    bool exact = false;
    for (const Template &candidate : found->second) {
        if (declaration.parameters && candidate.parameters.size() != given.size()) continue;
        const bool takes = count >= candidate.needed_arguments && count <= candidate.most_arguments;
        if (takes || !exact) pattern = &candidate;
        exact = exact || takes;
    }
    std::vector<KernelParameter> parameters = pattern ? pattern->parameters : given;
    for (std::size_t i = 0; i < given.size() && i < parameters.size(); ++i)
        if (!given[i].type.empty()) parameters[i].type = given[i].type;
    const std::size_t colons = name.rfind("::", name.find('<'));
    const std::string scope = colons == std::string::npos ? "" : name.substr(0, colons + 2);
    std::string conditions;
    for (std::size_t i = 0; i < parameters.size() && !source_.checking(); ++i) {
        if (parameters[i].condition.empty() || !pattern) continue;
        const std::string condition = "smtl_condition_" + std::to_string(semicolon) + "_" + std::to_string(i);
        conditions += " template <class = void> static constexpr bool " + condition + "() { return " + scope +
                      parameters[i].condition + "(); }";
        parameters[i].condition = "::" + qualified(*declaration.scope, condition);
    }
    ThreadLimit limit{source_.spelling(declaration.thread_limit), declaration.thread_limit.begin};
    if (limit.expression.empty() && pattern && !pattern->limit.expression.empty() && count >= pattern->needed_arguments)
        limit = {scope + pattern->limit.expression + "<" + source_.written(arguments) + ">", pattern->limit.token};
    std::string host_name = declaration.host_name.empty() ? qualified(*declaration.scope, name) : declaration.host_name;
    // What is only checked stays an explicit instantiation of C++, now that `kernel` and the attributes are gone.
    const std::string address =
        source_.checking() ? name : "static_cast<::smtl::function_pointer<" + type + ">>(&" + name + ")";
    std::string registered;
    // An instantiation may be repeated.
    if (const auto known = addresses_.find(host_name); known == addresses_.end() || known->second != address)
        registered = register_kernel(*declaration.scope, declaration.name_begin, std::move(host_name), address,
                                     std::move(parameters), std::move(limit));
    if (source_.checking()) return;
    source_.erase({declaration.begin, semicolon});
    source_[semicolon].appended += conditions + registered;
}

}  // namespace

void define_kernels(Source &source, const Declarations &declarations, ProgramConstants &constants,
                    Translation &translation) {
    KernelDefinitions kernels(source, declarations, constants, translation);
    std::set<std::string> defined;
    for (const Declaration &declaration : declarations)
        if (declaration.kind == DeclarationKind::function && !declaration.member)
            defined.insert(full_name(source, declaration));
    for (const Declaration &declaration : declarations) {
        const bool visible = declaration.visible && !declaration.kernel;
        if (!declaration.erased && visible && declaration.kind == DeclarationKind::function &&
            !declaration.body.empty())
            kernels.define_visible(declaration);
        if (!declaration.erased && visible && declaration.kind == DeclarationKind::prototype && !declaration.member &&
            !defined.contains(full_name(source, declaration)))
            kernels.declare_visible(declaration);
        if (declaration.erased || !declaration.kernel) continue;
        if (declaration.kind == DeclarationKind::kernel_instantiation) kernels.instantiate(declaration);
        if (declaration.kind == DeclarationKind::function && !declaration.body.empty()) kernels.define(declaration);
    }
}

}  // namespace smtl::msl
