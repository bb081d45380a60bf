/* What the software Metal offers beyond Metal's interface, for tests and tools: injected failures, counts of live
 * objects, the sanitizer's reports, and the writer of its library container. It is C, so that a caller needs no
 * Objective-C. All functions are thread-safe. */
#ifndef SMTL_SOFTWAREMETAL_H
#define SMTL_SOFTWAREMETAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Injected failures -------------------------------------------------------------------------------------------- */

/* `nth` counts from 1, beginning with the call; 0 turns the failure off. A failure happens once and is off again. */

/* The `nth` allocation of a buffer, a heap or an indirect command buffer returns nil. Environment:
 * SOFTWARE_METAL_FAIL_ALLOCATION=nth. */
void smtl_inject_allocation_failure(uint64_t nth);
/* The `nth` committed command buffer ends, before its first command, with the MTLCommandBufferError `code`.
 * Environment: SOFTWARE_METAL_FAIL_COMMAND_BUFFER=nth:code. */
void smtl_inject_command_buffer_error(uint64_t nth, uint64_t code);
/* The `nth` compilation of a library or of a pipeline fails. Environment: SOFTWARE_METAL_FAIL_COMPILE=nth. */
void smtl_inject_compile_failure(uint64_t nth);
/* The `nth` committed command buffer and all later ones end with MTLCommandBufferErrorDeviceRemoved, and allocations
 * return nil, until smtl_clear_injections: every device is lost. Environment: SOFTWARE_METAL_LOSE_DEVICE=nth. */
void smtl_inject_device_loss(uint64_t nth);
/* Turns every failure off, those of the environment too, and brings lost devices back. */
void smtl_clear_injections(void);

/* --- Statistics --------------------------------------------------------------------------------------------------- */

/* The classes whose instances are counted. */
typedef enum {
    SMTL_OBJECT_DEVICE,
    SMTL_OBJECT_BUFFER,
    SMTL_OBJECT_HEAP,
    SMTL_OBJECT_COMMAND_QUEUE,
    SMTL_OBJECT_COMMAND_BUFFER,
    SMTL_OBJECT_COMPUTE_ENCODER,
    SMTL_OBJECT_BLIT_ENCODER,
    SMTL_OBJECT_LIBRARY,
    SMTL_OBJECT_FUNCTION,
    SMTL_OBJECT_COMPUTE_PIPELINE,
    SMTL_OBJECT_VISIBLE_FUNCTION_TABLE,
    SMTL_OBJECT_DYNAMIC_LIBRARY,
    SMTL_OBJECT_EVENT,
    SMTL_OBJECT_SHARED_EVENT,
    SMTL_OBJECT_FENCE,
    SMTL_OBJECT_RESIDENCY_SET,
    SMTL_OBJECT_CAPTURE_SCOPE,
    SMTL_OBJECT_ARGUMENT_ENCODER,
    SMTL_OBJECT_BINARY_ARCHIVE,
    SMTL_OBJECT_COUNTER_SAMPLE_BUFFER,
    SMTL_OBJECT_INDIRECT_COMMAND_BUFFER,
    SMTL_OBJECT_INDIRECT_COMMAND,
    SMTL_OBJECT_REFLECTION,
    SMTL_OBJECT_LOG_STATE,
    SMTL_OBJECT_DISPATCH,
    /* Small internal objects that a buffer's dealloc autoreleases, as Metal's does. */
    SMTL_OBJECT_RELEASE_MARKER,
    SMTL_OBJECT_CLASS_COUNT,
} smtl_object_class;

/* Instances that are alive: allocated and not yet deallocated. */
int64_t smtl_live_objects(smtl_object_class object_class);
/* The sum over all classes. */
int64_t smtl_live_objects_total(void);
/* Instances ever allocated, over all classes. */
uint64_t smtl_objects_created(void);
/* The class's name for reports, e.g. "buffer". */
const char *smtl_object_class_name(smtl_object_class object_class);

/* Bytes held by buffers and heaps of all devices: what currentAllocatedSize adds up to. */
uint64_t smtl_allocated_bytes(void);
/* Command buffers completed and launches executed since the start of the process. */
uint64_t smtl_command_buffers_completed(void);
uint64_t smtl_launches_executed(void);

/* --- Library containers ------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    const char *value; /* NULL: defined as empty */
} smtl_container_macro;

/* Makes a library container (the software Metal's metallib: source and compile options) for newLibraryWithURL: and
 * newLibraryWithData:. `language_version` as MTLLanguageVersion, 0 for the newest; `math_mode` as MTLMathMode. Returns
 * malloc'd bytes and their number in `*size`; NULL if there is no memory. */
void *smtl_container_create(const char *source, size_t source_length, const smtl_container_macro *macros,
                            size_t macro_count, uint32_t language_version, uint32_t math_mode, size_t *size);

/* --- Reports of the sanitizer (SOFTWARE_METAL_SANITIZE) ----------------------------------------------------------- */

/* SOFTWARE_METAL_SANITIZE is a list, with commas, of bounds, race, uninit and all. */
enum {
    SMTL_SANITIZE_BOUNDS = 1,
    SMTL_SANITIZE_RACE = 2,
    SMTL_SANITIZE_UNINIT = 4
};
/* The checks that are on. */
uint32_t smtl_sanitizer_checks(void);

typedef enum {
    SMTL_REPORT_BOUNDS,
    SMTL_REPORT_RACE,
    SMTL_REPORT_UNINITIALIZED,
    /* Not all threads of a threadgroup come to the same barrier. */
    SMTL_REPORT_BARRIER,
    /* A thread waits in a loop for what cannot happen. */
    SMTL_REPORT_DEADLOCK,
} smtl_report_kind;

/* One thread's access to memory, or its way into a barrier. */
typedef struct {
    const char *kernel;
    const char *function; /* that contains the line; "" if it is not known */
    const char *file; /* as the source's name or its #line says; "" if it is not known */
    uint32_t line; /* 0: not known */
    bool write;
    bool atomic;
    bool whole_simdgroup; /* all lanes together load or store a simdgroup_matrix */
    uint64_t size; /* bytes */
    uint32_t thread_position_in_grid[3]; /* of the first thread, if whole_simdgroup */
    uint32_t threadgroup_position_in_grid[3];
    uint32_t thread_position_in_threadgroup[3];
} smtl_report_access;

/* Strings are never NULL. */
typedef struct {
    smtl_report_kind kind;
    const char *text; /* all of it, for people: several lines */
    const char *summary; /* what was done to what, in one line */
    smtl_report_access access;
    bool has_other;
    smtl_report_access other; /* the earlier one that it is in conflict with */
    const char *object; /* the buffer's label, or the name of the argument or variable; "" for no object */
    int32_t argument; /* its index in this dispatch; -1: none */
    int64_t offset; /* of the access from the object's start */
    uint64_t length; /* of the object */
    uint64_t occurrences; /* times that it was found on these lines */
} smtl_report;

/* Reports so far: one for each kind and line, however often. */
size_t smtl_report_count(void);
/* A copy of the `index`th, for smtl_report_free; NULL if there is none. */
smtl_report *smtl_report_copy(size_t index);
void smtl_report_free(smtl_report *report);
void smtl_reports_clear(void);

/* --- The profile of kernels that ran (SOFTWARE_METAL_PROFILE) ----------------------------------------------------- */

/* What has been counted so far, as the JSON that the process writes to the file when it ends. The caller frees it. NULL
 * if nothing is counted, and if there is no memory. */
char *smtl_profile_copy(void);

#ifdef __cplusplus
}
#endif
#endif
