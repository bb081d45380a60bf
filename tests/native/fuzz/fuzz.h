/* A fuzzer of the C ABI: libFuzzer's bytes choose calls and their arguments, and a model of the handles says what each
 * call has to return. Arguments are what a careless caller gives: NULL, objects of another device, ranges that
 * overflow, numbers that no enumeration has, calls in the wrong order; but no handle that was released, and no memory
 * that is not there. */
#ifndef FUZZ_H
#define FUZZ_H

#include "metal_bridge_memory.h"

#include <stdatomic.h>

/* ---- choices */

/* A number from 0 to below `limit`, 0 at the end of the input. */
uint32_t below(uint32_t limit);
bool one_in(uint32_t times);
/* Small numbers mostly, and those at the edges of types. */
size_t any_size(void);
/* An offset or a length that fits into most buffers, and now and then any size. */
size_t any_offset_in_buffer(void);
/* A value of an enumeration whose values are 0 to below `count`; now and then a number that is not a value of it. */
uint32_t any_enumerator(uint32_t count);

/* ---- what a call has to return */

/* A call that is wrong in several ways may be refused for any of them. */
typedef struct {
    /* A bit for each status. Without `refusals` the call must succeed, or end in one of `possible`. */
    uint32_t refusals, possible;
} verdict;

void refuse_if(verdict *v, bool is_wrong, mtb_status status);
void possibly(verdict *v, mtb_status status);
bool is_valid(const verdict *v);
/* Ends the process, for libFuzzer to report, if the call did not end as it must. Releases the error. */
void judge(const verdict *v, mtb_status status, mtb_error *error, const char *function);

/* CALL(v, mtb_command_queue_set_label, queue, "x") calls the function, with an error or NULL for it, and judges. Its
 * value is whether the call succeeded. */
#define CALL(v, function, ...)                                                  \
    ({                                                                          \
        mtb_error *error_ = NULL;                                               \
        mtb_status status_ = function(__VA_ARGS__, one_in(8) ? NULL : &error_); \
        judge(v, status_, error_, #function);                                   \
        status_ == MTB_OK;                                                      \
    })
/* The same for a call that makes a handle, which is the value. */
#define MAKE(v, function, ...)                                                  \
    ({                                                                          \
        mtb_error *error_ = NULL;                                               \
        __auto_type made_ = function(__VA_ARGS__ __VA_OPT__(, ) & error_);      \
        judge(v, made_ ? MTB_OK : mtb_error_status(error_), error_, #function); \
        made_;                                                                  \
    })

/* ---- the model */

enum {
    DEVICES = 2,
    MOST = 12,
    HOST_BYTES = 4096,
    PIPELINES = 2
};

typedef struct {
    mtb_device *handle;
    mtb_library *library;
    mtb_pipeline *pipelines[PIPELINES];
    /* NULL if the device has none. */
    mtb_dynamic_library *dynamic;
    mtb_device_info info;
} device_model;

typedef struct {
    mtb_buffer *handle;
    int device;
    size_t length;
    mtb_storage_mode mode;
} buffer_model;

typedef struct {
    mtb_command_queue *handle;
    int device;
    /* Nothing on the queue waits for an event, and none of its command buffers is enqueued before its commit, so its
     * work ends by itself. */
    bool is_calm;
} queue_model;

typedef struct {
    mtb_command_buffer *handle;
    int device;
    bool is_calm, is_enqueued, is_committed, is_encoding;
    /* References of the handle and of encoders: the model lives as long as one of them. */
    int references;
} command_model;

typedef struct {
    bool has_ended, is_compute;
    union {
        mtb_compute_encoder *compute;
        mtb_blit_encoder *blit;
    };
    command_model *commands;
    int device, open_groups;
    bool has_pipeline;
    int pipeline;
    /* Bytes from each binding on, 0 if there is none, and the offset. */
    size_t bound[MTB_MAX_BINDINGS], offset[MTB_MAX_BINDINGS], buffer_length[MTB_MAX_BINDINGS];
    size_t threadgroup_memory[MTB_MAX_BINDINGS];
} encoder_model;

typedef struct {
    mtb_event *handle;
    /* Whether a command buffer may signal the event, so that the GPU may raise the value. */
    bool is_signalled_by_gpu;
    uint64_t value;
} event_model;

/* A list of what is alive. */
#define LIST(type)        \
    struct {              \
        type items[MOST]; \
        int count;        \
    }

typedef struct {
    device_model devices[DEVICES];
    int device_count;
    LIST(buffer_model) buffers;
    LIST(queue_model) queues;
    LIST(command_model *) commands;
    LIST(encoder_model *) encoders;
    LIST(event_model) events;
    uint8_t host[HOST_BYTES];
} world;
extern world all;

/* Contexts given to calls that promise to destroy each once, and those destroyed; callbacks called. */
extern _Atomic uint64_t contexts_given, contexts_destroyed;
void destroy_context(void *context);
void note_completion(const mtb_completion *completion, void *context);
void note_event(uint64_t value, void *context);
/* Counts as given. */
void *new_context(void);

/* One of a list, or NULL: of an empty list, and now and then of any. */
#define PICK(list) ((list).count == 0 || one_in(24) ? NULL : &(list).items[below((uint32_t)(list).count)])
#define HANDLE(model) ((model) ? (model)->handle : NULL)
#define IS_FULL(list) ((list).count == MOST)
#define ADD(list, ...) ((list).items[(list).count++] = (__VA_ARGS__))
#define REMOVE(list, item) (*(item) = (list).items[--(list).count])
device_model *pick_device(int *number);

void drop_commands(command_model *commands);
/* Releases the handle, and frees the model. */
void drop_encoder(encoder_model *encoder);
/* One call, or a few that belong together. */
typedef void (*action)(void);
extern const action object_actions[], encoder_actions[], memory_actions[], mps_actions[], indirect_actions[],
    function_actions[];
/* Most calls need a queue: without one few inputs would come to them. */
void make_queue(void);
void make_commands(void);
void make_encoder(void);
void make_memory(void);
void make_transfer(void);
void add_buffer(mtb_buffer *handle, int device, size_t length, uint32_t mode);
extern const uint32_t object_action_count, encoder_action_count, memory_action_count, mps_action_count,
    indirect_action_count, function_action_count;
/* Releases what the memory's actions keep. */
void end_memory(void);

#endif
