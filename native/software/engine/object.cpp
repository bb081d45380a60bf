#include "object.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/mapped_file.h"

namespace smtl {
namespace {

class descriptor {
public:
    explicit descriptor(const std::string &path) : number_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {}
    descriptor(const descriptor &) = delete;
    descriptor &operator=(const descriptor &) = delete;
    ~descriptor() {
        if (number_ >= 0) close(number_);
    }
    int number() const { return number_; }

private:
    int number_;
};

/* A shared object as a linker writes it. Nothing that the file says of itself is trusted. */
class shared_object {
public:
    explicit shared_object(int file) : file_(file) {}

    /* Why it must not be loaded; empty if nothing speaks against it. */
    std::string objection() {
        const auto *const header = file_.at<ElfW(Ehdr)>(0, 1);
        if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_DYN ||
            header->e_phentsize != sizeof(ElfW(Phdr)))
            return "it is not a shared object";
        segments_ = file_.at<ElfW(Phdr)>(header->e_phoff, header->e_phnum);
        segment_count_ = header->e_phnum;
        if (segments_ == nullptr) return "its segments cannot be read";
        const ElfW(Phdr) *dynamic = nullptr;
        uint64_t end = 0; /* of the segments so far */
        for (size_t i = 0; i < segment_count_; ++i) {
            const ElfW(Phdr) &segment = segments_[i];
            const bool both = (segment.p_flags & (PF_W | PF_X)) == (PF_W | PF_X);
            if (both && (segment.p_type == PT_LOAD || segment.p_type == PT_GNU_STACK))
                return "it has a segment that is both writable and executable";
            if (segment.p_type == PT_DYNAMIC) dynamic = &segment;
            if (segment.p_type != PT_LOAD) continue;
            if (segment.p_filesz > 0 && file_.at<char>(segment.p_offset, segment.p_filesz) == nullptr)
                return "it is damaged: a segment lies outside the file";
            if (segment.p_filesz > segment.p_memsz)
                return "it is damaged: a segment has more bytes in the file than in memory";
            if (segment.p_vaddr < end) return "it is damaged: segments overlap or are not in order";
            if (segment.p_vaddr > most_memory || segment.p_memsz > most_memory)
                return "it is damaged: a segment takes more memory than a kernel can have";
            end = segment.p_vaddr + segment.p_memsz;
        }
        if (dynamic == nullptr) return "it has no dynamic section";
        return objection_to(loaded<ElfW(Dyn)>(dynamic->p_vaddr, dynamic->p_memsz / sizeof(ElfW(Dyn))),
                            dynamic->p_memsz / sizeof(ElfW(Dyn)));
    }

private:
    /* No kernel takes as much. */
    static constexpr uint64_t most_memory = uint64_t{1} << 32;

    /* What will lie at the address; NULL if the file does not hold all of it. */
    template <class T> const T *loaded(uint64_t address, uint64_t count) const {
        for (size_t i = 0; i < segment_count_; ++i) {
            const ElfW(Phdr) &segment = segments_[i];
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr <= segment.p_filesz &&
                count <= (segment.p_filesz - (address - segment.p_vaddr)) / sizeof(T))
                return file_.at<T>(segment.p_offset + (address - segment.p_vaddr), count);
        }
        return nullptr;
    }

    /* Whether the bytes will lie in memory that the loader may write to. */
    bool is_writable(uint64_t address, uint64_t count) const {
        return std::any_of(segments_, segments_ + segment_count_, [&](const ElfW(Phdr) & segment) {
            return segment.p_type == PT_LOAD && (segment.p_flags & PF_W) && address >= segment.p_vaddr &&
                   count <= segment.p_memsz && address - segment.p_vaddr <= segment.p_memsz - count;
        });
    }

    std::string objection_to(const ElfW(Dyn) * entries, size_t count) const {
        if (entries == nullptr) return "its dynamic section cannot be read";
        uint64_t strings = 0, strings_size = 0, relocations = 0, relocations_size = 0, jumps = 0, jumps_size = 0,
                 symbols = 0;
        for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i) {
            const uint64_t value = entries[i].d_un.d_val;
            switch (entries[i].d_tag) {
            case DT_INIT:
            case DT_INIT_ARRAY:
            case DT_PREINIT_ARRAY: return "it has initialisers, which would run when it is loaded";
            case DT_FINI:
            case DT_FINI_ARRAY: return "it has finalisers, which would run when it is unloaded";
            case DT_RPATH:
            case DT_RUNPATH: return "it has a search path for libraries";
            case DT_AUDIT:
            case DT_DEPAUDIT:
            case DT_AUXILIARY:
            case DT_FILTER: return "it names an audit or filter library";
            case DT_TEXTREL: return "it has text relocations";
            case DT_REL: return "it has relocations without addends";
            case DT_STRTAB: strings = value; break;
            case DT_STRSZ: strings_size = value; break;
            case DT_SYMTAB: symbols = value; break;
            case DT_RELA: relocations = value; break;
            case DT_RELASZ: relocations_size = value; break;
            case DT_JMPREL: jumps = value; break;
            case DT_PLTRELSZ: jumps_size = value; break;
            default: break;
            }
        }
        const char *const text = loaded<char>(strings, strings_size);
        if (text == nullptr || strings_size == 0 || text[strings_size - 1] != '\0') return "its names cannot be read";
        const auto name = [&](uint64_t offset) { return std::string_view(offset < strings_size ? text + offset : ""); };
        for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; ++i)
            if (entries[i].d_tag == DT_NEEDED && !is_known_library(name(entries[i].d_un.d_val)))
                return "it needs the library '" + std::string(name(entries[i].d_un.d_val)) + "'";
        for (const auto &[address, size] : {std::pair(relocations, relocations_size), std::pair(jumps, jumps_size)})
            if (std::string found = objection_to_relocations(address, size, symbols, name); size != 0 && !found.empty())
                return found;
        return {};
    }

    /* Objects to relocations that run code, and to those through a symbol that chooses a function or registers
     * finalisers. */
    template <class Name>
    std::string objection_to_relocations(uint64_t address, uint64_t size, uint64_t symbols, const Name &name) const {
        const size_t count = size / sizeof(ElfW(Rela));
        const auto *const relocations = loaded<ElfW(Rela)>(address, count);
        if (relocations == nullptr) return "its relocations cannot be read";
        for (size_t i = 0; i < count; ++i) {
            if (ELF64_R_TYPE(relocations[i].r_info) == indirect_relocation)
                return "it has ifuncs, which would run when it is loaded";
            if (!is_writable(relocations[i].r_offset, sizeof(uint64_t)))
                return "it is damaged: the loader would write to memory that is not the kernel's data";
            const uint64_t index = ELF64_R_SYM(relocations[i].r_info);
            if (index == 0) continue;
            const auto *const symbol = loaded<ElfW(Sym)>(symbols + index * sizeof(ElfW(Sym)), 1);
            if (symbol == nullptr) return "its symbols cannot be read";
            if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
                return "it has ifuncs, which would run when it is loaded";
            if (symbol->st_shndx == SHN_UNDEF && registers_finalisers(name(symbol->st_name)))
                return "it has objects with destructors, which would run when it is unloaded";
        }
        return {};
    }

    static bool registers_finalisers(std::string_view name) {
        constexpr std::array<std::string_view, 6> functions = {
            "__cxa_atexit", "__cxa_thread_atexit", "__cxa_thread_atexit_impl", "atexit", "at_quick_exit", "on_exit"};
        return std::find(functions.begin(), functions.end(), name) != functions.end();
    }

    static bool is_known_library(std::string_view name) {
        constexpr std::array<std::string_view, 5> libraries = {"libm.so.", "libmvec.so.", "libc.so.", "libgcc_s.so.",
                                                               "ld-linux"};
        return std::any_of(libraries.begin(), libraries.end(), [&](std::string_view known) {
            return name.starts_with(known) && name.find('/') == name.npos;
        });
    }

#if defined(__aarch64__)
    static constexpr uint32_t indirect_relocation = R_AARCH64_IRELATIVE;
#else
    static constexpr uint32_t indirect_relocation = R_X86_64_IRELATIVE;
#endif

    const mapped_file file_;
    const ElfW(Phdr) *segments_ = nullptr;
    size_t segment_count_ = 0;
};

/* The open files of this process, as every process names them: a debugger opens what it finds in the list of loaded
 * objects, and by /proc/self it would open a file of its own. Another namespace's /proc has other numbers. */
std::string folder_of_open_files() {
    std::array<char, 32> self{};
    const ssize_t length = readlink("/proc/self", self.data(), self.size());
    const std::string number = std::to_string(getpid());
    return "/proc/" + (std::string_view(self.data(), std::max<ssize_t>(length, 0)) == number ? number : "self") +
           "/fd/";
}

/* A path of the open file, spelt in a new way by each call, and no shorter than `least`. For the loader two files with
 * one path are the same file, and the system gives the number of a closed descriptor to the next file. */
std::string name_for_loader(int file, size_t least) {
    static std::atomic<uint64_t> loads{0};
    std::string path = folder_of_open_files();
    for (uint64_t bits = ++loads; bits != 0 || path.size() < least; bits >>= 1) path += bits & 1 ? ".//" : "./";
    return path + std::to_string(file);
}

/* From here on the list of loaded objects, which debuggers and profilers read, says where the file lies: the number of
 * its descriptor will be another file's. */
void rename_object(void *handle, const std::string &path) {
    // Threads that load one file get one object.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    link_map *map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name == nullptr) return;
    if (std::strlen(map->l_name) >= path.size() && path != map->l_name)
        std::memcpy(map->l_name, path.c_str(), path.size() + 1);
}

/* Metal's linker would miss it. Empty for other errors of the loader. */
std::string describe_undefined(std::string_view error) {
    constexpr std::string_view words = "undefined symbol: ";
    const size_t at = error.find(words);
    if (at == error.npos) return {};
    error.remove_prefix(at + words.size());
    const std::string symbol(error.substr(0, error.find_first_of(", ")));
    // What is no function's name could be read as a type's.
    char *const demangled =
        symbol.starts_with("_Z") ? abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr) : nullptr;
    const std::unique_ptr<char, decltype(&std::free)> name(demangled, std::free);
    return "'" + (name != nullptr ? std::string(name.get()) : symbol) +
           "' is declared and used, and nothing defines it";
}

}  // namespace

void *load_object(const std::string &path, std::string &problem) {
    const descriptor file(path);
    struct stat status{};
    problem = "cannot load the kernel " + path + ": ";
    if (file.number() < 0 || fstat(file.number(), &status) != 0) {
        problem += errno == ELOOP ? "it is a symbolic link" : std::strerror(errno);
        return nullptr;
    }
    if (!S_ISREG(status.st_mode) || status.st_size <= 0) {
        problem += "it is not a shared object";
        return nullptr;
    }
    if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        problem += status.st_uid != geteuid() ? "it belongs to another user" : "others than its owner may write to it";
        return nullptr;
    }
    if (const std::string objection = shared_object(file.number()).objection(); !objection.empty()) {
        problem += objection;
        return nullptr;
    }
    void *const handle = dlopen(name_for_loader(file.number(), path.size()).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char *const text = dlerror();
        const std::string undefined = describe_undefined(text != nullptr ? text : "");
        if (!undefined.empty())
            problem = undefined;
        else
            problem += text != nullptr ? text : "unknown error of the dynamic loader";
    } else {
        rename_object(handle, path);
    }
    return handle;
}

}  // namespace smtl
