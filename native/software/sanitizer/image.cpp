#include "image.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "msl/include/smtl/abi.h"
#include "support/mapped_file.h"

namespace smtl::sanitize {
namespace {

/* The variable's own name: what a demangled `kernel(float*)::scratch` ends with. If the optimiser splits a variable, it
 * appends ".0" and the like to the names of the parts. */
std::string name_of(const char *symbol) {
    constexpr std::string_view table = SMTL_LOCAL_TABLE_START;
    const std::string whole = symbol;
    if (whole.starts_with(table)) {
        const size_t start = whole.find('.', table.size()) + 1;
        return whole.substr(start, whole.find('.', start) - start);
    }
    std::string name = whole.substr(0, whole.find('.', 1));
    int status = 0;
    /* Old demanglers do not know the types half and bfloat. Here they occur in lists of parameters alone, which are cut
     * off below, so any other type will do. */
    for (const std::string_view type : {"DF16_", "DF16b"})
        for (size_t at = name.find(type); at != std::string::npos; at = name.find(type, at))
            name.replace(at, type.size(), "f");
    char *const demangled = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    if (demangled != nullptr) name = demangled;
    std::free(demangled);
    const size_t scope = name.rfind("::");
    return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace

std::unique_ptr<image> image::read(const std::string &path, uintptr_t base, uintptr_t end,
                                   const smtl_sanitized_globals &globals, std::string &problem) {
    auto result = std::make_unique<image>();
    result->path_ = path;
    result->base_ = base;
    result->end_ = end;
    if (!result->read_symbols(problem)) return nullptr;
    /* The words of each: address, size, size with the guard behind it, name, file, and three that are not used here. */
    constexpr size_t words = 8;
    for (size_t i = 0; i < globals.count; ++i) {
        const uintptr_t *const entry = globals.entries + i * words;
        result->constants_.push_back(
            {entry[0], entry[0] + entry[1], entry[0] + entry[2], name_of(reinterpret_cast<const char *>(entry[3]))});
    }
    return result;
}

bool image::read_symbols(std::string &problem) {
    const int number = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const mapped_file file(number);
    if (number >= 0) close(number);
    const auto *const header = file.at<ElfW(Ehdr)>(0);
    const auto *const sections = header != nullptr ? file.at<ElfW(Shdr)>(header->e_shoff, header->e_shnum) : nullptr;
    problem = "the symbols of " + path_ + " cannot be read";
    if (sections == nullptr) return false;
    writable_ = end_;
    for (unsigned i = 0; i < header->e_shnum; ++i)
        if ((sections[i].sh_flags & (SHF_WRITE | SHF_ALLOC)) == (SHF_WRITE | SHF_ALLOC))
            writable_ = std::min<uintptr_t>(writable_, base_ + sections[i].sh_addr);
    for (unsigned i = 0; i < header->e_shnum; ++i) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
        const uint64_t count = sections[i].sh_size / sizeof(ElfW(Sym));
        const auto *const symbols = file.at<ElfW(Sym)>(sections[i].sh_offset, count);
        const ElfW(Shdr) &names = sections[sections[i].sh_link];
        const char *const text = file.at<char>(names.sh_offset, names.sh_size);
        if (symbols == nullptr || text == nullptr) return false;
        for (uint64_t s = 0; s < count; ++s)
            if (ELF64_ST_TYPE(symbols[s].st_info) == STT_OBJECT && symbols[s].st_shndx != SHN_UNDEF &&
                symbols[s].st_shndx < header->e_shnum && symbols[s].st_size > 0 && symbols[s].st_name < names.sh_size)
                add_object(base_ + symbols[s].st_value, symbols[s].st_size, text + symbols[s].st_name,
                           sections[symbols[s].st_shndx].sh_type == SHT_NOBITS);
    }
    std::sort(variables_.begin(), variables_.end(), [](const auto &a, const auto &b) { return a->base < b->base; });
    return true;
}

/* An object without an initial value is a threadgroup variable if it has their alignment, which the compiler gives to
 * nothing else. */
void image::add_object(uintptr_t begin, size_t size, const char *symbol, bool uninitialised) {
    constexpr uintptr_t spread = SMTL_SANITIZED_VARIABLE_ALIGNMENT;
    if (std::string_view(symbol).ends_with(SMTL_SECOND_NAME_END)) return;
    if (begin % spread != 0 || !uninitialised) {
        others_.emplace_back(begin, begin + size);
        return;
    }
    auto variable = std::make_unique<smtl_watched>();
    variable->base = begin;
    variable->length = size;
    variable->kind = memory_kind::threadgroup_variable;
    variable->label = name_of(symbol);
    variable->range = {begin - spread / 2, begin + spread / 2};
    variable->written = std::make_unique<written_bytes>(0, 0);
    if (!variable->written->reserve(size)) variable->written.reset();
    variables_.push_back(std::move(variable));
}

size_t image::threadgroup_memory() const {
    constexpr size_t alignment = 16;
    size_t bytes = 0;
    for (const auto &variable : variables_) bytes += (variable->length + alignment - 1) / alignment * alignment;
    return bytes;
}

bool image::is_other_object(uintptr_t address) const {
    return std::any_of(others_.begin(), others_.end(),
                       [address](const auto &object) { return address >= object.first && address < object.second; });
}

smtl_watched *image::variable_near(uintptr_t address) const {
    constexpr uintptr_t spread = SMTL_SANITIZED_VARIABLE_ALIGNMENT;
    const uintptr_t nearest = (address + spread / 2) & ~(spread - 1);
    const auto found = std::lower_bound(variables_.begin(), variables_.end(), nearest,
                                        [](const auto &variable, uintptr_t at) { return variable->base < at; });
    if (found == variables_.end() || (*found)->base != nearest) return nullptr;
    const bool within = address >= nearest && address < nearest + (*found)->length;
    return within || (address >= writable_ && !is_other_object(address)) ? found->get() : nullptr;
}

const constant_table *image::constant_before(uintptr_t address, size_t size) const {
    for (const constant_table &table : constants_)
        if (address < table.guard_end && address + size > table.end) return &table;
    return nullptr;
}

}  // namespace smtl::sanitize
