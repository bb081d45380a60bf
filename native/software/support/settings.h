/* What the environment asks of the software Metal, read once at the first use of any setting. The table in settings.c
 * gives each setting's name, kind and default; docs/software-metal.md describes them for users. */
#ifndef SMTL_SETTINGS_H
#define SMTL_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    bool on;
    uint64_t value;
} smtl_seed;

/* What joins two devices, and a device that is not built in to system memory. */
typedef struct {
    double bytes_per_second; /* 0: as fast as the machine moves bytes */
    double latency; /* seconds */
} smtl_link_speed;

/* The `nth` event from the start of the process, 0 for none, and the error code that it ends with, 0 for the usual one.
 */
typedef struct {
    uint64_t nth;
    uint64_t code;
} smtl_nth_with_code;

typedef struct {
    /* Devices. */
    uint64_t device_count;
    bool peer_group; /* the devices are in one peer group */
    smtl_link_speed link;
    bool default_device; /* false: MTLCreateSystemDefaultDevice returns nil */
    bool unified_memory; /* false: a discrete GPU of the Mac2 family */
    uint64_t apple_family; /* the highest Apple family that devices support */
    uint64_t max_buffer_length;
    uint64_t working_set;
    /* Checks. */
    bool poison; /* fresh memory and threadgroup memory are filled with 0xff */
    bool guard; /* buffers end where no memory is, so that overruns fault */
    bool strict; /* no-copy buffers must be page-aligned as on Apple's systems */
    bool debug_layer; /* a dispatch that cannot run raises, instead of ending its command buffer */
    /* Order and time. */
    smtl_seed shuffle; /* what Metal leaves unordered runs in an order that depends on the seed alone */
    uint64_t delay; /* the most microseconds that anything happens late */
    uint64_t threads; /* that take part in a launch, the calling one included */
    uint64_t resident; /* threadgroups of a launch that make progress together; 0: as many as the engine likes */
    double timeout; /* seconds after which a launch fails; 0: never */
    /* Injected failures. */
    uint64_t fail_allocation;
    uint64_t fail_compile;
    uint64_t lose_device;
    smtl_nth_with_code fail_command_buffer;
    /* The sanitizer of kernels. */
    uint32_t sanitize; /* SMTL_SANITIZE_* */
    bool sanitize_quiet; /* reports are kept and not printed */
    uint64_t sanitize_exit; /* the status of a process that has had reports; 0: its own */
    const char *profile; /* the file that the profile of all kernels is written to; %p: the process's number */
    /* The compiler of kernels. */
    const char *cache; /* a folder */
    uint64_t cache_size; /* bytes; 0: no bound */
    const char *include; /* folders, with colons between them */
    const char *clang;
    uint64_t optimize;
    const char *dnnl; /* the library that computes Metal Performance Shaders */
    /* Messages of kernels. */
    const char *log_level;
    uint64_t log_buffer_size;
    /* The machine: no setting changes these. */
    uint64_t memory_limit; /* bytes that all buffers together may own */
    size_t page_size;
} smtl_settings;

/* Texts are never NULL: "" where the variable is not set. */
const smtl_settings *smtl_settings_get(void);

/* Whether kernels tell of each access to memory: to the sanitizer or, if that is off, to the profiler. */
static inline bool smtl_kernels_are_instrumented(void) {
    return smtl_settings_get()->sanitize != 0 || smtl_settings_get()->profile[0] != '\0';
}
/* Whether they tell of each operation and branch as well: to the profiler. */
static inline bool smtl_kernels_are_counted(void) {
    return smtl_settings_get()->sanitize == 0 && smtl_settings_get()->profile[0] != '\0';
}

#ifdef __cplusplus
}
#endif
#endif
