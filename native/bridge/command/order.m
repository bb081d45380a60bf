/* Host functions, and copies that the calling thread makes, have numbers, which rise in the queue's order; a shared
 * event of the queue has the number of the last one that has returned and was awaited. A command buffer that is made
 * before a function has returned begins with a wait of its own for that function's number, so that the order holds
 * whichever other command buffer fails. A command buffer that was made before the call can no longer begin with a wait.
 * If it is committed after the call, it takes its position in the queue, and Metal gets it when the function has
 * returned. */
#import "command/order.h"

#import "core/checks.h"
#import "core/guard.h"
#import "queue/host_copies.h"

#include <unistd.h>

/* Whether the function has not returned, so that its return will be signalled. */
static mtb_status await(mtb_command_queue *queue, uint64_t function, bool *is_awaited, mtb_error **error) {
    mtb_status status = MTB_OK;
    pthread_mutex_lock(&queue->functions.mutex);
    *is_awaited = function > atomic_load(&queue->functions.returned);
    if (*is_awaited) {
        if (!queue->functions.event) queue->functions.event = mtb_event_create(queue->device, error);
        status = queue->functions.event ? MTB_OK : mtbi_last_failure();
        if (queue->functions.awaited < function) queue->functions.awaited = function;
    }
    pthread_mutex_unlock(&queue->functions.mutex);
    return status;
}

mtb_status mtbi_queue_follow_functions(mtb_command_buffer *command_buffer, mtb_error **error) {
    mtb_command_queue *queue = command_buffer->queue;
    bool is_awaited = false;
    command_buffer->waits_for = atomic_load(&queue->functions.last);
    if (command_buffer->waits_for > atomic_load(&queue->functions.returned))
        REQUIRE(await(queue, command_buffer->waits_for, &is_awaited, error));
    if (!is_awaited) return MTB_OK;
    return mtb_command_buffer_encode_wait(command_buffer, queue->functions.event, command_buffer->waits_for, error);
}

static void take_position(mtb_command_buffer *command_buffer) {
    [command_buffer->metal enqueue];
    command_buffer->is_enqueued = true;
    command_buffer->comes_after = atomic_load(&command_buffer->queue->functions.last);
}

void mtbi_queue_enqueue(mtb_command_buffer *command_buffer) {
    pthread_mutex_t *mutex = &command_buffer->queue->functions.mutex;
    pthread_mutex_lock(mutex);
    @try {
        take_position(command_buffer);
    } @finally {
        pthread_mutex_unlock(mutex);
    }
}

static void hand_over(mtb_command_buffer *command_buffer) {
    [command_buffer->metal commit];
    atomic_store(&command_buffer->is_with_metal, true);
}

/* For one whose commit the caller has been told of. */
static void try_to_hand_over(mtb_command_buffer *command_buffer) {
    MTBI_ENTER
    hand_over(command_buffer);
    MTBI_LEAVE()
}

/* Keeps the command buffer until the function before it has returned. Holds a reference, since the caller's may be gone
 * as soon as Metal has the command buffer. */
static void hold(mtb_command_queue *queue, mtb_command_buffer *command_buffer) {
    if (!command_buffer->is_enqueued) take_position(command_buffer);
    mtb_command_buffer **end = &queue->functions.held;
    while (*end) end = &(*end)->next_held;
    *end = mtb_command_buffer_retain(command_buffer);
}

/* What is to end has begun. Before anything that comes later in the queue's order. */
static void count(mtb_command_buffer *command_buffer, const uint64_t *function, uint64_t number) {
    mtb_command_queue *queue = command_buffer->queue;
    if (function) atomic_store(&queue->functions.last, number);
    if (command_buffer->has_host_copies) mtbi_host_copies_begin(queue);
}

void mtbi_queue_commit(mtb_command_buffer *command_buffer, uint64_t *function) {
    mtb_command_queue *queue = command_buffer->queue;
    bool is_held = false;
    pthread_mutex_lock(&queue->functions.mutex);
    uint64_t last = atomic_load(&queue->functions.last);
    if (function) *function = last + 1;
    @try {
        uint64_t comes_after = command_buffer->is_enqueued ? command_buffer->comes_after : last;
        is_held = comes_after > command_buffer->waits_for && comes_after > atomic_load(&queue->functions.returned);
        if (is_held)
            hold(queue, command_buffer);
        else
            hand_over(command_buffer);
        count(command_buffer, function, last + 1);
    } @catch (id exception) {
        /* What Metal runs all the same will end, and counts. */
        if (!is_held && mtbi_command_buffer_runs(command_buffer, true))
            count(command_buffer, function, last + 1);
        else if (function)
            *function = 0;
        @throw;
    } @finally {
        pthread_mutex_unlock(&queue->functions.mutex);
    }
}

bool mtbi_queue_begin_function(mtb_command_queue *queue, uint64_t *function) {
    pthread_mutex_lock(&queue->functions.mutex);
    uint64_t last = atomic_load(&queue->functions.last);
    bool is_idle = atomic_load(&queue->running) == 0 && atomic_load(&queue->functions.returned) == last;
    if (is_idle) {
        *function = last + 1;
        atomic_store(&queue->functions.last, last + 1);
    }
    pthread_mutex_unlock(&queue->functions.mutex);
    return is_idle;
}

/* Takes the first command buffer that may begin from those that are held. Under the mutex. */
static mtb_command_buffer *take_held(mtb_command_queue *queue) {
    mtb_command_buffer **link = &queue->functions.held;
    while (*link && (*link)->comes_after > queue->functions.returned) link = &(*link)->next_held;
    mtb_command_buffer *taken = *link;
    if (taken) *link = taken->next_held;
    return taken;
}

void mtbi_queue_end_function(mtb_command_queue *queue, uint64_t function) {
    mtb_command_buffer *released = NULL;
    bool is_awaited = false;
    /* Rare: a command buffer that has failed has not waited for the functions. */
    while (atomic_load(&queue->functions.returned) + 1 < function) usleep(100);
    MTBI_ENTER
    pthread_mutex_lock(&queue->functions.mutex);
    @try {
        mtb_command_buffer *held;
        atomic_store(&queue->functions.returned, function);
        is_awaited = queue->functions.awaited >= function;
        while ((held = take_held(queue))) {
            held->next_held = released;
            released = held;
            try_to_hand_over(held);
        }
    } @finally {
        pthread_mutex_unlock(&queue->functions.mutex);
    }
    MTBI_LEAVE()
    if (is_awaited) mtb_event_signal(queue->functions.event, function, NULL);
    while (released) {
        mtb_command_buffer *next = released->next_held;
        if (!atomic_load(&released->is_with_metal)) mtbi_command_buffer_complete_refused(released);
        mtb_command_buffer_release(released);
        released = next;
    }
}
