#define _GNU_SOURCE
#include "settings.h"

#include <SoftwareMetal/SoftwareMetal.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numbers.h"

enum kind {
    FLAG,          /* a number: off if it is 0 */
    NUMBER,        /* unsigned, decimal or with 0x; a larger one counts as `most` */
    SECONDS,       /* may have a fraction; a larger number is wrong */
    SEED,          /* any number */
    NTH_WITH_CODE, /* n or n:code */
    CHECKS,        /* names with commas between them */
    LINK,          /* GB/s,us: both may have fractions */
    TEXT,
};

/* A setting that the environment lacks, or gives wrongly, is `fallback`. A number may be up to `most`. */
struct entry {
    const char *name;
    enum kind kind;
    size_t field;
    uint64_t fallback, most;
};
#define SETTING(name, kind, field, fallback, most) {name, kind, offsetof(smtl_settings, field), fallback, most}
#define ANY UINT64_MAX

static smtl_settings settings;

/* The cores that this process may run on: in a container fewer than the machine's. */
static uint64_t usable_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return (uint64_t)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint64_t)online : 1;
}

/* Reads a number at the start of `text`. Returns what follows the number, or NULL if there is no number. */
static const char *read_number(const char *text, uint64_t *number) {
    if (*text < '0' || *text > '9') return NULL;
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end = NULL;
    errno = 0;
    *number = strtoull(text, &end, hexadecimal ? 16 : 10);
    return errno != 0 ? NULL : end;
}

/* Reads a number that is all of `text`. If the text is anything else, returns false and leaves `*number` as it was. */
static bool is_number(const char *text, uint64_t *number) {
    uint64_t value = 0;
    const char *rest = read_number(text, &value);
    if (rest == NULL || *rest != '\0') return false;
    *number = value;
    return true;
}

static bool is_zero(const char *text) {
    uint64_t number = 1;
    return is_number(text, &number) && number == 0;
}

static bool read_seconds(const char *text, double most, double *read) {
    char *end = NULL;
    const double seconds = smtl_strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= most)) return false;
    *read = seconds;
    return true;
}

/* The bandwidth must be more than nothing. No machine has more than a million GB/s, and no test waits a million us. */
static smtl_link_speed read_link(const char *text) {
    const smtl_link_speed none = {0, 0};
    char *end = NULL;
    const double gigabytes = smtl_strtod(text, &end);
    if (end == text || *end != ',' || !(gigabytes >= 1e-6 && gigabytes <= 1e6)) return none;
    const char *const second = end + 1;
    const double microseconds = smtl_strtod(second, &end);
    if (end == second || *end != '\0' || !(microseconds >= 0 && microseconds <= 1e6)) return none;
    return (smtl_link_speed){gigabytes * 1e9, microseconds * 1e-6};
}

static smtl_nth_with_code read_nth_with_code(const char *text) {
    const smtl_nth_with_code none = {0, 0};
    smtl_nth_with_code read = none;
    const char *rest = read_number(text, &read.nth);
    if (rest != NULL && *rest == ':') {
        rest = read_number(rest + 1, &read.code);
        if (read.code == 0) return none;
    }
    return rest != NULL && *rest == '\0' ? read : none;
}

static uint32_t check_named(const char *name, size_t length) {
    static const struct {
        const char *name;
        uint32_t checks;
    } known[] = {
        {"bounds", SMTL_SANITIZE_BOUNDS},
        {"race", SMTL_SANITIZE_RACE},
        {"uninit", SMTL_SANITIZE_UNINIT},
        {"all", SMTL_SANITIZE_BOUNDS | SMTL_SANITIZE_RACE | SMTL_SANITIZE_UNINIT},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0) return known[i].checks;
    return 0;
}

static uint32_t read_checks(const char *text, const char *variable) {
    uint32_t checks = 0;
    for (;;) {
        const size_t length = strcspn(text, ",");
        const uint32_t check = check_named(text, length);
        /* Without this line a misspelt check would look like a clean run. */
        if (check == 0 && length > 0 && strncmp(text, "0", length) != 0)
            fprintf(stderr, "software Metal: %s: unknown check '%.*s' (known: bounds, race, uninit, all)\n", variable,
                    (int)length, text);
        checks |= check;
        if (text[length] == '\0') return checks;
        text += length + 1;
    }
}

/* Without this line a program would seem to run with what somebody has switched on. */
static void report_wrong(const struct entry *entry, const char *text) {
    if (*text != '\0')
        fprintf(stderr, "software Metal: %s: '%s' is not a value that it takes, and counts as not given\n", entry->name,
                text);
}

static void read_entry(const struct entry *entry) {
    void *field = (char *)&settings + entry->field;
    const char *text = getenv(entry->name);
    if (text == NULL) text = "";
    uint64_t number = entry->fallback;
    switch (entry->kind) {
    case FLAG:
        if (!is_number(text, &number)) report_wrong(entry, text);
        *(bool *)field = number != 0;
        break;
    case NUMBER:
        if (!is_number(text, &number)) report_wrong(entry, text);
        *(uint64_t *)field = number > entry->most ? entry->most : number;
        break;
    case SECONDS:
        *(double *)field = (double)entry->fallback;
        if (!read_seconds(text, (double)entry->most, field)) report_wrong(entry, text);
        break;
    case SEED: {
        smtl_seed *const seed = field;
        seed->on = is_number(text, &seed->value);
        if (!seed->on) report_wrong(entry, text);
        break;
    }
    case NTH_WITH_CODE:
        *(smtl_nth_with_code *)field = read_nth_with_code(text);
        if (((smtl_nth_with_code *)field)->nth == 0 && !is_zero(text)) report_wrong(entry, text);
        break;
    case LINK:
        *(smtl_link_speed *)field = read_link(text);
        if (((smtl_link_speed *)field)->bytes_per_second == 0 && !is_zero(text)) report_wrong(entry, text);
        break;
    case CHECKS: *(uint32_t *)field = read_checks(text, entry->name); break;
    /* A copy: the program may change its environment. */
    case TEXT: {
        char *const copy = strdup(text);
        *(const char **)field = copy != NULL ? copy : "";
        break;
    }
    }
}

static void read_environment(void) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    settings.page_size = (size_t)page;
    settings.memory_limit = memory;
    const struct entry table[] = {
        SETTING("SOFTWARE_METAL_DEVICES", NUMBER, device_count, 1, 16),
        SETTING("SOFTWARE_METAL_PEERS", FLAG, peer_group, 0, ANY),
        SETTING("SOFTWARE_METAL_LINK", LINK, link, 0, ANY),
        SETTING("SOFTWARE_METAL_DEFAULT_DEVICE", FLAG, default_device, 1, ANY),
        SETTING("SOFTWARE_METAL_UNIFIED", FLAG, unified_memory, 1, ANY),
        SETTING("SOFTWARE_METAL_FAMILY", NUMBER, apple_family, 7, UINT32_MAX),
        /* The proportions that Apple's systems report for unified memory. */
        SETTING("SOFTWARE_METAL_MAX_BUFFER_LENGTH", NUMBER, max_buffer_length, memory / 2 / page * page, ANY),
        SETTING("SOFTWARE_METAL_WORKING_SET", NUMBER, working_set, memory / 4 * 3 / page * page, ANY),
        SETTING("SOFTWARE_METAL_POISON", FLAG, poison, 0, ANY),
        SETTING("SOFTWARE_METAL_GUARD", FLAG, guard, 0, ANY),
        SETTING("SOFTWARE_METAL_STRICT", FLAG, strict, 0, ANY),
        SETTING("MTL_DEBUG_LAYER", FLAG, debug_layer, 0, ANY),
        SETTING("SOFTWARE_METAL_SHUFFLE", SEED, shuffle, 0, ANY),
        SETTING("SOFTWARE_METAL_DELAY", NUMBER, delay, 0, 1000000),
        SETTING("SOFTWARE_METAL_THREADS", NUMBER, threads, 0, 256),
        SETTING("SOFTWARE_METAL_RESIDENT", NUMBER, resident, 0, 256),
        /* No correct launch takes as long, however slow the machine. */
        SETTING("SOFTWARE_METAL_TIMEOUT", SECONDS, timeout, 120, 1000000),
        SETTING("SOFTWARE_METAL_FAIL_ALLOCATION", NUMBER, fail_allocation, 0, ANY),
        SETTING("SOFTWARE_METAL_FAIL_COMPILE", NUMBER, fail_compile, 0, ANY),
        SETTING("SOFTWARE_METAL_LOSE_DEVICE", NUMBER, lose_device, 0, ANY),
        SETTING("SOFTWARE_METAL_FAIL_COMMAND_BUFFER", NTH_WITH_CODE, fail_command_buffer, 0, ANY),
        SETTING("SOFTWARE_METAL_SANITIZE", CHECKS, sanitize, 0, ANY),
        SETTING("SOFTWARE_METAL_SANITIZE_QUIET", FLAG, sanitize_quiet, 0, ANY),
        /* No process ends with a larger status. */
        SETTING("SOFTWARE_METAL_SANITIZE_EXIT", NUMBER, sanitize_exit, 0, 255),
        SETTING("SOFTWARE_METAL_PROFILE", TEXT, profile, 0, ANY),
        SETTING("SOFTWARE_METAL_CACHE", TEXT, cache, 0, ANY),
        SETTING("SOFTWARE_METAL_CACHE_SIZE", NUMBER, cache_size, (uint64_t)4 << 30, ANY),
        SETTING("SOFTWARE_METAL_INCLUDE", TEXT, include, 0, ANY),
        SETTING("SOFTWARE_METAL_CLANG", TEXT, clang, 0, ANY),
        SETTING("SOFTWARE_METAL_DNNL", TEXT, dnnl, 0, ANY),
        SETTING("SOFTWARE_METAL_OPTIMIZE", NUMBER, optimize, 3, 3),
        SETTING("MTL_LOG_LEVEL", TEXT, log_level, 0, ANY),
        SETTING("MTL_LOG_BUFFER_SIZE", NUMBER, log_buffer_size, 0, INT64_MAX),
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) read_entry(&table[i]);
    /* Otherwise nobody would know why there is no profile. */
    if (settings.sanitize != 0 && settings.profile[0] != '\0')
        fputs("software Metal: SOFTWARE_METAL_SANITIZE is set too, so SOFTWARE_METAL_PROFILE has no effect\n", stderr);
    if (settings.threads == 0) {
        const uint64_t cores = usable_cores();
        settings.threads = cores < 256 ? cores : 256;
    }
}

const smtl_settings *smtl_settings_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return &settings;
}
