/* The file of a kernel that is cut off, or damaged where it says what goes to which addresses: the engine refuses it
 * with a reason or loads it, and no signal ends the process. The dynamic loader reads the rest of the file, and
 * believes it. */
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include <elf.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "compiled_source.h"

namespace {

enum outcome {
    loaded,
    refused_with_reason,
    refused_without_reason,
    died
};

/* What becomes of a process that loads the file. */
outcome load_in_child(const std::string &path) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        char *error = nullptr;
        smtl_kernel *const kernel = smtl_kernel_load(path.c_str(), "smtl_entry", &error);
        const bool has_reason = error != nullptr && *error != '\0';
        const outcome seen = kernel != nullptr ? loaded : has_reason ? refused_with_reason : refused_without_reason;
        smtl_kernel_release(kernel);
        _exit(seen);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) > refused_without_reason)
        return died;
    return outcome(WEXITSTATUS(status));
}

class damage {
public:
    explicit damage(const std::string &path) {
        std::ifstream stream(path, std::ios::binary);
        good.assign(std::istreambuf_iterator<char>(stream), {});
        CHECK(mkdtemp(folder_.data()) != nullptr);
    }
    damage(const damage &) = delete;
    damage &operator=(const damage &) = delete;
    ~damage() {
        std::filesystem::remove_all(folder_);
        CHECK(seen[loaded] > 0 && seen[refused_with_reason] > 0);
    }

    outcome load(const std::string &bytes) {
        const std::string path = folder_ + "/damaged.so";
        std::filesystem::remove(path);
        std::ofstream(path, std::ios::binary) << bytes;
        std::filesystem::permissions(path, std::filesystem::perms::owner_read);
        const outcome result = load_in_child(path);
        ++seen[result];
        return result;
    }

    void flip(size_t at) {
        std::string bad = good;
        bad[at] = char(~bad[at]);
        const outcome result = load(bad);
        if (!CHECK(result == loaded || result == refused_with_reason))
            std::fprintf(stderr, "byte %zu damaged: %d\n", at, result);
    }

    void cut(size_t length) {
        const outcome result = load(good.substr(0, length));
        if (!CHECK(result == loaded || result == refused_with_reason))
            std::fprintf(stderr, "cut to %zu of %zu bytes: %d\n", length, good.size(), result);
    }

    std::string good;
    unsigned seen[4] = {};

private:
    std::string folder_ = "/tmp/software-metal-damage-XXXXXX";
};

/* The offsets of the bytes that say where the segments are: the file's header, and the numbers in the headers of
 * segments with code or data. */
std::vector<size_t> offsets_in_headers(const std::string &file) {
    ElfW(Ehdr) header{};
    std::memcpy(&header, file.data(), sizeof header);
    std::vector<size_t> offsets;
    for (size_t i = 0; i < sizeof header; ++i) offsets.push_back(i);
    for (size_t i = 0; i < header.e_phnum; ++i) {
        const size_t at = header.e_phoff + i * sizeof(ElfW(Phdr));
        ElfW(Phdr) segment{};
        std::memcpy(&segment, file.data() + at, sizeof segment);
        if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
        for (size_t k = offsetof(ElfW(Phdr), p_flags); k < sizeof segment; ++k) offsets.push_back(at + k);
    }
    return offsets;
}

/* The offsets of the upper bytes of the addresses that the loader writes to. */
std::vector<size_t> offsets_in_relocations(const std::string &file) {
    ElfW(Ehdr) header{};
    std::memcpy(&header, file.data(), sizeof header);
    std::vector<size_t> offsets;
    for (size_t i = 0; i < header.e_shnum; ++i) {
        ElfW(Shdr) section{};
        std::memcpy(&section, file.data() + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_RELA || !(section.sh_flags & SHF_ALLOC)) continue;
        for (size_t at = section.sh_offset; at < section.sh_offset + section.sh_size; at += sizeof(ElfW(Rela)))
            for (size_t k = 3; k < sizeof(ElfW(Addr)); ++k) offsets.push_back(at + k);
    }
    return offsets;
}

}  // namespace

int main() {
    const compiled library(
        head + "kernel void k(device float *a, threadgroup float *shared, uint i [[thread_index_in_threadgroup]]) {\n"
               "    threadgroup float own[64];\n"
               "    own[i] = shared[i] = a[i];\n"
               "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
               "    a[i] = own[63 - i] + shared[63 - i];\n"
               "}\n");
    const std::string path = library.specialize("k", {});
    if (CHECK(!path.empty())) {
        damage file(path);
        CHECK(file.load(file.good) == loaded);
        for (const size_t offset : offsets_in_headers(file.good)) file.flip(offset);
        for (const size_t offset : offsets_in_relocations(file.good)) file.flip(offset);
        for (size_t length = 0; length < file.good.size(); length += 97) file.cut(length);
    }
    return check::report("engine/damage_test");
}
