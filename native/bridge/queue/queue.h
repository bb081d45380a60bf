/* What is behind mtb_command_queue. */
#ifndef MTBI_QUEUE_H
#define MTBI_QUEUE_H

#include "core/pooled.h"
#include "device/device.h"

/* Slots for command buffers that have neither completed nor been discarded. */
typedef struct mtbi_slots {
    size_t taken;
    size_t limit;
} mtbi_slots;

typedef enum mtbi_slot_kind {
    /* Command buffers that a caller makes and may hold for as long as it likes. */
    MTBI_SLOT_CALLER,
    /* Those of transfers and host functions, which are committed by the call that makes them. */
    MTBI_SLOT_TRANSFER,
    MTBI_SLOT_KINDS
} mtbi_slot_kind;

/* Host functions, numbered in the queue's order: see command/order.m. */
typedef struct mtbi_host_functions {
    /* Command buffers and functions get their positions in the queue's order under this mutex. */
    pthread_mutex_t mutex;
    _Atomic uint64_t last;
    _Atomic uint64_t returned;
    /* The highest number that a command buffer waits for. */
    uint64_t awaited;
    /* Command buffers wait for this event. Its value is the highest awaited number whose function has returned. The
     * first command buffer that has to wait makes it. */
    mtb_event *event;
    /* Command buffers that Metal gets when a function has returned. */
    mtb_command_buffer *held;
} mtbi_host_functions;

/* Copies that the CPU makes when the GPU has done its part of a transfer. */
typedef struct mtbi_host_copies {
    /* The number of transfers with such copies that were committed. */
    _Atomic uint64_t committed;
    /* The number of these transfers whose copies the CPU has made. */
    _Atomic uint64_t made;
    /* Its value is `made`. The first such transfer makes it. */
    mtb_event *event;
} mtbi_host_copies;

/* Metal ends the process if a queue gets more: Apple's feature set tables. */
enum {
    MTBI_MOST_RESIDENCY_SETS = 32
};

struct mtb_command_queue {
    mtbi_handle handle;
    mtb_device *device;
    MTBI_OBJECT(MTLCommandQueue) metal;
    pthread_mutex_t mutex;
    pthread_cond_t has_slots;
    mtbi_slots slots[MTBI_SLOT_KINDS];
    /* Command buffers that were committed and whose callbacks have not all returned. */
    _Atomic uint64_t running;
    /* When the callback that runs now was called; 0 if none runs, or if a wait has reported that it runs for long. */
    _Atomic uint64_t callback_since;
    mtbi_host_functions functions;
    mtbi_host_copies host_copies;
    /* Those that Metal's queue has, under `mutex`. */
    const void *residency_sets[MTBI_MOST_RESIDENCY_SETS];
    size_t residency_set_count;
    /* A queue that was changed for its user is not lent to another. */
    mtbi_pooled pooled;
};

/* A new queue's handle->destroy, as a buffer's. */
void mtbi_queue_destroy(mtbi_handle *handle);

/* Takes `count` slots at once, so that nobody waits for the rest of what it needs. MTB_TIMEOUT, and MTB_DEADLOCK inside
 * a callback of the queue. */
mtb_status mtbi_queue_take_slots(mtb_command_queue *queue, mtbi_slot_kind kind, size_t count, uint64_t timeout_ns,
                                 mtb_error **error, const char *function);
void mtbi_queue_give_slot(mtb_command_queue *queue, mtbi_slot_kind kind);

#endif
