#include "reflection.h"

#include <cstring>
#include <elf.h>

#include "serial.h"

namespace smtl::msl {
namespace {

// What each fact is about, and of how many numbers it and a parameter are: see prelude/reflection.h.
constexpr std::uint64_t kernel_tag = 1, constant_tag = 2;
constexpr std::size_t kernel_numbers = 3, constant_numbers = 4, parameter_numbers = 5;

// Each once; false if not as expected.
bool read_kernel(const Fact &fact, Reflection &reflection, std::vector<bool> &known) {
    const std::uint64_t number = fact[1];
    if (number >= known.size() || known[number]) return false;
    known[number] = true;
    std::vector<ParameterFacts> &parameters = reflection.parameters[number];
    parameters.resize(reflection.kernels[number].parameters.size());
    if (fact.size() != kernel_numbers + parameters.size() * parameter_numbers) return false;
    reflection.thread_limits[number] = static_cast<std::uint32_t>(fact[2]);
    const std::uint64_t *at = fact.data() + kernel_numbers;
    for (ParameterFacts &parameter : parameters) {
        parameter.index = static_cast<std::uint32_t>(at[0]);
        parameter.read_only = static_cast<std::uint32_t>(at[1]);
        parameter.length = static_cast<std::uint32_t>(at[2]);
        parameter.category = static_cast<ParameterCategory>(at[3]);
        parameter.type_size = at[4];
        at += parameter_numbers;
    }
    return true;
}

bool read_constant(const Fact &fact, Reflection &reflection, std::vector<bool> &known) {
    const std::uint64_t number = fact[1];
    if (number >= known.size() || known[number] || fact.size() != constant_numbers) return false;
    known[number] = true;
    reflection.constant_facts[number] = {static_cast<std::uint32_t>(fact[2]), static_cast<std::uint32_t>(fact[3])};
    return true;
}

}  // namespace

bool each_section(std::string_view object,
                  const std::function<void(std::string_view name, const Elf64_Shdr &section)> &visit) {
    Elf64_Ehdr header;
    if (!read_at(object, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    const auto section = [&](std::size_t index, Elf64_Shdr &out) {
        return read_at(object, header.e_shoff + index * sizeof(Elf64_Shdr), out) && out.sh_offset <= object.size() &&
               (out.sh_type == SHT_NOBITS || out.sh_size <= object.size() - out.sh_offset);
    };
    Elf64_Shdr names;
    if (!section(header.e_shstrndx, names)) return false;
    const std::string_view strings = object.substr(names.sh_offset, names.sh_size);
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr found;
        if (!section(i, found) || found.sh_name >= strings.size()) return false;
        const std::string_view name = strings.substr(found.sh_name);
        visit(name.substr(0, name.find('\0')), found);
    }
    return true;
}

namespace {

// The bytes of a section of an object file; empty if there is none.
std::string_view find_section(std::string_view object, std::string_view name) {
    std::string_view bytes;
    (void)each_section(object, [&](std::string_view found, const Elf64_Shdr &section) {
        if (found == name && section.sh_type != SHT_NOBITS) bytes = object.substr(section.sh_offset, section.sh_size);
    });
    return bytes;
}

}  // namespace

std::vector<std::string> find_symbols(std::string_view object, std::string_view start, bool defined) {
    const std::string_view table = find_section(object, ".symtab"), strings = find_section(object, ".strtab");
    std::vector<std::string> found;
    for (std::size_t at = 0; at < table.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        if (!read_at(table, at, symbol) || (symbol.st_shndx != SHN_UNDEF) != defined) continue;
        if (symbol.st_name >= strings.size()) continue;
        const std::string_view name = strings.substr(symbol.st_name);
        if (name.starts_with(start)) found.emplace_back(name.substr(0, name.find('\0')));
    }
    return found;
}

std::string ask_for_reflection(const Translation &translation) {
    Questions questions;
    for (std::size_t i = 0; i < translation.kernels.size(); ++i) {
        const Kernel &kernel = translation.kernels[i];
        const std::string limit = kernel.thread_limit.expression.empty() ? "0" : "::" + kernel.thread_limit.expression;
        questions.ask("SMTL_KERNEL_FACTS(" + std::to_string(i) + ", ::" + kernel.identifier + ", ::" + kernel.indices +
                      ", " + limit + ")");
    }
    for (std::size_t i = 0; i < translation.constants.size(); ++i) {
        const FunctionConstant &constant = translation.constants[i];
        const std::string scope = constant.index.substr(0, constant.index.rfind(':') + 1);
        questions.ask("SMTL_CONSTANT_FACTS(" + std::to_string(i) + ", ::" + (scope == constant.index ? "" : scope) +
                      constant.name + ", ::" + constant.index + ")");
    }
    return questions.text();
}

std::optional<Reflection> read_reflection(const Translation &translation, const std::vector<Fact> &facts) {
    Reflection reflection;
    reflection.kernels = translation.kernels;
    reflection.visible = translation.visible;
    reflection.constants = translation.constants;
    reflection.parameters.resize(translation.kernels.size());
    reflection.thread_limits.resize(translation.kernels.size());
    reflection.constant_facts.resize(translation.constants.size());
    if (facts.size() != reflection.kernels.size() + reflection.constants.size()) return std::nullopt;
    std::vector<bool> kernels(reflection.kernels.size()), constants(reflection.constants.size());
    for (const Fact &fact : facts) {
        const bool read =
            fact.size() >= kernel_numbers && ((fact[0] == kernel_tag && read_kernel(fact, reflection, kernels)) ||
                                              (fact[0] == constant_tag && read_constant(fact, reflection, constants)));
        if (!read) return std::nullopt;
    }
    return reflection;
}

std::string serialize(const Reflection &reflection) {
    Writer writer;
    writer.number(reflection.kernels.size());
    for (std::size_t i = 0; i < reflection.kernels.size(); ++i) {
        const Kernel &kernel = reflection.kernels[i];
        writer.text(kernel.name);
        writer.texts(kernel.scope);
        writer.text(kernel.identifier);
        writer.text(kernel.indices);
        writer.text(kernel.thread_limit.expression);
        writer.number(reflection.thread_limits[i]);
        writer.number(kernel.parameters.size());
        for (std::size_t j = 0; j < kernel.parameters.size(); ++j) {
            const KernelParameter &parameter = kernel.parameters[j];
            const ParameterFacts &facts = reflection.parameters[i][j];
            writer.text(parameter.name);
            writer.text(parameter.type);
            writer.number(static_cast<std::uint64_t>(parameter.kind));
            writer.number(static_cast<std::uint64_t>(parameter.space));
            writer.number(parameter.addressed);
            writer.text(parameter.attribute);
            writer.text(parameter.condition);
            writer.number(facts.index);
            writer.number(facts.read_only);
            writer.number(facts.length);
            writer.number(facts.type_size);
        }
    }
    writer.number(reflection.visible.size());
    for (const VisibleFunction &function : reflection.visible) {
        writer.text(function.name);
        writer.text(function.identifier);
    }
    writer.number(reflection.constants.size());
    for (std::size_t i = 0; i < reflection.constants.size(); ++i) {
        const FunctionConstant &constant = reflection.constants[i];
        writer.texts(constant.scope);
        writer.text(constant.name);
        writer.text(constant.type);
        writer.number(constant.optional);
        writer.number(reflection.constant_facts[i].index);
        writer.number(reflection.constant_facts[i].data_type);
    }
    writer.text(reflection.warnings);
    writer.text(reflection.initialisers);
    return writer.take();
}

std::optional<Reflection> deserialize(std::string_view bytes) {
    Reader reader(bytes);
    Reflection reflection;
    reflection.kernels.resize(reader.count());
    reflection.parameters.resize(reflection.kernels.size());
    reflection.thread_limits.resize(reflection.kernels.size());
    for (std::size_t i = 0; i < reflection.kernels.size() && reader.good(); ++i) {
        Kernel &kernel = reflection.kernels[i];
        kernel.name = reader.text();
        kernel.scope = reader.texts();
        kernel.identifier = reader.text();
        kernel.indices = reader.text();
        kernel.thread_limit.expression = reader.text();
        reflection.thread_limits[i] = static_cast<std::uint32_t>(reader.number());
        kernel.parameters.resize(reader.count());
        reflection.parameters[i].resize(kernel.parameters.size());
        for (std::size_t j = 0; j < kernel.parameters.size() && reader.good(); ++j) {
            KernelParameter &parameter = kernel.parameters[j];
            ParameterFacts &facts = reflection.parameters[i][j];
            parameter.name = reader.text();
            parameter.type = reader.text();
            parameter.kind = static_cast<ParameterKind>(reader.number());
            parameter.space = static_cast<AddressSpace>(reader.number());
            parameter.addressed = reader.number() != 0;
            parameter.attribute = reader.text();
            parameter.condition = reader.text();
            facts.index = static_cast<std::uint32_t>(reader.number());
            facts.read_only = static_cast<std::uint32_t>(reader.number());
            facts.length = static_cast<std::uint32_t>(reader.number());
            facts.type_size = reader.number();
        }
    }
    reflection.visible.resize(reader.count());
    for (std::size_t i = 0; i < reflection.visible.size() && reader.good(); ++i) {
        reflection.visible[i].name = reader.text();
        reflection.visible[i].identifier = reader.text();
    }
    reflection.constants.resize(reader.count());
    reflection.constant_facts.resize(reflection.constants.size());
    for (std::size_t i = 0; i < reflection.constants.size() && reader.good(); ++i) {
        FunctionConstant &constant = reflection.constants[i];
        constant.scope = reader.texts();
        constant.name = reader.text();
        constant.type = reader.text();
        constant.optional = reader.number() != 0;
        reflection.constant_facts[i].index = static_cast<std::uint32_t>(reader.number());
        reflection.constant_facts[i].data_type = static_cast<std::uint32_t>(reader.number());
    }
    reflection.warnings = reader.text();
    reflection.initialisers = reader.text();
    if (!reader.good()) return std::nullopt;
    return reflection;
}

}  // namespace smtl::msl
