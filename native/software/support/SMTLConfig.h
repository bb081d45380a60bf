/* The settings that the environment gives the software Metal, read once. */
#ifndef SMTL_CONFIG_H
#define SMTL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t device_count;    /* SOFTWARE_METAL_DEVICES */
    bool peer_group;          /* SOFTWARE_METAL_PEERS: the devices are in one peer group */
    bool default_device;      /* SOFTWARE_METAL_DEFAULT_DEVICE: false makes MTLCreateSystemDefaultDevice return nil */
    bool unified_memory;      /* SOFTWARE_METAL_UNIFIED: false for a discrete GPU of the Mac2 family */
    uint32_t apple_family;    /* SOFTWARE_METAL_FAMILY: the highest Apple family supported */
    bool poison;              /* SOFTWARE_METAL_POISON: fresh memory is filled with 0xff instead of zero */
    bool guard;               /* SOFTWARE_METAL_GUARD: buffers end where no memory is, so that overruns fault */
    bool debug_layer; /* MTL_DEBUG_LAYER: a dispatch that cannot be raises, instead of ending its command buffer */
    bool strict;              /* SOFTWARE_METAL_STRICT: no-copy buffers must be page-aligned as on Apple's systems */
    bool shuffle; /* SOFTWARE_METAL_SHUFFLE: what Metal leaves unordered runs in an order that depends on the seed */
    uint64_t shuffle_seed;
    uint32_t delay;           /* SOFTWARE_METAL_DELAY: the most microseconds that anything happens late */
    size_t max_buffer_length; /* SOFTWARE_METAL_MAX_BUFFER_LENGTH */
    uint64_t working_set;     /* SOFTWARE_METAL_WORKING_SET */
    uint64_t memory_limit;    /* bytes that all buffers together may own: physical memory */
    size_t page_size;
} smtl_config;

const smtl_config *smtl_config_get(void);

/* Reads an unsigned number, decimal or with 0x, at the start of `text`; what follows it, or NULL where there is none.
 */
const char *smtl_read_number(const char *text, uint64_t *number);

/* The unsigned number in environment variable `name`, or `fallback` where it is unset or not a number. */
uint64_t smtl_environment_number(const char *name, uint64_t fallback);

#endif
