/* The Metal Shading Language: from source text to shared objects. Called by framework/, implemented in C++. */
#ifndef SMTL_MSL_H
#define SMTL_MSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A checked source: immutable, reference counted, usable from many threads. */
typedef struct smtl_library smtl_library;

typedef struct {
    const char *name;
    const char *value; /* NULL: defined as empty */
} smtl_macro;

typedef enum {
    SMTL_MATH_SAFE,
    SMTL_MATH_RELAXED,
    SMTL_MATH_FAST
} smtl_math_mode;

/* Which functions of a source other libraries may call: none unless it becomes a dynamic library. */
typedef enum {
    SMTL_EXPORTS_NONE,
    SMTL_EXPORTS_MARKED, /* those with __attribute__((visibility("default"))) */
    SMTL_EXPORTS_ALL /* but for those with __attribute__((visibility("hidden"))) */
} smtl_exports;

typedef struct {
    const smtl_macro *macros;
    size_t macro_count;
    uint32_t language_version; /* as MTLLanguageVersion: (major << 16) + minor; 0 for the newest */
    smtl_math_mode math_mode;
    const char *const *include_paths; /* where #include "..." looks; may be NULL */
    size_t include_path_count;
    const char *name; /* what diagnostics call the source; NULL: "program_source" */
    bool enable_logging; /* what kernels log goes where the launch says */
    smtl_exports exports;
} smtl_compile_options;

/* Whether there is a version of the language with that number, as MTLLanguageVersion has it. */
bool smtl_is_language_version(uint32_t version);

/* Bytes and alignment of one value of a scalar, vector or matrix type, as MTLDataType numbers them; 0 for any other. */
size_t smtl_data_type_size(uint64_t data_type);
size_t smtl_data_type_alignment(uint64_t data_type);

/* Compiles `source` (any bytes). NULL on error. `*log` gets a malloc'd text: the errors, or the warnings of a success,
 * with the user's own lines; NULL if there is nothing to say. */
smtl_library *smtl_library_compile(const char *source, size_t length, const smtl_compile_options *options, char **log);
smtl_library *smtl_library_retain(smtl_library *library);
void smtl_library_release(smtl_library *library);

/* Kernel names in source order (host names if given). */
size_t smtl_library_function_count(const smtl_library *library);
const char *smtl_library_function_name(const smtl_library *library, size_t index);

/* The names of the functions that kernels may call through tables, in source order. */
size_t smtl_library_visible_function_count(const smtl_library *library);
const char *smtl_library_visible_function_name(const smtl_library *library, size_t index);

typedef enum {
    SMTL_ARGUMENT_BUFFER,
    SMTL_ARGUMENT_THREADGROUP_MEMORY
} smtl_argument_kind;
typedef enum {
    SMTL_ACCESS_READ_ONLY,
    SMTL_ACCESS_READ_WRITE
} smtl_access;

struct smtl_member;

/* A type as a host sees it that fills memory for a kernel. */
typedef struct smtl_type {
    uint32_t data_type; /* MTLDataType: a scalar, vector or matrix, Struct, Array, Pointer; 0: none of these */
    size_t size, alignment;
    size_t argument_count; /* indices of an argument buffer that a value takes: its parts have their own */
    const struct smtl_member *members; /* of a Struct */
    size_t member_count;
    const struct smtl_type *element; /* of an Array or Pointer */
    size_t length, stride; /* of an Array */
    smtl_access access; /* of a Pointer */
} smtl_type;

typedef struct smtl_member {
    const char *name;
    size_t offset;
    uint32_t argument_index; /* from that of the structure: [[id(n)]], else the first after the member before */
    const smtl_type *type;
} smtl_member;

typedef struct {
    const char *name;
    const char *type; /* as written, for people */
    smtl_argument_kind kind;
    smtl_access access; /* constant and const pointers are read only */
    uint32_t index;
    size_t type_size; /* of the pointed-to type if it is known, else 0 */
    uint32_t array_length; /* of an array of buffers, which takes as many indices; 1 for others */
    bool function_table; /* and no memory */
    bool conditional; /* present only if a function constant says so */
    bool used; /* true until machine code tells otherwise: a pipeline knows, a library does not */
} smtl_argument;

/* The buffer and threadgroup arguments of a kernel; the array lives as long as the library. SIZE_MAX: no such function.
 */
size_t smtl_library_arguments(smtl_library *library, const char *function, const smtl_argument **arguments);

/* The type that a buffer argument refers to; NULL if it is not known. It lives as long as the library. The first
 * question about a structure runs the compiler. */
const smtl_type *smtl_library_pointee(smtl_library *library, const smtl_argument *argument);

/* What [[max_total_threads_per_threadgroup(n)]] of a kernel says; 0 if it says nothing. */
uint32_t smtl_library_max_total_threads(const smtl_library *library, const char *function);

typedef struct {
    const char *name;
    uint32_t index;
    uint32_t data_type; /* MTLDataType value */
    bool required; /* false if the kernel asks is_function_constant_defined */
} smtl_function_constant;

/* The function constants that a library declares. */
size_t smtl_library_function_constants(smtl_library *library, const smtl_function_constant **constants);

/* A value given for a function constant: by index, or by name if `name` is not NULL. `bytes` holds its C value. */
typedef struct {
    const char *name;
    uint32_t index;
    uint32_t data_type; /* MTLDataType value */
    uint8_t bytes[32]; /* a long4 */
} smtl_constant_value;

/* A visible function to link, with its own constants fixed. */
typedef struct {
    smtl_library *library;
    const char *function;
    const smtl_constant_value *values;
    size_t count;
} smtl_linked_function;

/* A library that was compiled to export functions; its name is for messages. */
typedef struct {
    smtl_library *library;
    const char *install_name;
} smtl_dynamic_library;

/* What becomes one with a kernel. */
typedef struct {
    const smtl_linked_function *functions; /* which may be of other libraries */
    size_t function_count;
    const smtl_dynamic_library *libraries; /* in which what the kernel's library only declares is looked up, in order */
    size_t library_count;
} smtl_linking;

/* Generates machine code for one kernel with its constants fixed. Returns a malloc'd path of a shared object in the
 * cache, for smtl_kernel_load with entry "smtl_entry"; NULL and a malloc'd `*log` on error. It has the functions of
 * `linking`, which may be NULL, as "smtl_function_0" and so on. */
char *smtl_library_specialize(smtl_library *library, const char *function, const smtl_constant_value *values,
                              size_t count, const smtl_linking *linking, char **log);

/* The name of that machine code, without making it: what has one name is the same code. malloc'd; NULL and a malloc'd
 * `*log` if there is no such function or a value does not fit. */
char *smtl_library_specialization_name(smtl_library *library, const char *function, const smtl_constant_value *values,
                                       size_t count, const smtl_linking *linking, char **log);

/* Generates machine code for what the library exports; false and a malloc'd `*log` on error. */
bool smtl_library_check_exports(smtl_library *library, char **log);

/* Puts machine code that smtl_library_specialize has once made into the cache under its name; what is there already
 * stays. False if the name is none of ours or the disk failed. */
bool smtl_cache_import(const char *name, const void *code, size_t size);

/* Checks a source as Apple's compiler does, which is stricter than what is executed here: device, constant, threadgroup
 * and thread pointers do not convert into each other, pointers name their address space, there is no recursion, no
 * double. False with a malloc'd `*log` if something is wrong; `*log` may hold warnings otherwise. */
bool smtl_lint(const char *source, size_t length, const smtl_compile_options *options, char **log);

/* Compiles a source and, if `strict`, checks it as smtl_lint does. Returns JSON that the caller frees; NULL only
 * if there is no memory:
 *
 *   {"succeeded": bool,
 *    "kernels": [{"name", "max_total_threads_per_threadgroup",
 *                 "arguments": [{"index", "name", "type", "kind": "buffer" or "threadgroup", "access": "read" or
 * "read_write", "size", "conditional", "members": [{"name", "offset", "index", "type", "size"}]}]}],
 *    "function_constants": [{"name", "index", "type", "required"}],
 *    "diagnostics": [{"file", "line", "column", "severity": "error", "warning" or "note", "message", "source",
 * "caret"}]}
 *
 * Lines and columns count from 1; 0: not known. A size of 0 is not known, a limit of 0 not given. */
char *smtl_check(const char *source, size_t length, const smtl_compile_options *options, bool strict);

#ifdef __cplusplus
}
#endif
#endif
