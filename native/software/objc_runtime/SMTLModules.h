/* Objective-C modules as compilers emit them for GCC's runtime: what one source file defines and refers to. */
#ifndef SMTL_MODULES_H
#define SMTL_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODULE_VERSION_GCC 8
#define MODULE_VERSION_MODERN 9
#define PROTOCOL_VERSION_GCC 2
#define PROTOCOL_VERSION_MODERN 3

struct protocol_list {
    struct protocol_list *next;
    size_t count;
    struct protocol *protocols[];
};
struct protocol {
    /* A version number until the runtime has seen the protocol, then its class. */
    uintptr_t version;
    const char *name;
    struct protocol_list *adopted;
};
struct ivar_list {
    int count;
    struct {
        const char *name;
        const char *type;
        int offset;
    } ivars[];
};
struct class {
    struct class *metaclass;
    const char *superclass;
    const char *name;
    long version;
    unsigned long info;
    long instance_size;
    struct ivar_list *ivars;
    void *methods;
    void *dispatch_table;
    struct class *subclasses;
    struct class *siblings;
    struct protocol_list *protocols;
    void *collector_type;
    long abi;
    /* One for each instance variable: where compiled code looks for its offset. */
    int **offsets;
};
struct category {
    const char *name;
    const char *class_name;
    void *instance_methods;
    void *class_methods;
    struct protocol_list *protocols;
};
struct statics {
    const char *class_name;
    void *objects[];
};
struct selector {
    const char *name;
    const char *types;
};
struct symbols {
    unsigned long selector_count;
    struct selector *selectors;
    unsigned short class_count;
    unsigned short category_count;
    /* Classes, categories, then the list of statics or NULL. */
    void *definitions[];
};
struct module {
    unsigned long version;
    unsigned long size;
    const char *name;
    struct symbols *symbols;
};

/* Every module's constructor calls this. */
void __objc_exec_class(struct module *module);

/* A program or a shared library, as it lies in memory. */
struct image {
    uintptr_t start, end;
};
bool smtl_image_has(const struct image *image, const void *address, size_t size);

/* Calls `found` with every module of the process, loaded or not. */
void smtl_find_modules(void (*found)(struct module *module, const struct image *image));

#endif
