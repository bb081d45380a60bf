#include "SMTLConfig.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_DEVICES 16
#define MAX_DELAY 1000000 /* a second */

static smtl_config config;
static pthread_once_t config_once = PTHREAD_ONCE_INIT;

const char *smtl_read_number(const char *text, uint64_t *number) {
    if (*text < '0' || *text > '9') {
        return NULL;
    }
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end = NULL;
    errno = 0;
    *number = strtoull(text, &end, hexadecimal ? 16 : 10);
    return errno != 0 ? NULL : end;
}

uint64_t smtl_environment_number(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    uint64_t value = 0;
    const char *rest = text == NULL ? NULL : smtl_read_number(text, &value);
    return rest == NULL || *rest != '\0' ? fallback : value;
}

static void load_config(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    uint64_t devices = smtl_environment_number("SOFTWARE_METAL_DEVICES", 1);
    config.page_size = page;
    config.device_count = (uint32_t)(devices > MAX_DEVICES ? MAX_DEVICES : devices);
    config.peer_group = smtl_environment_number("SOFTWARE_METAL_PEERS", 0) != 0;
    config.default_device = smtl_environment_number("SOFTWARE_METAL_DEFAULT_DEVICE", 1) != 0;
    config.unified_memory = smtl_environment_number("SOFTWARE_METAL_UNIFIED", 1) != 0;
    config.apple_family = (uint32_t)smtl_environment_number("SOFTWARE_METAL_FAMILY", 7);
    config.poison = smtl_environment_number("SOFTWARE_METAL_POISON", 0) != 0;
    /* Any number is a seed: on where the fallback does not show. */
    config.shuffle_seed = smtl_environment_number("SOFTWARE_METAL_SHUFFLE", 0);
    config.shuffle = smtl_environment_number("SOFTWARE_METAL_SHUFFLE", ~config.shuffle_seed) == config.shuffle_seed;
    uint64_t delay = smtl_environment_number("SOFTWARE_METAL_DELAY", 0);
    config.delay = (uint32_t)(delay > MAX_DELAY ? MAX_DELAY : delay);
    config.guard = smtl_environment_number("SOFTWARE_METAL_GUARD", 0) != 0;
    config.debug_layer = smtl_environment_number("MTL_DEBUG_LAYER", 0) != 0;
    config.strict = smtl_environment_number("SOFTWARE_METAL_STRICT", 0) != 0;
    /* The proportions that Apple's systems report for unified memory. */
    uint64_t half = memory / 2 / page * page;
    config.max_buffer_length = (size_t)smtl_environment_number("SOFTWARE_METAL_MAX_BUFFER_LENGTH", half);
    config.working_set = smtl_environment_number("SOFTWARE_METAL_WORKING_SET", memory / 4 * 3 / page * page);
    config.memory_limit = memory;
}

const smtl_config *smtl_config_get(void) {
    pthread_once(&config_once, load_config);
    return &config;
}
