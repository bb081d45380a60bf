/* What the engine and a compiled kernel know of each other. Included by both: freestanding, C++17, no libstdc++.
 *
 * A kernel is a shared object with one exported symbol, the `smtl_kernel_image` named `smtl_entry`. The engine runs its
 * threads on stacks that lie in a core's arena, so that kernel code finds the core from the stack pointer alone: no
 * thread-local lookup, and nothing to pass through the user's functions. */
#ifndef SMTL_ABI_H
#define SMTL_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "command_request.h"

#define SMTL_ABI_VERSION 7u

/* Arenas are this large and aligned to it; the core lies at the start of its arena. */
#define SMTL_ARENA_SIZE (uintptr_t(1) << 28)

/* The alignment of threadgroup variables of instrumented kernels. Nothing else in these kernels has it. */
#define SMTL_SANITIZED_VARIABLE_ALIGNMENT 0x100000

/* The end of the second name that an instrumented kernel has for each threadgroup variable. */
#define SMTL_SECOND_NAME_END ".weak"

/* What the name of a table that an array of a thread begins as starts with, in an instrumented kernel: the names of the
 * function and of the array follow, each behind a point. */
#define SMTL_LOCAL_TABLE_START "smtl_table."

/* The state of an instrumented kernel's stack lies at this plus an eighth of the stack's address. */
#define SMTL_STACK_SHADOW_OFFSET (uint64_t(1) << 44)

#define SMTL_SIMDGROUP_WIDTH 32u
#define SMTL_BUFFER_SLOTS 31u
#define SMTL_THREADS_PER_THREADGROUP 1024u
/* The most dynamic libraries that a kernel may look up functions in. */
#define SMTL_DYNAMIC_LIBRARIES 64u
/* The largest value that one lane gives to an exchange, and what a combination of all lanes may hold. */
#define SMTL_EXCHANGE_VALUE_SIZE 32u
#define SMTL_EXCHANGE_RESULT_SIZE (SMTL_SIMDGROUP_WIDTH * SMTL_EXCHANGE_VALUE_SIZE)

/* The site of an exchange is a line and, in its lowest bits, a column. */
#define SMTL_SITE_COLUMN_BITS 13

/* In the site of an exchange: not a function of Metal's, but a simd sync; see simd_sync.h. */
#define SMTL_SYNC_SITE 0x80000000u

/* The same: lanes wait there for others of a region; see region.h. */
#define SMTL_JOIN_SITE 0x40000000u

/* The same: lanes wait there until others have left the branches before theirs; see region.h. */
#define SMTL_TURN_SITE 0x20000000u

/* A meeting of the lanes of one simdgroup at one point of the program. */
struct smtl_exchange {
    uint32_t active; /* the lanes that took part */
    uint32_t combined; /* zero until a lane has filled `result`; kernel code sets it */
    alignas(64) unsigned char values[SMTL_SIMDGROUP_WIDTH * SMTL_EXCHANGE_VALUE_SIZE]; /* by lane, `size` bytes each */
    alignas(64) unsigned char result[SMTL_EXCHANGE_RESULT_SIZE];
};

/* A variable of a lane, as the other lanes see it while the lane is inactive. */
struct smtl_shown_variable {
    uint32_t name;
    uint32_t size; /* 0: nothing is known */
    alignas(16) unsigned char value[SMTL_EXCHANGE_VALUE_SIZE];
};

/* A part of the program, on the stack of a lane that is in it: all lanes that came to it leave it together. */
struct smtl_region {
    smtl_region *outer;
    uint32_t site; /* where it begins */
    uint32_t depth;
    const smtl_shown_variable *shown;
    uint32_t shown_count;
};

/* Where a suspended thread goes on. A power of two in size: found by shifting. */
struct alignas(32) smtl_context {
    void *stack_pointer;
    void *frame_pointer;
    const void *instruction;
    smtl_region *region; /* the innermost that the thread is in, or NULL */
};

/* How kernel code touches memory: a read, unless it says otherwise. */
enum smtl_touch : uint32_t {
    SMTL_TOUCH_WRITE = 1,
    SMTL_TOUCH_ATOMIC = 2, /* a read as well, where it also writes */
    SMTL_TOUCH_STORE = 4, /* of an atomic: a write alone */
    SMTL_TOUCH_ORDERED = 8, /* of an atomic: not relaxed, and so a fence too */
    SMTL_TOUCH_COLLECTIVE = 16, /* by all lanes of the simdgroup together */
    SMTL_TOUCH_COPY = 32, /* of whole objects, padding included */
};

/* A step of a thread, which is an atomic function, and how others are compared with it; see polls.h. */
struct smtl_poll {
    const volatile void *object;
    uint32_t value; /* what the function found */
    uint16_t between; /* steps that pass uncompared */
    uint8_t left; /* of the comparisons */
    uint8_t stops : 6;
    uint8_t stops_later : 1;
    uint8_t changed : 1; /* the function has changed the value */
};

struct smtl_core;

/* Operations of a kernel's source by type, each a field of a word. */
enum smtl_operation_kind : uint32_t {
    SMTL_OPERATIONS_FLOAT,
    SMTL_OPERATIONS_HALF,
    SMTL_OPERATIONS_BFLOAT,
    SMTL_OPERATIONS_INT, /* of up to 32 bits */
    SMTL_OPERATIONS_LONG,
    SMTL_OPERATIONS_FUNCTIONS, /* exp, sqrt, sin, ... */
    SMTL_OPERATION_KINDS,
    SMTL_OPERATION_BITS = 10
};

/* What the code of an instrumented kernel calls; see sanitize.h. `caller` is an address in the kernel's code, or NULL
 * for that of the call. */
struct smtl_sanitizer {
    void (*touch)(smtl_core *core, const volatile void *address, size_t size, uint32_t touch, const void *caller);
    void (*fence)(smtl_core *core, uint32_t memory);
    void (*simdgroup_barrier)(smtl_core *core, uint32_t memory);
    /* The running thread takes the value of a lane that is inactive in the exchange that it has come from. */
    void (*inactive_lane)(smtl_core *core, uint32_t lane);
    /* Of kernels whose operations are counted: what the running thread computes, and which side of a branch it takes.
     * `branch` is the address of a byte of the kernel that stands for this branch alone. */
    void (*operations)(smtl_core *core, uint64_t counts, const void *caller);
    void (*branch)(smtl_core *core, const void *branch, uint32_t side, const void *caller);
};

/* A message of a kernel: subsystem, category and format, and values of up to four components. */
enum {
    SMTL_LOG_TEXTS = 3,
    SMTL_LOG_COMPONENTS = 4
};
enum smtl_log_kind : uint8_t {
    SMTL_LOG_SIGNED,
    SMTL_LOG_UNSIGNED,
    SMTL_LOG_FLOAT
};
struct smtl_log_value {
    smtl_log_kind kind;
    uint8_t size; /* of a component in the kernel, in bytes */
    uint8_t components;
    uint64_t bits[SMTL_LOG_COMPONENTS]; /* integers extended as their type is, floating-point numbers as doubles */
};
/* Values and texts follow it. */
struct smtl_log_record {
    uint64_t size; /* of all of it: a multiple of 8 */
    uint32_t complete;
    uint32_t type; /* as os_log_type */
    uint32_t value_count;
    uint32_t text_sizes[SMTL_LOG_TEXTS];
};
/* Messages of all kernels of a command buffer, one behind the other. */
struct smtl_log_buffer {
    uint64_t capacity; /* of `bytes` */
    uint64_t used; /* more than the capacity where messages were dropped */
    uint64_t dropped;
    unsigned char bytes[];
};

/* A function that kernels call through tables, as the shared object lists it. */
struct smtl_visible_function {
    const char *name;
    void *code;
    uint64_t type; /* a hash of the type's name */
    const char *type_name;
};

/* Stands at the start of each table of functions. */
#define SMTL_FUNCTION_TABLE_MARK UINT64_C(0x5f656c626174666e)

/* A table of functions: the host fills it, kernels read it. `functions` has `count` places, NULL where none is set. */
struct smtl_function_table {
    uint64_t mark;
    uint64_t count;
    const void *image; /* `identity` of the one image whose functions it holds */
    const smtl_visible_function *functions[];
};

/* A place of a table, as a kernel asks for it. */
struct smtl_function_request {
    const smtl_visible_function *function; /* one that is called by its name, and not through a table */
    const smtl_function_table *table;
    uint64_t index;
    uint64_t type;
    const char *type_name;
    uint32_t site;
};

/* The constants of an instrumented kernel, as clang's instrumentation lists them: eight words each. */
struct smtl_sanitized_globals {
    const uintptr_t *entries;
    size_t count;
};

/* The functions that fill the list above: one, or none if there are no constants. */
struct smtl_global_lister {
    void (*const *begin)();
    void (*const *end)();
};

/* One worker's view of the threadgroup that it executes. Only the engine writes it, but for `contexts`, what concerns
 * polls (`thread` of kernels that poll among it), and the position in a run of threadgroups. */
struct smtl_core {
    /* The engine runs on a stack of its own, entered and left by jumps; see `enter` in the library's core.h. The first
     * two are used by the engine's assembly, at these offsets. */
    void *scheduler_stack;
    void (*run)(smtl_core *core);
    void (*enter_barrier)();
    void (*enter_exchange)(); /* with the site, the value and its size as arguments */
    void (*enter_finished)(); /* the fiber has nothing left to do; never continues it */
    void (*enter_poll)(); /* with the site as an argument: the thread waits for an atomic to change; see polls.h */

    uint32_t thread; /* the running thread's index in its threadgroup; of kernels that block or poll */
    uint32_t threads_apart; /* each thread of the threadgroup runs on a fiber of its own */
    uint32_t syncs_simdgroups; /* lanes wait for each other where code counts on it, though Metal does not say so */
    /* The exchange that the running thread has come from; valid until it blocks again. */
    smtl_exchange *exchange;

    /* How many threadgroups, neighbours in x and all of one size, `run` is to execute: the first one's position, which
     * `run` moves on with it. One for kernels that block. */
    uint32_t threadgroup_run;
    uint32_t threadgroup_position[3];
    uint32_t threadgroup_size[3]; /* threads in this threadgroup: fewer than the dispatch's at a ragged edge */
    uint32_t dispatch_threadgroup_size[3];
    uint32_t threadgroups[3];
    uint32_t grid_size[3]; /* in threads */

    smtl_sanitizer sanitizer; /* of instrumented kernels */
    smtl_log_buffer *log; /* NULL: nobody wants messages */
    /* Returns only if the request was carried out. */
    void (*encode_command)(smtl_core *core, smtl_command_request *request);
    /* Ends the launch: the table has no such function. */
    void (*refuse_function)(smtl_core *core, const smtl_function_request *request);

    void *const *buffers; /* SMTL_BUFFER_SLOTS addresses */
    void *threadgroup_memory[SMTL_BUFFER_SLOTS];
    void *static_memory; /* the kernel's own `threadgroup` variables */
    uint32_t atomics_changed; /* not zero: a thread has changed an atomic; kernel code sets it */
    int32_t atomics_left; /* atomic functions before one is compared with others */
    uint32_t comparing_thread; /* the thread whose they are, of a threadgroup whose threads are not apart */
    smtl_context contexts[SMTL_THREADS_PER_THREADGROUP];
    smtl_poll polls[SMTL_THREADS_PER_THREADGROUP]; /* of kernels that poll */
};

enum smtl_parameter_kind : uint32_t {
    SMTL_PARAMETER_BUFFER,
    SMTL_PARAMETER_THREADGROUP
};

/* A parameter that the launch has to supply. */
struct smtl_parameter {
    smtl_parameter_kind kind;
    uint32_t index;
    size_t size; /* bytes that must be there: of the whole type for references, 0 for pointers */
};

/* One point of the machine code that can block, or poll: where the flag is that says so, relative to this record. */
struct smtl_marked_site {
    int64_t flag_offset;
};

/* An argument that the machine code uses. */
struct smtl_used_argument {
    uint16_t index;
    uint16_t kind; /* smtl_parameter_kind */
};

struct smtl_kernel_image {
    uint32_t abi_version;
    uint32_t parameter_count;
    const smtl_parameter *parameters;
    const char *name;
    /* In a kernel that blocks: runs the thread `core->thread`, and ends by a jump to `enter_finished`. In one that
     * polls: the same, or all threads from that one on as long as they are not apart. In others: runs all threads of
     * `core->threadgroup_run` threadgroups and returns. */
    void (*run)(smtl_core *core);
    /* Empty in a kernel whose threads never block. */
    const smtl_marked_site *blocking_begin;
    const smtl_marked_site *blocking_end;
    /* In any order, and several times where the code is there several times. */
    const smtl_used_argument *used_begin;
    const smtl_used_argument *used_end;
    /* Empty in a kernel whose threads never wait for an atomic to change. */
    const smtl_marked_site *polling_begin;
    const smtl_marked_site *polling_end;
    /* An address that no other loaded image has. */
    const void *identity;
    /* The flags of all parts that are linked into the image: what one part does, the others have to know. */
    const smtl_marked_site *linked_blocking_begin;
    const smtl_marked_site *linked_blocking_end;
    const smtl_marked_site *linked_polling_begin;
    const smtl_marked_site *linked_polling_end;
};

#endif
