/* Errors that outlive the autorelease pool in which they arose. Plain C: the strings are copies. */
#include "core/errors.h"

#include "core/handles.h"

#include <stdlib.h>
#include <string.h>

struct mtb_error {
    mtb_status status;
    int64_t code;
    const char *function;
    /* The two strings lie behind the structure, in the same allocation. */
    const char *domain;
    const char *message;
};

#define BRIDGE_DOMAIN "metal_bridge"

/* Errors for which there was no memory: a status is all that they say. They are nobody's to free. */
#define BARE(status_)                       \
    [status_] = {.status = (status_),       \
                 .function = BRIDGE_DOMAIN, \
                 .domain = BRIDGE_DOMAIN,   \
                 .message = "there was no memory for the message"}
static const mtb_error bare[] = {
    BARE(MTB_INVALID_ARGUMENT),
    BARE(MTB_OUT_OF_RANGE),
    BARE(MTB_MISALIGNED),
    BARE(MTB_WRONG_DEVICE),
    BARE(MTB_NO_DEVICE),
    BARE(MTB_OUT_OF_MEMORY),
    BARE(MTB_COMPILE_FAILED),
    BARE(MTB_NOT_FOUND),
    BARE(MTB_MISSING_ARGUMENT),
    BARE(MTB_TIMEOUT),
    BARE(MTB_COMMAND_BUFFER_FAILED),
    BARE(MTB_INVALID_STATE),
    BARE(MTB_UNSUPPORTED),
    BARE(MTB_EXCEPTION),
    BARE(MTB_INTERNAL),
    BARE(MTB_OVER_BUDGET),
    BARE(MTB_DEADLOCK),
};

static bool is_bare(const mtb_error *error) { return error >= bare && error < bare + sizeof bare / sizeof *bare; }

static _Thread_local mtb_status last_failure;

mtb_status mtbi_last_failure(void) { return last_failure; }

const char *mtb_status_name(mtb_status status) {
    switch (status) {
    case MTB_OK: return "no error";
    case MTB_INVALID_ARGUMENT: return "invalid argument";
    case MTB_OUT_OF_RANGE: return "out of range";
    case MTB_MISALIGNED: return "misaligned";
    case MTB_WRONG_DEVICE: return "handles of different devices";
    case MTB_NO_DEVICE: return "no Metal device";
    case MTB_OUT_OF_MEMORY: return "out of memory";
    case MTB_COMPILE_FAILED: return "compilation failed";
    case MTB_NOT_FOUND: return "not found";
    case MTB_MISSING_ARGUMENT: return "missing kernel argument";
    case MTB_COMMAND_BUFFER_FAILED: return "command buffer failed";
    case MTB_TIMEOUT: return "timed out";
    case MTB_INVALID_STATE: return "invalid state";
    case MTB_UNSUPPORTED: return "unsupported";
    case MTB_EXCEPTION: return "Objective-C exception";
    case MTB_INTERNAL: return "internal error";
    case MTB_OVER_BUDGET: return "over budget";
    case MTB_DEADLOCK: return "deadlock";
    }
    return "unknown status";
}

mtb_status mtbi_fail_with_code(mtb_error **error, const char *function, mtb_status status, int64_t code,
                               const char *domain, const char *message) {
    last_failure = status;
    if (!error) return status;
    size_t domain_size = strlen(domain) + 1, message_size = strlen(message) + 1;
    mtb_error *made = malloc(sizeof *made + domain_size + message_size);
    /* Whoever gets it reads it, or releases it. */
    *error = made ? made : (mtb_error *)&bare[status];
    if (!made) return status;
    char *strings = (char *)(made + 1);
    memcpy(strings, domain, domain_size);
    memcpy(strings + domain_size, message, message_size);
    *made = (mtb_error){
        .status = status,
        .code = code,
        .function = function,
        .domain = strings,
        .message = strings + domain_size,
    };
    mtbi_handle_count_made(MTB_HANDLE_ERROR);
    return status;
}

mtb_status mtbi_fail(mtb_error **error, const char *function, mtb_status status, const char *format, ...) {
    last_failure = status;
    if (!error) return status;
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    mtbi_vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return mtbi_fail_with_code(error, function, status, 0, BRIDGE_DOMAIN, message);
}

mtb_status mtb_error_status(const mtb_error *error) { return error ? error->status : MTB_OK; }

int64_t mtb_error_code(const mtb_error *error) { return error ? error->code : 0; }

const char *mtb_error_domain(const mtb_error *error) { return error ? error->domain : NULL; }

const char *mtb_error_message(const mtb_error *error) { return error ? error->message : NULL; }

const char *mtb_error_function(const mtb_error *error) { return error ? error->function : NULL; }

void mtb_error_release(mtb_error *error) {
    if (!error || is_bare(error)) return;
    mtbi_handle_count_freed(MTB_HANDLE_ERROR);
    free(error);
}
