/* Transfers on their way: committed in the queue's order. The bridge completes them before the caller hears of the end.
 */
#include "memory/transfer.h"

#include "command/order.h"
#include "core/callback_scope.h"
#include "core/checks.h"
#include "core/clock.h"
#include "queue/host_copies.h"

/* Divides the time of all kinds together by the bytes of each. */
static void count(mtbi_record *record, const mtb_times *times) {
    uint64_t total = 0;
    double shared_ns = (times->gpu_end - times->gpu_start) * 1e9 + (double)record->cpu_ns;
    for (size_t i = 0; i < MTB_TRANSFER_KIND_COUNT; i++) total += record->sums[i].bytes;
    for (size_t i = 0; i < MTB_TRANSFER_KIND_COUNT; i++) {
        mtb_transfer_statistics *sum = &record->sums[i];
        if (sum->bytes > 0) sum->nanoseconds += (uint64_t)(shared_ns * (double)sum->bytes / (double)total);
    }
    for (mtbi_pair *pair = record->pairs; pair; pair = pair->next) {
        const mtb_transfer_statistics *sum = &record->sums[pair->statistics.kind];
        mtb_transfer_statistics *part = &pair->statistics.transfers;
        part->nanoseconds = (uint64_t)((double)sum->nanoseconds * (double)part->bytes / (double)sum->bytes);
    }
    mtbi_memory_count(record->memory, record->sums, &record->pairs);
}

/* The first callback of a transfer's command buffer: it completes for others once this has returned. */
static void complete(const mtb_completion *completion, void *context) {
    mtbi_record *record = context;
    if (completion->status != MTB_COMMAND_BUFFER_COMPLETED) mtbi_bounces_end(record->bounces);
    if (completion->status == MTB_COMMAND_BUFFER_COMPLETED) {
        for (size_t i = 0; i < record->host_copies.count; i++) {
            const mtbi_operation *copy = &record->host_copies.list[i];
            uint64_t start = mtbi_now();
            mtbi_perform(copy);
            record->sums[copy->kind].nanoseconds += mtbi_now() - start;
        }
        count(record, &completion->times);
    }
    if (record->queue) mtbi_host_copies_end(record->queue);
    mtbi_record_release(record);
}

/* If the command buffer was never run, the other side waits for it, and may be at work. */
static void free_record(void *context) {
    mtbi_record *record = context;
    mtbi_bounces_end(record->bounces);
    mtbi_record_free(record);
}

static mtb_status wait_for_host_copies(mtb_command_queue *queue, const mtbi_record *record,
                                       mtb_command_buffer *command_buffer, mtb_error **error) {
    if (record->awaited_host_copies == 0) return MTB_OK;
    return mtb_command_buffer_encode_wait(command_buffer, queue->host_copies.event, record->awaited_host_copies, error);
}

/* A command buffer with all of `record`. Takes the record over, also on failure. */
static mtb_command_buffer *encode(mtb_command_queue *queue, mtbi_record *record, uint64_t timeout_ns, mtb_error **error,
                                  const char *function) {
    mtb_command_buffer *command_buffer = NULL;
    if (mtbi_record_plan(record, queue, error, function) == MTB_OK &&
        mtbi_queue_take_slots(queue, MTBI_SLOT_TRANSFER, 1, timeout_ns, error, function) == MTB_OK) {
        /* The record keeps alive what is used. */
        command_buffer =
            mtbi_command_buffer_make(queue, MTBI_SLOT_TRANSFER, MTB_REFERENCES_UNRETAINED, error, function);
    }
    if (command_buffer && wait_for_host_copies(queue, record, command_buffer, error) == MTB_OK &&
        mtbi_record_encode(record, command_buffer, error, function) == MTB_OK &&
        mtbi_command_buffer_add_callback(
            command_buffer, (mtbi_callback){.callback = complete, .context = record, .destructor = free_record}, error,
            function) == MTB_OK)
        return command_buffer;
    mtb_command_buffer_release(command_buffer);
    mtbi_record_free(record);
    return NULL;
}

/* `waits` says whether the caller waits for the end of what Metal has, even after an exception in the commit. */
static mtb_command_buffer *encode_and_commit(mtb_command_queue *queue, mtbi_record *record, uint64_t timeout_ns,
                                             bool waits, mtbi_callback *listener, mtb_error **error,
                                             const char *function) {
    mtb_command_buffer *command_buffer = encode(queue, record, timeout_ns, error, function);
    if (!command_buffer) return NULL;
    if ((listener->callback || listener->destructor) &&
        mtbi_command_buffer_add_callback(command_buffer, *listener, error, function)) {
        mtb_command_buffer_release(command_buffer);
        return NULL;
    }
    /* The command buffer has it. */
    *listener = (mtbi_callback){0};
    command_buffer->has_host_copies = record->queue != NULL;
    /* The record may be gone after the commit, also after one that failed. */
    if (mtbi_record_commit_bounces(record, error) == MTB_OK &&
        mtb_command_buffer_commit(command_buffer, error) == MTB_OK)
        return command_buffer;
    if (waits && mtbi_command_buffer_runs(command_buffer, false))
        mtbi_command_buffer_await(command_buffer, MTB_FOREVER);
    mtb_command_buffer_release(command_buffer);
    return NULL;
}

/* Commits the transfer. Empties `listener`, who is told of the end, if the command buffer has taken it over. */
static mtb_command_buffer *commit_for(mtb_transfer *transfer, uint64_t timeout_ns, bool waits, mtbi_callback *listener,
                                      mtb_error **error, const char *function) {
    if (mtbi_check_given(transfer, "transfer", error, function)) return NULL;
    mtbi_record *record = transfer->record;
    if (!record) record = mtbi_record_create(transfer->memory, error, function);
    transfer->record = NULL;
    if (!record) return NULL;
    /* The callback may release the transfer while the call is under way. */
    mtb_memory *memory = mtb_memory_retain(transfer->memory);
    mtb_command_buffer *command_buffer =
        encode_and_commit(transfer->queue, record, timeout_ns, waits, listener, error, function);
    if (command_buffer) atomic_fetch_add_explicit(&memory->command_buffers, 1, memory_order_relaxed);
    mtb_memory_release(memory);
    return command_buffer;
}

/* The same, which takes `listener` over in any case. */
static mtb_command_buffer *commit(mtb_transfer *transfer, uint64_t timeout_ns, mtbi_callback listener,
                                  mtb_error **error, const char *function) {
    mtb_command_buffer *command_buffer = commit_for(transfer, timeout_ns, false, &listener, error, function);
    mtbi_callback_drop(&listener);
    return command_buffer;
}

mtb_command_buffer *mtb_transfer_commit(mtb_transfer *transfer, mtb_completion_callback callback, void *context,
                                        mtb_context_destructor destructor, mtb_error **error) {
    mtbi_error_clear(error);
    mtbi_callback listener = {.callback = callback, .context = context, .destructor = destructor};
    return commit(transfer, MTB_SLOT_TIMEOUT, listener, error, __func__);
}

mtb_command_buffer *mtb_transfer_commit_timeout(mtb_transfer *transfer, uint64_t timeout_ns,
                                                mtb_completion_callback callback, void *context,
                                                mtb_context_destructor destructor, mtb_error **error) {
    mtbi_error_clear(error);
    mtbi_callback listener = {.callback = callback, .context = context, .destructor = destructor};
    return commit(transfer, timeout_ns, listener, error, __func__);
}

/* Waits until all that was committed to the queue has ended. Then the calling thread has a position in the queue's
 * order, and its number, as a host function does: what comes later waits for mtbi_queue_end_function. The number is
 * zero if there is nothing to end. */
static mtb_status begin_on_cpu(mtb_command_queue *queue, uint64_t *number, mtb_error **error, const char *function) {
    if (mtbi_queue_begin_function(queue, number)) return MTB_OK;
    REQUIRE(mtbi_queue_take_slots(queue, MTBI_SLOT_TRANSFER, 1, MTB_SLOT_TIMEOUT, error, function));
    mtb_command_buffer *last =
        mtbi_command_buffer_make(queue, MTBI_SLOT_TRANSFER, MTB_REFERENCES_UNRETAINED, error, function);
    if (!last) return mtbi_last_failure();
    mtb_status status = mtbi_command_buffer_commit(last, number, error, function);
    if (status == MTB_OK) status = mtb_command_buffer_wait(last, error);
    mtb_command_buffer_release(last);
    return status;
}

static mtb_status run_on_cpu(mtb_transfer *transfer, mtb_error **error, const char *function) {
    mtbi_record *record = transfer->record;
    transfer->record = NULL;
    uint64_t number = 0;
    mtb_status status = begin_on_cpu(transfer->queue, &number, error, function);
    if (status == MTB_OK) status = mtbi_record_run_on_cpu(record, error);
    if (number > 0) mtbi_queue_end_function(transfer->queue, number);
    if (status == MTB_OK) count(record, &(mtb_times){0});
    mtbi_record_free(record);
    return status;
}

static void drop_record(mtb_transfer *transfer) {
    if (transfer->record) mtbi_record_free(transfer->record);
    transfer->record = NULL;
}

mtb_status mtb_transfer_run(mtb_transfer *transfer, mtb_error **error) {
    mtbi_error_clear(error);
    REQUIRE(GIVEN(transfer));
    mtb_status may_wait = mtbi_check_may_wait(transfer->queue, "the transfer", error, __func__);
    if (may_wait) {
        drop_record(transfer);
        return may_wait;
    }
    if (transfer->record && mtbi_record_is_for_cpu(transfer->record)) return run_on_cpu(transfer, error, __func__);
    mtb_error *own = NULL, **problem = error ? error : &own;
    mtbi_callback none = {0};
    mtb_command_buffer *command_buffer = commit_for(transfer, MTB_SLOT_TIMEOUT, true, &none, problem, __func__);
    if (command_buffer) {
        mtb_command_buffer_wait(command_buffer, problem);
        /* Metal may have raised an exception before the end. */
        mtbi_command_buffer_await(command_buffer, MTB_FOREVER);
    }
    mtb_status status = mtb_error_status(*problem);
    mtb_command_buffer_release(command_buffer);
    mtb_error_release(own);
    return status;
}
