/* Finds the Objective-C modules of a process before their constructors run. Only the constructors refer to the modules,
 * so this looks through memory for them: a module begins with its version and size, and points to lists in the same
 * image that must make sense. */
#define _GNU_SOURCE
#include "SMTLModules.h"

#include <link.h>
#include <stdlib.h>

/* AddressSanitizer has zones between variables that nobody else may read, and ThreadSanitizer is not ready yet. */
#define READS_ANYTHING __attribute__((no_sanitize("address", "thread", "undefined")))

struct search {
    size_t count, capacity;
    struct {
        struct module *module;
        struct image image;
    } *modules;
};

bool smtl_image_has(const struct image *image, const void *address, size_t size) {
    const uintptr_t at = (uintptr_t)address;
    return at >= image->start && at <= image->end && size <= image->end - at;
}

static bool has_aligned(const struct image *image, const void *address, size_t size) {
    return (uintptr_t)address % sizeof(void *) == 0 && smtl_image_has(image, address, size);
}

READS_ANYTHING static bool is_module(const struct image *image, const struct module *module) {
    if ((module->version != MODULE_VERSION_GCC && module->version != MODULE_VERSION_MODERN) ||
        module->size != sizeof *module || !smtl_image_has(image, module->name, 1) ||
        !has_aligned(image, module->symbols, sizeof *module->symbols)) {
        return false;
    }
    const struct symbols *symbols = module->symbols;
    const size_t definitions = (size_t)symbols->class_count + symbols->category_count;
    if (!has_aligned(image, symbols->definitions, definitions * sizeof symbols->definitions[0]) ||
        symbols->selector_count > (image->end - image->start) / sizeof(struct selector) ||
        (symbols->selector_count > 0 &&
         !has_aligned(image, symbols->selectors, symbols->selector_count * sizeof *symbols->selectors))) {
        return false;
    }
    for (size_t i = 0; i < definitions; i++)
        if (!has_aligned(image, symbols->definitions[i], sizeof(struct category))) return false;
    return true;
}

static void add(struct search *search, struct module *module, struct image image) {
    if (search->count == search->capacity) {
        const size_t larger = search->capacity * 2 + 64;
        void *grown = realloc(search->modules, larger * sizeof *search->modules);
        if (grown == NULL) return; /* its constructor will load it */
        search->modules = grown;
        search->capacity = larger;
    }
    search->modules[search->count].module = module;
    search->modules[search->count++].image = image;
}

static int search_image(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    struct image image = {.start = UINTPTR_MAX, .end = 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD) {
            const uintptr_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
            image.start = start < image.start ? start : image.start;
            image.end = end > image.end ? end : image.end;
        }
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) == 0 || (part->p_flags & PF_R) == 0) continue;
        const uintptr_t alignment = sizeof(void *) - 1;
        const uintptr_t start = (info->dlpi_addr + part->p_vaddr + alignment) & ~alignment;
        const uintptr_t end = info->dlpi_addr + part->p_vaddr + part->p_filesz;
        for (uintptr_t at = start; at + sizeof(struct module) <= end; at += sizeof(void *)) {
            struct module *module = (struct module *)at;  // NOLINT(performance-no-int-to-ptr)
            if (is_module(&image, module)) add(context, module, image);
        }
    }
    return 0;
}

void smtl_find_modules(void (*found)(struct module *module, const struct image *image)) {
    /* All are found before one is loaded: loading may run code of the program, which may load images. */
    struct search search = {0};
    dl_iterate_phdr(search_image, &search);
    for (size_t i = 0; i < search.count; i++) found(search.modules[i].module, &search.modules[i].image);
    free(search.modules);
}
