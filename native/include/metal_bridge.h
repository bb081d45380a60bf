/* The C ABI of metal-bridge: Apple's Metal for compute, safe to call from any thread of any language.
 *
 * Every function runs inside an autorelease pool and an exception guard of its own: no autoreleased object and no
 * Objective-C exception crosses this boundary, whatever thread calls and whatever pools that thread has.
 *
 * Handles
 *   Each kind of object is a distinct opaque struct. A function with `create` in its name returns a handle that the
 *   caller owns (+1) and gives back with the `release` function of its kind; `retain` adds a reference. `release` takes
 *   NULL. A handle keeps alive the objects that it was made from, if it needs them. A failed call leaves its handles
 *   usable.
 *
 * Errors
 *   Every fallible call takes `mtb_error **error` last, which may be NULL. Success sets it to NULL. Failure sets it to
 *   an error that the caller owns (mtb_error_release). Functions that return a handle return NULL on failure; the
 *   others return an mtb_status. If there is no memory for the error, it says no more than its status.
 *   Getters cannot fail: with NULL for a handle they return zero, false or NULL.
 *   Arguments are checked before Metal sees them, since Metal aborts the process if it finds a mistake.
 *
 * Strings
 *   All strings are UTF-8. `const char *` results are borrowed and live as long as the handle that they came from;
 *   `char *` results are the caller's, to be freed with mtb_string_free.
 *
 * Threads
 *   Any thread may use these at the same time as others: devices, queues, buffers (the handle; the caller orders access
 *   to the bytes), libraries, functions, pipelines, events, errors, and every retain and release.
 *   One thread at a time may use these: constant values, encoders, and a command buffer until it is committed, with its
 *   encoders and its last release. After the commit any thread may wait for a command buffer and query it.
 *   A child of fork() that was made after the first device may use none of them: see mtb_process_is_forked.
 *   A thread that is cancelled (pthread_cancel) inside a call leaves locks taken, and others wait for them for ever:
 *   disable its cancellation around calls. Signal handlers must not call this API.
 *
 * Callbacks
 *   Metal calls callbacks on threads of its own. The last release of an event or of a no-copy buffer may call back on
 *   the releasing thread. Callbacks may call this API, and must not unwind (C++ exceptions, Rust panics, longjmp) into
 *   the caller. A call that takes a context and its destructor (mtb_context_destructor) takes over the context,
 *   whatever the call returns. A queue runs its callbacks one after the other. A wait in a callback (or in its
 *   context's destructor) for work of the same queue that has not completed, its own command buffer included, could
 *   never end: such a wait fails with MTB_DEADLOCK. So does a wait for a free slot of that queue, unless its timeout is
 *   shorter than MTB_SLOT_TIMEOUT. In a deallocator that Metal calls on a thread of its own this holds for every queue,
 *   since nobody knows which queues Metal needs the thread for.
 *   The bridge does not see two kinds of cycle: a callback that waits for an event, or for another queue, whose work
 *   waits for this queue's later work; and a callback that joins a thread which waits for this queue. Give such waits a
 *   timeout. A wait behind a callback that has run for two seconds prints a line on stderr, once for each callback.
 *
 * Times that a call takes are nanoseconds; times that come from the GPU are seconds, as Metal has them.
 */
#ifndef METAL_BRIDGE_H
#define METAL_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts the incompatible changes of these headers. The first release has 1, and no change before it counts. After it,
 * a release raises the number if a program that was compiled with the earlier headers may not work with the new
 * library: if a function, a constant or a structure has changed (a new field too, since callers make the structures),
 * or if a call promises less or asks for more. A new function or constant alone does not raise it. */
#define MTB_ABI_VERSION 1u

/* A timeout that never ends. */
#define MTB_FOREVER UINT64_MAX

/* How long calls without a timeout wait for a free slot of a queue: ten minutes, in nanoseconds. After that they fail
 * with MTB_TIMEOUT. */
#define MTB_SLOT_TIMEOUT 600000000000u

/* Buffer and threadgroup memory bindings of a compute encoder: indices 0 to 30. */
#define MTB_MAX_BINDINGS 31u

/* The most bytes that mtb_compute_encoder_set_bytes takes: Metal's limit. */
#define MTB_MAX_INLINE_BYTES 4096u

/* The ABI that the linked library was built with: equal to MTB_ABI_VERSION if header and library fit. */
uint32_t mtb_abi_version(void);

/* Whether this process is a child of fork() whose parent had asked for a Metal device before. Only the parent has
 * Metal's threads: in the child every call for a device, and every call on a handle that can fail, fails with
 * MTB_INVALID_STATE before it waits or takes a lock, and releases and trims do nothing. */
bool mtb_process_is_forked(void);

/* ------------------------------------------------------------------------------------------------ handles */

typedef struct mtb_error mtb_error;
typedef struct mtb_device mtb_device;                   /* MTLDevice */
typedef struct mtb_buffer mtb_buffer;                   /* MTLBuffer */
typedef struct mtb_command_queue mtb_command_queue;     /* MTLCommandQueue */
typedef struct mtb_command_buffer mtb_command_buffer;   /* MTLCommandBuffer */
typedef struct mtb_compute_encoder mtb_compute_encoder; /* MTLComputeCommandEncoder */
typedef struct mtb_blit_encoder mtb_blit_encoder;       /* MTLBlitCommandEncoder */
typedef struct mtb_library mtb_library;                 /* MTLLibrary */
typedef struct mtb_function mtb_function;               /* MTLFunction */
typedef struct mtb_constant_values mtb_constant_values; /* MTLFunctionConstantValues */
typedef struct mtb_pipeline mtb_pipeline;               /* MTLComputePipelineState */
typedef struct mtb_event mtb_event;                     /* MTLSharedEvent */
typedef struct mtb_dynamic_library mtb_dynamic_library; /* MTLDynamicLibrary: see metal_bridge_functions.h */

typedef enum mtb_handle_kind {
    MTB_HANDLE_ERROR = 0,
    MTB_HANDLE_DEVICE = 1,
    MTB_HANDLE_BUFFER = 2,
    MTB_HANDLE_QUEUE = 3,
    MTB_HANDLE_COMMAND_BUFFER = 4,
    MTB_HANDLE_COMPUTE_ENCODER = 5,
    MTB_HANDLE_BLIT_ENCODER = 6,
    MTB_HANDLE_LIBRARY = 7,
    MTB_HANDLE_FUNCTION = 8,
    MTB_HANDLE_CONSTANT_VALUES = 9,
    MTB_HANDLE_PIPELINE = 10,
    MTB_HANDLE_EVENT = 11,
    MTB_HANDLE_MEMORY = 12,
    MTB_HANDLE_TRANSFER = 13,
    MTB_HANDLE_ARENA = 14,
    MTB_HANDLE_RESIDENCY_SET = 15,
    MTB_HANDLE_MPS_KERNEL = 16,
    MTB_HANDLE_INDIRECT_COMMAND_BUFFER = 17,
    MTB_HANDLE_DYNAMIC_LIBRARY = 18,
    MTB_HANDLE_FUNCTION_HANDLE = 19,
    MTB_HANDLE_VISIBLE_FUNCTION_TABLE = 20
} mtb_handle_kind;

/* The number of kinds: every kind is smaller. */
#define MTB_HANDLE_KIND_COUNT 21u

/* The number of handles of a kind that exist now, and the number ever made: for leak tests and monitoring. A committed
 * command buffer exists until it has completed, and so do its queue and the events that it signals. Zero for an unknown
 * kind. */
uint64_t mtb_live_handles(mtb_handle_kind kind);
uint64_t mtb_made_handles(mtb_handle_kind kind);
/* The kind's name, such as "command buffer"; never NULL. */
const char *mtb_handle_kind_name(mtb_handle_kind kind);

/* Frees a string that this API gave to the caller. Takes NULL. */
void mtb_string_free(char *string);

/* ------------------------------------------------------------------------------------------------- errors */

typedef enum mtb_status {
    MTB_OK = 0,
    /* NULL for a handle or pointer that is needed, a zero size, an unknown enumerator, malformed UTF-8. */
    MTB_INVALID_ARGUMENT = 1,
    /* A range, index, size or count beyond what the object or the device has. */
    MTB_OUT_OF_RANGE = 2,
    /* An offset, length or address that is not the multiple that Metal wants. */
    MTB_MISALIGNED = 3,
    /* Handles of two devices in one call. */
    MTB_WRONG_DEVICE = 4,
    /* There is no Metal device, or none at that index. */
    MTB_NO_DEVICE = 5,
    /* Metal or the host could not allocate. */
    MTB_OUT_OF_MEMORY = 6,
    /* A library or pipeline did not compile; the message is the compiler's log. */
    MTB_COMPILE_FAILED = 7,
    /* A function or file of that name does not exist. */
    MTB_NOT_FOUND = 8,
    /* The dispatched kernel has an argument that nothing is bound to; the message names it. */
    MTB_MISSING_ARGUMENT = 9,
    /* The GPU ended the command buffer with an error; mtb_error_code is an MTLCommandBufferError. */
    MTB_COMMAND_BUFFER_FAILED = 10,
    /* The wait's timeout passed. */
    MTB_TIMEOUT = 11,
    /* Not possible in the handle's present state: already committed, already ended, another encoder open. */
    MTB_INVALID_STATE = 12,
    /* The device or the system cannot do this. */
    MTB_UNSUPPORTED = 13,
    /* Metal raised an Objective-C exception; the message has its name and reason. */
    MTB_EXCEPTION = 14,
    /* Metal failed in a way that it did not explain. */
    MTB_INTERNAL = 15,
    /* More than the budget of an mtb_memory or the limit of an arena allows beside what is in use. */
    MTB_OVER_BUDGET = 16,
    /* A wait that could never end: a callback, a host function or a deallocator waits for work that comes after it; or
     * a command buffer waits for an event that nobody can signal any more. */
    MTB_DEADLOCK = 17
} mtb_status;

/* A short description of a status; never NULL. */
const char *mtb_status_name(mtb_status status);

mtb_status mtb_error_status(const mtb_error *error);
/* The NSError code if Metal gave an error, zero otherwise. */
int64_t mtb_error_code(const mtb_error *error);
/* The NSError domain if Metal gave an error, "metal_bridge" otherwise. */
const char *mtb_error_domain(const mtb_error *error);
/* What went wrong, and with which values. */
const char *mtb_error_message(const mtb_error *error);
/* Where: the function of this API that failed. */
const char *mtb_error_function(const mtb_error *error);
void mtb_error_release(mtb_error *error);

/* ------------------------------------------------------------------------------------------------ devices */

/* Three extents, in threads or threadgroups: MTLSize. */
typedef struct mtb_size {
    size_t width;
    size_t height;
    size_t depth;
} mtb_size;

typedef struct mtb_device_info {
    /* Borrowed from the device handle. */
    const char *name;
    /* Tells devices apart: the same for every handle of one GPU. */
    uint64_t registry_id;
    /* Bytes that the device can use without hurting its performance. */
    uint64_t recommended_max_working_set_size;
    /* Bytes of the largest buffer. */
    uint64_t max_buffer_length;
    /* Bytes of threadgroup memory, static and dynamic together. */
    uint64_t max_threadgroup_memory_length;
    /* The largest threadgroup in each dimension. */
    mtb_size max_threads_per_threadgroup;
    bool has_unified_memory;
    bool is_low_power;
    bool is_removable;
    bool is_headless;
    /* The lanes of a SIMD-group run one after another, as on a CPU, and not at the same time, as on a GPU. */
    bool runs_lanes_in_turn;
} mtb_device_info;

/* MTLGPUFamily, for mtb_device_supports_family. */
typedef enum mtb_gpu_family {
    MTB_FAMILY_APPLE1 = 1001,
    MTB_FAMILY_APPLE2 = 1002,
    MTB_FAMILY_APPLE3 = 1003,
    MTB_FAMILY_APPLE4 = 1004,
    MTB_FAMILY_APPLE5 = 1005,
    MTB_FAMILY_APPLE6 = 1006,
    MTB_FAMILY_APPLE7 = 1007,
    MTB_FAMILY_APPLE8 = 1008,
    MTB_FAMILY_APPLE9 = 1009,
    MTB_FAMILY_APPLE10 = 1010,
    MTB_FAMILY_MAC2 = 2002,
    MTB_FAMILY_COMMON1 = 3001,
    MTB_FAMILY_COMMON2 = 3002,
    MTB_FAMILY_COMMON3 = 3003,
    MTB_FAMILY_METAL3 = 5001,
    MTB_FAMILY_METAL4 = 5002
} mtb_gpu_family;

/* MTLDeviceLocation. */
typedef enum mtb_device_location {
    MTB_LOCATION_BUILT_IN = 0,
    /* In a slot of the machine. */
    MTB_LOCATION_SLOT = 1,
    /* Outside of the machine, as over Thunderbolt. */
    MTB_LOCATION_EXTERNAL = 2,
    /* The system does not say, or says what this header has no name for. */
    MTB_LOCATION_UNSPECIFIED = 3
} mtb_device_location;

/* Where a device is in the machine, and among its peers. */
typedef struct mtb_device_position {
    /* As mtb_device_peer_group_id gives it; zero if the device has no peers. */
    uint64_t peer_group_id;
    /* The device's number in its peer group, below peer_count. */
    uint32_t peer_index;
    /* Devices in the peer group. */
    uint32_t peer_count;
    mtb_device_location location;
    /* Tells devices of one location apart, such as the number of the slot. */
    uint64_t location_number;
    /* Bytes a second, at most, between system memory and the device's own memory; zero if the device is built in or the
     * system does not know. */
    uint64_t max_transfer_rate;
} mtb_device_position;

/* MTLCreateSystemDefaultDevice, or the first of MTLCopyAllDevices if that gives none (as in a process without a
 * window server session). MTB_NO_DEVICE if there is none at all. */
mtb_device *mtb_device_create_default(mtb_error **error);
/* The number of devices that MTLCopyAllDevices has now. */
size_t mtb_device_count(void);
/* The device at `index` of MTLCopyAllDevices. MTB_NO_DEVICE past the end. */
mtb_device *mtb_device_create_at(size_t index, mtb_error **error);
mtb_device *mtb_device_retain(mtb_device *device);
void mtb_device_release(mtb_device *device);
/* Fills `info`, all zero for a NULL device. */
void mtb_device_get_info(const mtb_device *device, mtb_device_info *info);
/* supportsFamily: `family` is an mtb_gpu_family or any other value of MTLGPUFamily. */
bool mtb_device_supports_family(const mtb_device *device, int64_t family);
/* Bytes that this process now has allocated on the device. */
uint64_t mtb_device_current_allocated_size(const mtb_device *device);
/* peerGroupID: devices with the same number, other than zero, use each other's buffers through remote views. */
uint64_t mtb_device_peer_group_id(const mtb_device *device);
/* Asks peerGroupID, peerIndex, peerCount, location, locationNumber and maxTransferRate, at each call, since devices
 * come and go. Fills `position`, all zero for a NULL device. */
void mtb_device_get_position(const mtb_device *device, mtb_device_position *position);

/* ------------------------------------------------------------------------------------------------ buffers */

typedef enum mtb_storage_mode {
    /* One allocation that CPU and GPU both see. */
    MTB_STORAGE_SHARED = 0,
    /* Two copies, which mtb_buffer_did_modify_range and mtb_blit_encoder_synchronize keep in step. */
    MTB_STORAGE_MANAGED = 1,
    /* Only the GPU sees it: the CPU has no contents. */
    MTB_STORAGE_PRIVATE = 2
} mtb_storage_mode;

/* Metal calls it once, when a no-copy buffer no longer needs the caller's memory; no command buffer uses the memory any
 * more by then. If the GPU was the last to use the memory, Metal calls on a thread of its own: see "Callbacks". */
typedef void (*mtb_deallocator)(void *bytes, size_t length, void *context);

/* newBufferWithLength:options:. The contents start as zeroes on Apple's drivers, but Metal does not promise it.
 * MTB_OUT_OF_RANGE beyond the device's max_buffer_length, MTB_OUT_OF_MEMORY if Metal gives nil. */
mtb_buffer *mtb_buffer_create(mtb_device *device, size_t length, mtb_storage_mode mode, mtb_error **error);
/* newBufferWithBytes:length:options:, for shared and managed buffers. */
mtb_buffer *mtb_buffer_create_with_bytes(mtb_device *device, const void *bytes, size_t length, mtb_storage_mode mode,
                                         mtb_error **error);
/* newBufferWithBytesNoCopy:length:options:deallocator:, for shared and managed buffers. The address and the length
 * must be multiples of mtb_page_size. `deallocator` may be NULL; if the call fails, Metal does not call it, and the
 * memory stays the caller's. */
mtb_buffer *mtb_buffer_create_no_copy(mtb_device *device, void *bytes, size_t length, mtb_storage_mode mode,
                                      mtb_deallocator deallocator, void *context, mtb_error **error);
mtb_buffer *mtb_buffer_retain(mtb_buffer *buffer);
void mtb_buffer_release(mtb_buffer *buffer);
/* Bytes of a page of virtual memory: 16384 on Apple silicon. */
size_t mtb_page_size(void);
/* Length in bytes, as it was asked for. */
size_t mtb_buffer_length(const mtb_buffer *buffer);
mtb_storage_mode mtb_buffer_storage_mode(const mtb_buffer *buffer);
/* The address that the CPU sees; NULL for a private buffer. */
void *mtb_buffer_contents(const mtb_buffer *buffer);
/* The address that the GPU sees (macOS 13); zero if the system does not tell. */
uint64_t mtb_buffer_gpu_address(const mtb_buffer *buffer);
/* The registry id of the buffer's device. */
uint64_t mtb_buffer_device_id(const mtb_buffer *buffer);
/* didModifyRange: for managed buffers; on a shared buffer it does nothing, on a private one it is
 * MTB_INVALID_ARGUMENT. */
mtb_status mtb_buffer_did_modify_range(mtb_buffer *buffer, size_t offset, size_t length, mtb_error **error);
/* Labels show in Xcode's captures and in Metal's messages. NULL removes the label, here and below. */
mtb_status mtb_buffer_set_label(mtb_buffer *buffer, const char *label, mtb_error **error);
/* The label, or NULL if there is none. The caller's to free. */
char *mtb_buffer_copy_label(const mtb_buffer *buffer);

/* ---------------------------------------------------------------------------------- libraries and functions */

typedef enum mtb_math_mode {
    /* Metal's default, which is fast. */
    MTB_MATH_DEFAULT = 0,
    /* IEEE 754, no reassociation. */
    MTB_MATH_SAFE = 1,
    /* Reassociation, but infinities and NaNs are kept (macOS 15; fast before). */
    MTB_MATH_RELAXED = 2,
    MTB_MATH_FAST = 3
} mtb_math_mode;

/* A preprocessor macro: `-Dname=value`. */
typedef struct mtb_macro {
    const char *name;
    /* NULL defines the name as 1. */
    const char *value;
} mtb_macro;

/* MTLLibraryType. */
typedef enum mtb_library_type {
    MTB_LIBRARY_EXECUTABLE = 0,
    /* mtb_dynamic_library_create makes a dynamic library of it. */
    MTB_LIBRARY_DYNAMIC = 1
} mtb_library_type;

/* MTLCompileOptions. Zeroes are the defaults. */
typedef struct mtb_compile_options {
    const mtb_macro *macros;
    size_t macro_count;
    /* As MTLLanguageVersion: the major version times 65536 plus the minor, 1.0 to 4.0. Zero is the newest. */
    uint32_t language_version;
    mtb_math_mode math_mode;
    /* What the source becomes: only a dynamic library has an install name, and needs one. */
    mtb_library_type library_type;
    const char *install_name;
    /* Where functions are that the source declares and does not define. */
    mtb_dynamic_library *const *libraries;
    size_t library_count;
} mtb_compile_options;

/* newLibraryWithSource:options:error:. `source` has `length` bytes and needs no terminating zero. `options` may be
 * NULL. MTB_COMPILE_FAILED with the compiler's log, whose line numbers are the source's own; MTB_UNSUPPORTED if the
 * options ask for a dynamic library and the device has none. */
mtb_library *mtb_library_create_from_source(mtb_device *device, const char *source, size_t length,
                                            const mtb_compile_options *options, mtb_error **error);
/* newLibraryWithURL:error: of a metallib file. */
mtb_library *mtb_library_create_from_file(mtb_device *device, const char *path, mtb_error **error);
/* A metallib in memory; the bytes are not needed after the call. */
mtb_library *mtb_library_create_from_bytes(mtb_device *device, const void *bytes, size_t length, mtb_error **error);
mtb_library *mtb_library_retain(mtb_library *library);
void mtb_library_release(mtb_library *library);
/* The compiler's warnings, or NULL if there are none or the compiler does not tell. */
const char *mtb_library_warnings(const mtb_library *library);
size_t mtb_library_function_count(const mtb_library *library);
/* The name of the function at `index`, NULL past the end. */
const char *mtb_library_function_name(const mtb_library *library, size_t index);

/* MTLDataType of a function constant. */
typedef enum mtb_data_type {
    MTB_TYPE_FLOAT = 3,
    MTB_TYPE_FLOAT2 = 4,
    MTB_TYPE_FLOAT3 = 5,
    MTB_TYPE_FLOAT4 = 6,
    MTB_TYPE_HALF = 16,
    MTB_TYPE_HALF2 = 17,
    MTB_TYPE_HALF3 = 18,
    MTB_TYPE_HALF4 = 19,
    MTB_TYPE_INT = 29,
    MTB_TYPE_INT2 = 30,
    MTB_TYPE_INT3 = 31,
    MTB_TYPE_INT4 = 32,
    MTB_TYPE_UINT = 33,
    MTB_TYPE_UINT2 = 34,
    MTB_TYPE_UINT3 = 35,
    MTB_TYPE_UINT4 = 36,
    MTB_TYPE_SHORT = 37,
    MTB_TYPE_SHORT2 = 38,
    MTB_TYPE_SHORT3 = 39,
    MTB_TYPE_SHORT4 = 40,
    MTB_TYPE_USHORT = 41,
    MTB_TYPE_USHORT2 = 42,
    MTB_TYPE_USHORT3 = 43,
    MTB_TYPE_USHORT4 = 44,
    MTB_TYPE_CHAR = 45,
    MTB_TYPE_CHAR2 = 46,
    MTB_TYPE_CHAR3 = 47,
    MTB_TYPE_CHAR4 = 48,
    MTB_TYPE_UCHAR = 49,
    MTB_TYPE_UCHAR2 = 50,
    MTB_TYPE_UCHAR3 = 51,
    MTB_TYPE_UCHAR4 = 52,
    MTB_TYPE_BOOL = 53,
    MTB_TYPE_BOOL2 = 54,
    MTB_TYPE_BOOL3 = 55,
    MTB_TYPE_BOOL4 = 56,
    MTB_TYPE_LONG = 81,
    MTB_TYPE_ULONG = 85,
    MTB_TYPE_BFLOAT = 121
} mtb_data_type;

mtb_constant_values *mtb_constant_values_create(mtb_error **error);
mtb_constant_values *mtb_constant_values_retain(mtb_constant_values *values);
void mtb_constant_values_release(mtb_constant_values *values);
/* setConstantValue:type:atIndex:. The value is copied: as many bytes as the type has in Metal (three-component vectors
 * take as many as four components), from an address of any alignment. */
mtb_status mtb_constant_values_set_at(mtb_constant_values *values, size_t index, mtb_data_type data_type,
                                      const void *value, mtb_error **error);
/* setConstantValue:type:withName:. */
mtb_status mtb_constant_values_set_named(mtb_constant_values *values, const char *name, mtb_data_type data_type,
                                         const void *value, mtb_error **error);

/* newFunctionWithName:, or newFunctionWithName:constantValues:error: if `values` is not NULL. MTB_NOT_FOUND if the
 * library has no such function. */
mtb_function *mtb_function_create(mtb_library *library, const char *name, const mtb_constant_values *values,
                                  mtb_error **error);
mtb_function *mtb_function_retain(mtb_function *function);
void mtb_function_release(mtb_function *function);
const char *mtb_function_name(const mtb_function *function);

/* ---------------------------------------------------------------------------------------- compute pipelines */

typedef enum mtb_argument_kind {
    MTB_ARGUMENT_BUFFER = 0,
    MTB_ARGUMENT_THREADGROUP_MEMORY = 1,
    /* Textures, samplers and other things that this API does not bind. */
    MTB_ARGUMENT_OTHER = 2,
    /* See metal_bridge_functions.h. */
    MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE = 3
} mtb_argument_kind;

/* MTLBindingAccess. */
typedef enum mtb_access {
    MTB_ACCESS_READ_ONLY = 0,
    MTB_ACCESS_READ_WRITE = 1,
    MTB_ACCESS_WRITE_ONLY = 2
} mtb_access;

typedef struct mtb_argument {
    /* Borrowed from the pipeline handle. */
    const char *name;
    mtb_argument_kind kind;
    mtb_access access;
    uint32_t index;
    /* The compiled kernel uses the argument, so a dispatch needs it bound. */
    bool is_used;
    /* Bytes and alignment of what the argument points to (buffers) or of its memory (threadgroup memory). */
    size_t data_size;
    size_t alignment;
} mtb_argument;

/* newComputePipelineStateWithDescriptor:options:reflection:error:, of the kernel alone: see
 * mtb_pipeline_create_with_descriptor of metal_bridge_functions.h. */
mtb_pipeline *mtb_pipeline_create(mtb_function *function, mtb_error **error);
mtb_pipeline *mtb_pipeline_retain(mtb_pipeline *pipeline);
void mtb_pipeline_release(mtb_pipeline *pipeline);
/* Threads in a SIMD-group. */
size_t mtb_pipeline_thread_execution_width(const mtb_pipeline *pipeline);
size_t mtb_pipeline_max_total_threads_per_threadgroup(const mtb_pipeline *pipeline);
/* Bytes of threadgroup memory that the kernel declares itself. */
size_t mtb_pipeline_static_threadgroup_memory_length(const mtb_pipeline *pipeline);
/* The function's name. */
const char *mtb_pipeline_function_name(const mtb_pipeline *pipeline);
size_t mtb_pipeline_argument_count(const mtb_pipeline *pipeline);
/* Fills `argument` with the argument at `position` of the list (not its binding index); false past the end. */
bool mtb_pipeline_get_argument(const mtb_pipeline *pipeline, size_t position, mtb_argument *argument);

/* --------------------------------------------------------------------------------- queues, command buffers */

/* newCommandQueueWithMaxCommandBufferCount:; zero is Metal's default of 64 command buffers that have not completed.
 * MTB_OUT_OF_RANGE over 65536. The bridge's own command buffers (metal_bridge_memory.h) have slots of their own. */
mtb_command_queue *mtb_command_queue_create(mtb_device *device, size_t max_command_buffers, mtb_error **error);
mtb_command_queue *mtb_command_queue_retain(mtb_command_queue *queue);
void mtb_command_queue_release(mtb_command_queue *queue);
mtb_status mtb_command_queue_set_label(mtb_command_queue *queue, const char *label, mtb_error **error);
char *mtb_command_queue_copy_label(const mtb_command_queue *queue);
/* Whether this thread is inside a callback or a host function of the queue: see "Callbacks". */
bool mtb_command_queue_is_in_callback(const mtb_command_queue *queue);

typedef enum mtb_references {
    /* The command buffer retains the resources that it uses. */
    MTB_REFERENCES_RETAINED = 0,
    /* The command buffer does not retain them: the caller keeps them alive until it has completed. Cheaper to encode.
     */
    MTB_REFERENCES_UNRETAINED = 1
} mtb_references;

/* MTLCommandBufferStatus. */
typedef enum mtb_command_buffer_status {
    MTB_COMMAND_BUFFER_NOT_ENQUEUED = 0,
    MTB_COMMAND_BUFFER_ENQUEUED = 1,
    MTB_COMMAND_BUFFER_COMMITTED = 2,
    MTB_COMMAND_BUFFER_SCHEDULED = 3,
    MTB_COMMAND_BUFFER_COMPLETED = 4,
    MTB_COMMAND_BUFFER_ERROR = 5
} mtb_command_buffer_status;

/* When the command buffer ran, in seconds of the host's monotonic clock; zero before it has completed. */
typedef struct mtb_times {
    double gpu_start;
    double gpu_end;
    double kernel_start;
    double kernel_end;
} mtb_times;

/* How a command buffer ended, for its completion callback, which may use it until the callback returns. */
typedef struct mtb_completion {
    mtb_command_buffer_status status;
    /* NULL unless the status is MTB_COMMAND_BUFFER_ERROR. */
    const mtb_error *error;
    mtb_times times;
} mtb_completion;

typedef void (*mtb_completion_callback)(const mtb_completion *completion, void *context);
/* Frees a callback's context. The bridge calls it exactly once: after the callback, or when nothing can call the
 * callback any more. If the call that takes the context fails, the bridge calls it before that call returns, except
 * after MTB_EXCEPTION: if Metal runs the command buffer all the same, the bridge calls it after the callback. (If Metal
 * raises another exception when the bridge asks whether the command buffer runs, the bridge never calls it.) May be
 * NULL: then the context stays the caller's. */
typedef void (*mtb_context_destructor)(void *context);

/* commandBuffer or commandBufferWithUnretainedReferences. A queue has slots for a fixed number of command buffers that
 * have not completed (committed or not): if all are taken, this call waits for one to complete or to be released, and
 * fails with MTB_TIMEOUT after `timeout_ns` nanoseconds. MTB_DEADLOCK if it would wait for MTB_SLOT_TIMEOUT or longer
 * inside a callback of the queue. */
mtb_command_buffer *mtb_command_buffer_create(mtb_command_queue *queue, mtb_references references, uint64_t timeout_ns,
                                              mtb_error **error);
mtb_command_buffer *mtb_command_buffer_retain(mtb_command_buffer *command_buffer);
/* Releasing a command buffer that was not committed discards it, and ends an encoder that is open: an encoder keeps
 * neither its command buffer nor a slot of the queue. A committed command buffer runs to its end. */
void mtb_command_buffer_release(mtb_command_buffer *command_buffer);
mtb_status mtb_command_buffer_set_label(mtb_command_buffer *command_buffer, const char *label, mtb_error **error);
char *mtb_command_buffer_copy_label(const mtb_command_buffer *command_buffer);
/* Takes the next position in the queue's order of execution. MTB_INVALID_STATE the second time. */
mtb_status mtb_command_buffer_enqueue(mtb_command_buffer *command_buffer, mtb_error **error);
/* addCompletedHandler:. Before the commit only. Metal calls `callback` once the command buffer has completed or failed,
 * before any wait returns. If the command buffer is never committed, or if this call fails, the bridge calls only
 * `destructor`. */
mtb_status mtb_command_buffer_add_completed_callback(mtb_command_buffer *command_buffer,
                                                     mtb_completion_callback callback, void *context,
                                                     mtb_context_destructor destructor, mtb_error **error);
/* Hands the command buffer to the GPU. MTB_INVALID_STATE while an encoder is open, the second time, and if Metal
 * raised an exception at work that was encoded. After MTB_EXCEPTION the command buffer either runs all the same
 * or has ended, without callbacks and signals, with MTB_COMMAND_BUFFER_ERROR. If Metal raises the exception only after
 * this call, since a host function had to return first, the command buffer fails as if the GPU had failed, with
 * MTB_EXCEPTION; what comes later in the queue then waits until the last reference to the command buffer is released.
 */
mtb_status mtb_command_buffer_commit(mtb_command_buffer *command_buffer, mtb_error **error);
/* Waits until the command buffer and its callbacks have completed. MTB_COMMAND_BUFFER_FAILED if the GPU failed,
 * MTB_INVALID_STATE if it was not committed, MTB_DEADLOCK if it has not completed and this thread is inside a
 * callback of its queue. */
mtb_status mtb_command_buffer_wait(mtb_command_buffer *command_buffer, mtb_error **error);
/* The same, with MTB_TIMEOUT after `timeout_ns` nanoseconds: at once for 0, also inside a callback. */
mtb_status mtb_command_buffer_wait_timeout(mtb_command_buffer *command_buffer, uint64_t timeout_ns, mtb_error **error);
mtb_command_buffer_status mtb_command_buffer_get_status(const mtb_command_buffer *command_buffer);
/* A copy of the error that the command buffer failed with, NULL if it has none. The caller's to release. */
mtb_error *mtb_command_buffer_copy_error(const mtb_command_buffer *command_buffer);
mtb_times mtb_command_buffer_get_times(const mtb_command_buffer *command_buffer);
/* encodeSignalEvent:value: and encodeWaitForEvent:value:, between encoders; the event may be of another device. A
 * signal keeps a reference to the event, a wait does not. If the last reference goes before the event has the value,
 * nobody can signal the event any more: a commit then fails with MTB_DEADLOCK, and a command buffer that was committed
 * before goes on without the signal and completes with MTB_COMMAND_BUFFER_ERROR and MTB_DEADLOCK. While somebody can
 * still signal the event, the command buffer waits. If the GPU fails, the bridge signals the events that the command
 * buffer was to signal, so that nobody waits for ever: look at the command buffer's status.
 * Each of these signals comes after the waits that were encoded before it, and after smaller values that other command
 * buffers, already committed, are still to signal. */
mtb_status mtb_command_buffer_encode_signal(mtb_command_buffer *command_buffer, mtb_event *event, uint64_t value,
                                            mtb_error **error);
mtb_status mtb_command_buffer_encode_wait(mtb_command_buffer *command_buffer, mtb_event *event, uint64_t value,
                                          mtb_error **error);

/* ---------------------------------------------------------------------------------------- compute encoders */

/* MTLDispatchType. */
typedef enum mtb_dispatch_type {
    /* Each dispatch sees what the ones before it wrote. */
    MTB_DISPATCH_SERIAL = 0,
    /* Dispatches may overlap; barriers order them. */
    MTB_DISPATCH_CONCURRENT = 1
} mtb_dispatch_type;

/* MTLResourceUsage, for mtb_compute_encoder_use_buffer. */
typedef enum mtb_usage {
    MTB_USAGE_READ = 1,
    MTB_USAGE_WRITE = 2,
    MTB_USAGE_READ_WRITE = 3
} mtb_usage;

/* computeCommandEncoderWithDispatchType:. MTB_INVALID_STATE while another encoder of the command buffer is open.
 *
 * What is set (pipeline, buffers, bytes, threadgroup memory) stays set until it is replaced or the encoder ends. The
 * bridge checks every call when it is made, and sends dispatches to Metal in batches, each in one autorelease pool, at
 * the latest when the encoder ends. It keeps buffers and pipelines that were set alive until then. */
mtb_compute_encoder *mtb_compute_encoder_create(mtb_command_buffer *command_buffer, mtb_dispatch_type dispatch_type,
                                                mtb_error **error);
/* Ends the encoder if that has not been done. */
void mtb_compute_encoder_release(mtb_compute_encoder *encoder);
mtb_status mtb_compute_encoder_set_label(mtb_compute_encoder *encoder, const char *label, mtb_error **error);
mtb_status mtb_compute_encoder_set_pipeline(mtb_compute_encoder *encoder, mtb_pipeline *pipeline, mtb_error **error);
/* setBuffer:offset:atIndex:. The offset must be inside the buffer; Metal wants it aligned to the argument's type. */
mtb_status mtb_compute_encoder_set_buffer(mtb_compute_encoder *encoder, mtb_buffer *buffer, size_t offset, size_t index,
                                          mtb_error **error);
/* setBufferOffset:atIndex:, for an index that has a buffer. */
mtb_status mtb_compute_encoder_set_buffer_offset(mtb_compute_encoder *encoder, size_t offset, size_t index,
                                                 mtb_error **error);
/* setBytes:length:atIndex:, 1 to MTB_MAX_INLINE_BYTES bytes, copied. */
mtb_status mtb_compute_encoder_set_bytes(mtb_compute_encoder *encoder, const void *bytes, size_t length, size_t index,
                                         mtb_error **error);
/* setThreadgroupMemoryLength:atIndex:, a multiple of 16 bytes; zero removes it. All lengths that are set, and what the
 * kernel declares itself, must fit into the device's threadgroup memory together. */
mtb_status mtb_compute_encoder_set_threadgroup_memory(mtb_compute_encoder *encoder, size_t length, size_t index,
                                                      mtb_error **error);
/* dispatchThreads:threadsPerThreadgroup:. The threads need not fill the last threadgroups. A dispatch of zero threads
 * or threadgroups does nothing, and needs nothing set. */
mtb_status mtb_compute_encoder_dispatch_threads(mtb_compute_encoder *encoder, mtb_size threads,
                                                mtb_size threads_per_threadgroup, mtb_error **error);
/* dispatchThreadgroups:threadsPerThreadgroup:. */
mtb_status mtb_compute_encoder_dispatch_threadgroups(mtb_compute_encoder *encoder, mtb_size threadgroups,
                                                     mtb_size threads_per_threadgroup, mtb_error **error);
/* memoryBarrierWithScope: of MTLBarrierScopeBuffers: later dispatches see what earlier ones wrote to any buffer. */
mtb_status mtb_compute_encoder_memory_barrier(mtb_compute_encoder *encoder, mtb_error **error);
/* memoryBarrierWithResources:count:, the same for these buffers. */
mtb_status mtb_compute_encoder_memory_barrier_buffers(mtb_compute_encoder *encoder, mtb_buffer *const *buffers,
                                                      size_t count, mtb_error **error);
/* useResource:usage:, for buffers that kernels reach through GPU addresses only. */
mtb_status mtb_compute_encoder_use_buffer(mtb_compute_encoder *encoder, mtb_buffer *buffer, mtb_usage usage,
                                          mtb_error **error);
mtb_status mtb_compute_encoder_push_debug_group(mtb_compute_encoder *encoder, const char *name, mtb_error **error);
/* MTB_INVALID_STATE if no group is open. */
mtb_status mtb_compute_encoder_pop_debug_group(mtb_compute_encoder *encoder, mtb_error **error);
/* endEncoding; ends the debug groups that are still open too. MTB_INVALID_STATE the second time. */
mtb_status mtb_compute_encoder_end(mtb_compute_encoder *encoder, mtb_error **error);

/* ------------------------------------------------------------------------------------------- blit encoders */

/* blitCommandEncoder. MTB_INVALID_STATE while another encoder of the command buffer is open. */
mtb_blit_encoder *mtb_blit_encoder_create(mtb_command_buffer *command_buffer, mtb_error **error);
/* Ends the encoder if that has not been done. */
void mtb_blit_encoder_release(mtb_blit_encoder *encoder);
mtb_status mtb_blit_encoder_set_label(mtb_blit_encoder *encoder, const char *label, mtb_error **error);
/* copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:. Offsets and size are multiples of 4. Within one buffer
 * the two ranges must not overlap. */
mtb_status mtb_blit_encoder_copy(mtb_blit_encoder *encoder, mtb_buffer *source, size_t source_offset,
                                 mtb_buffer *destination, size_t destination_offset, size_t size, mtb_error **error);
/* fillBuffer:range:value:. Offset and length are multiples of 4. */
mtb_status mtb_blit_encoder_fill(mtb_blit_encoder *encoder, mtb_buffer *buffer, size_t offset, size_t length,
                                 uint8_t value, mtb_error **error);
/* synchronizeResource: makes what the GPU wrote to a managed buffer visible to the CPU once the command buffer has
 * completed; on a shared buffer it does nothing, on a private one it is MTB_INVALID_ARGUMENT. */
mtb_status mtb_blit_encoder_synchronize(mtb_blit_encoder *encoder, mtb_buffer *buffer, mtb_error **error);
mtb_status mtb_blit_encoder_push_debug_group(mtb_blit_encoder *encoder, const char *name, mtb_error **error);
/* MTB_INVALID_STATE if no group is open. */
mtb_status mtb_blit_encoder_pop_debug_group(mtb_blit_encoder *encoder, mtb_error **error);
/* endEncoding; ends the debug groups that are still open too. MTB_INVALID_STATE the second time. */
mtb_status mtb_blit_encoder_end(mtb_blit_encoder *encoder, mtb_error **error);

/* ------------------------------------------------------------------------------------------- shared events */

/* Called with the event's value once it has reached the one that was asked for. */
typedef void (*mtb_event_callback)(uint64_t value, void *context);

/* newSharedEvent. */
mtb_event *mtb_event_create(mtb_device *device, mtb_error **error);
mtb_event *mtb_event_retain(mtb_event *event);
void mtb_event_release(mtb_event *event);
mtb_status mtb_event_set_label(mtb_event *event, const char *label, mtb_error **error);
char *mtb_event_copy_label(const mtb_event *event);
uint64_t mtb_event_signaled_value(const mtb_event *event);
/* Signals from the CPU. MTB_OUT_OF_RANGE if the value is smaller than the event's: events only rise. */
mtb_status mtb_event_signal(mtb_event *event, uint64_t value, mtb_error **error);
/* Waits on the CPU until the event has reached `value`; MTB_TIMEOUT after `timeout_ns` nanoseconds, which are rounded
 * up to milliseconds. */
mtb_status mtb_event_wait(mtb_event *event, uint64_t value, uint64_t timeout_ns, mtb_error **error);
/* notifyListener:atValue:block:. A thread of Metal's calls `callback` once, when the event reaches the value (at once
 * if it has). If the last reference to the event goes before that, the bridge calls only `destructor`; if the event had
 * reached the value, the releasing thread calls the callback too. A command buffer that is to signal the event holds a
 * reference. A context that holds a reference keeps the event, and so itself, until the event reaches the value. If
 * this call fails, the bridge calls only `destructor`. */
mtb_status mtb_event_notify(mtb_event *event, uint64_t value, mtb_event_callback callback, void *context,
                            mtb_context_destructor destructor, mtb_error **error);

/* --------------------------------------------------------------------------------- reports of the sanitizer */

/* The software Metal checks kernels if the environment variable SOFTWARE_METAL_SANITIZE says so. On Apple's Metal no
 * check is on, and there are no reports. */

typedef enum mtb_sanitizer_check {
    /* Accesses outside of the object that the address was made from. */
    MTB_SANITIZE_BOUNDS = 1,
    /* Accesses to one memory location by threads in no order, of which one writes. */
    MTB_SANITIZE_RACE = 2,
    /* Reads of what nothing has written. */
    MTB_SANITIZE_UNINITIALIZED = 4
} mtb_sanitizer_check;

/* The checks that are on, each a bit of mtb_sanitizer_check. */
uint32_t mtb_sanitizer_checks(void);

typedef enum mtb_report_kind {
    MTB_REPORT_BOUNDS = 0,
    MTB_REPORT_RACE = 1,
    MTB_REPORT_UNINITIALIZED = 2,
    /* Not all threads of a threadgroup come to the same barrier. */
    MTB_REPORT_BARRIER = 3,
    /* A thread waits in a loop for what cannot happen. */
    MTB_REPORT_DEADLOCK = 4
} mtb_report_kind;

/* One thread's access to memory, or its way into a barrier. */
typedef struct mtb_reported_access {
    const char *kernel;
    /* The function that contains the line; "" if it is not known. */
    const char *function;
    /* As the source or its #line names it; "" if it is not known. */
    const char *file;
    /* From 1; zero if it is not known. */
    uint32_t line;
    bool is_write;
    bool is_atomic;
    /* All lanes of the SIMD-group together load or store a matrix; the positions are those of its first thread. */
    bool is_whole_simdgroup;
    /* Bytes. */
    uint64_t size;
    mtb_size thread_position_in_grid;
    mtb_size threadgroup_position_in_grid;
    mtb_size thread_position_in_threadgroup;
} mtb_reported_access;

/* The strings belong to the report, and are never NULL. */
typedef struct mtb_report {
    mtb_report_kind kind;
    /* What was done to what, in one line. */
    const char *summary;
    /* All of it, for people, in several lines. */
    const char *text;
    mtb_reported_access access;
    /* The earlier access that this one is in conflict with, if any. */
    bool has_earlier;
    mtb_reported_access earlier;
    /* The buffer's label, or the name of the kernel's argument or variable; "" for no object. */
    const char *object;
    /* Its binding index in this dispatch; -1 for none. */
    int64_t argument_index;
    /* From the object's start to the access, in bytes. */
    int64_t offset;
    /* The object's length in bytes. */
    uint64_t length;
    /* How often the sanitizer found it on these lines. */
    uint64_t occurrences;
} mtb_report;

/* Reports so far: one for each kind and pair of lines. */
size_t mtb_report_count(void);
/* A copy of the report at `index`, the caller's to free; NULL past the end and if there is no memory. */
mtb_report *mtb_report_copy(size_t index);
void mtb_report_free(mtb_report *report);
/* Forgets all reports. */
void mtb_reports_clear(void);

/* --------------------------------------------------------------------------------- the profile of kernels that ran */

/* The software Metal counts how kernels access memory if the environment variable SOFTWARE_METAL_PROFILE names a file.
 * This is what has been counted so far, as the JSON of that file, the caller's to free with mtb_string_free. NULL if
 * nothing is counted, as on Apple's Metal, and if there is no memory. */
char *mtb_profile_copy(void);

#ifdef __cplusplus
}
#endif
#endif
