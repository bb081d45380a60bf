#include "kernel.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#include "faults.h"
#include "object.h"

namespace {

struct tls_index {
    size_t module;
    size_t offset;
};

/* A function of the dynamic loader. It allocates the thread's block if there is none yet. */
extern "C" void *__tls_get_addr(tls_index *);

struct segment_query {
    ElfW(Addr) base;
    smtl_kernel *kernel;
    ElfW(Addr) end; /* of all loaded segments */
};

int read_segments(dl_phdr_info *info, size_t, void *data) {
    auto &query = *static_cast<segment_query *>(data);
    if (info->dlpi_addr != query.base) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) &segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_TLS) query.kernel->static_threadgroup_memory = segment.p_memsz;
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X)) {
            query.kernel->code_begin = query.base + segment.p_vaddr;
            query.kernel->code_end = query.kernel->code_begin + segment.p_memsz;
        }
        if (segment.p_type == PT_LOAD) query.end = std::max(query.end, query.base + segment.p_vaddr + segment.p_memsz);
    }
    query.kernel->tls_module = info->dlpi_tls_modid;
    return 1;
}

/* Tells the kernel's code that it blocks, or polls; see `smtl::blocking` in the library's core.h. Other threads may
 * load the same object, and so set the same flags. */
bool set_flags(const smtl_marked_site *begin, const smtl_marked_site *end) {
    for (const smtl_marked_site *site = begin; site != end; ++site) {
        auto *const flag = reinterpret_cast<bool *>(reinterpret_cast<intptr_t>(site) + site->flag_offset);
        __atomic_store_n(flag, true, __ATOMIC_RELAXED);
    }
    return begin != end;
}

void find_used_arguments(smtl_kernel &kernel) {
    const smtl_kernel_image &image = *kernel.image;
    for (const smtl_used_argument *used = image.used_begin; used != image.used_end; ++used) {
        const bool buffer = used->kind == SMTL_PARAMETER_BUFFER;
        (buffer ? kernel.used_buffers : kernel.used_threadgroup_memory) |= uint32_t{1} << used->index;
    }
}

/* The kernel, the functions that are linked with it, and dynamic libraries. */
ptrdiff_t count_parts(const smtl_kernel &kernel) {
    ptrdiff_t parts = 1;
    while (smtl_kernel_find_function(&kernel, uint32_t(parts - 1)) != nullptr) ++parts;
    for (uint32_t i = 0; i < SMTL_DYNAMIC_LIBRARIES; ++i)
        parts += dlsym(kernel.handle, ("smtl_library_" + std::to_string(i)).c_str()) != nullptr;
    return parts;
}

/* Clang's instrumentation lists the constants of each part in an initialiser, which this calls instead of the loader.
 * Any further initialiser would come from the source, and is refused. */
bool list_globals(const smtl_kernel &kernel, const smtl_sanitized_globals &listed, std::vector<uintptr_t> &entries) {
    constexpr size_t words = 8; /* of an entry */
    const auto *const list = static_cast<const smtl_global_lister *>(dlsym(kernel.handle, "smtl_lister"));
    if (list == nullptr || list->end - list->begin > count_parts(kernel)) return false;
    for (auto lister = list->begin; lister != list->end; ++lister) {
        (*lister)();
        entries.insert(entries.end(), listed.entries, listed.entries + listed.count * words);
    }
    return true;
}

struct kernel_deleter {
    void operator()(smtl_kernel *kernel) const { smtl_kernel_release(kernel); }
};

std::string loader_error() {
    const char *text = dlerror();
    return text != nullptr ? text : "unknown error of the dynamic loader";
}

smtl_kernel *load(const char *path, const char *entry, std::string &problem) {
    std::unique_ptr<smtl_kernel, kernel_deleter> kernel(new smtl_kernel);
    kernel->handle = smtl::load_object(path, problem);
    if (kernel->handle == nullptr) return nullptr;
    kernel->image = static_cast<const smtl_kernel_image *>(dlsym(kernel->handle, entry));
    if (kernel->image == nullptr) {
        problem = std::string("no kernel '") + entry + "' in " + path + ": " + loader_error();
        return nullptr;
    }
    if (kernel->image->abi_version != SMTL_ABI_VERSION) {
        problem = std::string(path) + " was compiled for version " + std::to_string(kernel->image->abi_version) +
                  " of the kernel interface; this engine has version " + std::to_string(SMTL_ABI_VERSION);
        return nullptr;
    }
    link_map *map = nullptr;
    if (dlinfo(kernel->handle, RTLD_DI_LINKMAP, &map) != 0) {
        problem = std::string("cannot inspect ") + path + ": " + loader_error();
        return nullptr;
    }
    segment_query query{map->l_addr, kernel.get(), 0};
    dl_iterate_phdr(read_segments, &query);
    if (const void *const globals = dlsym(kernel->handle, "smtl_globals")) {
        const auto &listed = *static_cast<const smtl_sanitized_globals *>(globals);
        std::vector<uintptr_t> entries;
        if (!list_globals(*kernel, listed, entries)) {
            problem = std::string(path) + " has initialisers, which would run when it is loaded";
            return nullptr;
        }
        kernel->checks =
            smtl::kernel_checks::load(path, query.base, query.end, {entries.data(), entries.size() / 8}, problem);
        if (kernel->checks == nullptr) return nullptr;
        kernel->static_threadgroup_memory = kernel->checks->threadgroup_memory();
    }
    kernel->blocks = set_flags(kernel->image->blocking_begin, kernel->image->blocking_end);
    kernel->polls = set_flags(kernel->image->polling_begin, kernel->image->polling_end);
    if (kernel->blocks) set_flags(kernel->image->linked_blocking_begin, kernel->image->linked_blocking_end);
    if (kernel->polls) set_flags(kernel->image->linked_polling_begin, kernel->image->linked_polling_end);
    find_used_arguments(*kernel);
    return kernel.release();
}

}  // namespace

void *smtl_kernel::static_memory_of_thread() const {
    tls_index start{tls_module, 0};
    return static_threadgroup_memory == 0 ? nullptr : __tls_get_addr(&start);
}

/* A moving average, so that one interruption does not decide. */
void smtl_kernel::learn_cost(uint64_t threadgroups, uint64_t nanoseconds) const {
    constexpr uint64_t limit = UINT32_MAX / 4;
    const uint64_t measured = std::min(nanoseconds / std::max<uint64_t>(threadgroups, 1), limit);
    const uint64_t before = threadgroup_cost.load(std::memory_order_relaxed);
    const uint64_t average = before == UINT32_MAX ? measured : (3 * before + measured) / 4;
    threadgroup_cost.store(uint32_t(average), std::memory_order_relaxed);
}

const smtl_visible_function *smtl_kernel_find_function(const smtl_kernel *kernel, uint32_t number) {
    const std::string symbol = "smtl_function_" + std::to_string(number);
    return static_cast<const smtl_visible_function *>(dlsym(kernel->handle, symbol.c_str()));
}

smtl_function_table *smtl_function_table_create(const smtl_kernel *kernel, size_t count) {
    constexpr size_t most = (SIZE_MAX - sizeof(smtl_function_table)) / sizeof(const smtl_visible_function *);
    if (count > most) return nullptr;
    auto *const table = static_cast<smtl_function_table *>(
        std::calloc(1, sizeof(smtl_function_table) + count * sizeof(const smtl_visible_function *)));
    if (table == nullptr) return nullptr;
    table->mark = SMTL_FUNCTION_TABLE_MARK;
    table->count = count;
    table->image = kernel->image->identity;
    return table;
}

void smtl_function_table_set(smtl_function_table *table, size_t index, const smtl_visible_function *function) {
    std::atomic_ref(table->functions[index]).store(function, std::memory_order_relaxed);
}

void smtl_function_table_free(smtl_function_table *table) {
    if (table == nullptr) return;
    /* For kernels that still have the address. A plain store before free() is one that compilers leave out. */
    std::atomic_ref(table->mark).store(0, std::memory_order_relaxed);
    std::free(table);
}

char *smtl::copy_message(const std::string &text) { return strdup(text.c_str()); }

smtl_kernel *smtl_kernel_load(const char *path, const char *entry, char **error) {
    *error = nullptr;
    try {
        std::string problem;
        smtl::install_fault_handlers();
        smtl_kernel *kernel = load(path, entry, problem);
        if (kernel == nullptr) *error = smtl::copy_message(problem);
        return kernel;
    } catch (const std::exception &failure) {
        *error = strdup(failure.what());
        return nullptr;
    }
}

void smtl_kernel_release(smtl_kernel *kernel) {
    if (kernel == nullptr) return;
    if (kernel->handle != nullptr) dlclose(kernel->handle);
    delete kernel;
}

void smtl_kernel_name_argument(smtl_kernel *kernel, bool threadgroup, uint32_t index, const char *name) {
    if (kernel->checks != nullptr && index < SMTL_MAX_BUFFER_ARGUMENTS)
        kernel->checks->name_argument(threadgroup, index, name);
}

size_t smtl_kernel_static_threadgroup_memory(const smtl_kernel *kernel) { return kernel->static_threadgroup_memory; }

uint32_t smtl_kernel_used_mask(const smtl_kernel *kernel, bool threadgroup) {
    return threadgroup ? kernel->used_threadgroup_memory : kernel->used_buffers;
}

uint32_t smtl_kernel_argument_mask(const smtl_kernel *kernel, bool threadgroup) {
    const smtl_parameter_kind kind = threadgroup ? SMTL_PARAMETER_THREADGROUP : SMTL_PARAMETER_BUFFER;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < kernel->image->parameter_count; ++i)
        if (kernel->image->parameters[i].kind == kind) mask |= uint32_t{1} << kernel->image->parameters[i].index;
    return mask;
}
