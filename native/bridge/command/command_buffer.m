/* Command buffers, from the queue to their completion. */
#import "command/command_buffer.h"

#import "command/encoder.h"
#import "command/order.h"
#import "core/callback_scope.h"
#import "core/checks.h"
#import "core/clock.h"
#import "core/guard.h"
#import "core/text.h"

/* What an encoder that nobody has ended records can no longer be committed. If nobody releases the encoder either, it
 * must not keep the queue's slot and the buffers. */
static void end_open_encoder(mtb_command_buffer *command_buffer) {
    MTBI_ENTER
    if (command_buffer->encoder) mtbi_encoder_abandon(command_buffer->encoder);
    MTBI_LEAVE()
}

/* A committed command buffer holds a reference to itself until it has completed, so this one either has completed or
 * never will. */
static void destroy(mtbi_handle *handle) {
    mtb_command_buffer *command_buffer = (mtb_command_buffer *)handle;
    MTBI_ENTER
    end_open_encoder(command_buffer);
    /* The queue has the slot and the position back before the contexts go: the end of one may wait for either. */
    [command_buffer->metal release];
    mtbi_command_buffer_leave_queue(command_buffer);
    mtbi_command_buffer_forget(command_buffer);
    mtb_command_buffer_release(command_buffer->earlier);
    mtb_command_queue_release(command_buffer->queue);
    pthread_cond_destroy(&command_buffer->completion);
    pthread_mutex_destroy(&command_buffer->mutex);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

mtb_command_buffer *mtbi_command_buffer_make(mtb_command_queue *queue, mtbi_slot_kind slot, mtb_references references,
                                             mtb_error **error, const char *function) {
    mtb_command_buffer *command_buffer =
        mtbi_handle_create(MTB_HANDLE_COMMAND_BUFFER, sizeof *command_buffer, destroy, error, function);
    if (!command_buffer) {
        mtbi_queue_give_slot(queue, slot);
        return NULL;
    }
    MTBI_ENTER
    pthread_mutex_init(&command_buffer->mutex, NULL);
    pthread_cond_init(&command_buffer->completion, NULL);
    command_buffer->queue = mtb_command_queue_retain(queue);
    command_buffer->slot = slot;
    id<MTLCommandBuffer> metal = references == MTB_REFERENCES_RETAINED
                                     ? [queue->metal commandBuffer]
                                     : [queue->metal commandBufferWithUnretainedReferences];
    command_buffer->metal = [metal retain];
    if (!command_buffer->metal) {
        mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "Metal could not make a command buffer");
        mtb_command_buffer_release(command_buffer);
        return NULL;
    }
    if (mtbi_queue_follow_functions(command_buffer, error)) {
        mtb_command_buffer_release(command_buffer);
        return NULL;
    }
    return command_buffer;
    MTBI_LEAVE((mtb_command_buffer_release(command_buffer), mtbi_fail_with_exception(error, function, exception), NULL))
}

mtb_command_buffer *mtb_command_buffer_create(mtb_command_queue *queue, mtb_references references, uint64_t timeout_ns,
                                              mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    if (GIVEN(queue)) return NULL;
    if (references != MTB_REFERENCES_RETAINED && references != MTB_REFERENCES_UNRETAINED) {
        FAIL(error, MTB_INVALID_ARGUMENT, "unknown kind of references %u", (unsigned)references);
        return NULL;
    }
    if (mtbi_queue_take_slots(queue, MTBI_SLOT_CALLER, 1, timeout_ns, error, __func__)) return NULL;
    return mtbi_command_buffer_make(queue, MTBI_SLOT_CALLER, references, error, __func__);
    MTBI_LEAVE((mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_status mtb_command_buffer_set_label(mtb_command_buffer *command_buffer, const char *label, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(command_buffer));
    return mtbi_set_label(command_buffer->metal, label, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

char *mtb_command_buffer_copy_label(const mtb_command_buffer *command_buffer) {
    MTBI_ENTER
    return command_buffer ? mtbi_copy_label(command_buffer->metal) : NULL;
    MTBI_LEAVE(NULL)
}

mtb_status mtb_command_buffer_enqueue(mtb_command_buffer *command_buffer, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(command_buffer));
    if (atomic_load(&command_buffer->is_committed))
        return FAIL(error, MTB_INVALID_STATE, "the command buffer has been committed");
    if (command_buffer->is_enqueued) return FAIL(error, MTB_INVALID_STATE, "the command buffer has been enqueued");
    mtbi_queue_enqueue(command_buffer);
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

static mtb_times times(id<MTLCommandBuffer> metal) {
    MTBI_ENTER
    return (mtb_times){
        .gpu_start = [metal GPUStartTime],
        .gpu_end = [metal GPUEndTime],
        .kernel_start = [metal kernelStartTime],
        .kernel_end = [metal kernelEndTime],
    };
    MTBI_LEAVE((mtb_times){0})
}

/* MTB_OK, or the error that the command buffer, or an earlier part of its transfer, has completed with. */
static mtb_status outcome(const mtb_command_buffer *command_buffer, mtb_error **error, const char *function) {
    if (command_buffer->earlier) REQUIRE(outcome(command_buffer->earlier, error, function));
    if (atomic_load(&command_buffer->is_refused))
        return mtbi_fail(error, function, MTB_EXCEPTION,
                         "Metal raised an exception at the commit, and does not run the command buffer");
    if ([command_buffer->metal status] != MTLCommandBufferStatusError) {
        if (!atomic_load(&command_buffer->steps.is_abandoned)) return MTB_OK;
        return mtbi_fail(
            error, function, MTB_DEADLOCK,
            "the command buffer waited for an event that nobody could signal any more, because the event's last handle "
            "was released; the work ran without the signal");
    }
    return mtbi_fail_with_nserror(error, function, MTB_COMMAND_BUFFER_FAILED, [command_buffer->metal error],
                                  "the command buffer failed, and Metal does not say why");
}

static mtb_command_buffer_status status(const mtb_command_buffer *command_buffer) {
    mtb_command_buffer_status own = (mtb_command_buffer_status)[command_buffer->metal status];
    if (atomic_load(&command_buffer->is_refused)) return MTB_COMMAND_BUFFER_ERROR;
    if (own == MTB_COMMAND_BUFFER_COMPLETED &&
        (atomic_load(&command_buffer->steps.is_abandoned) ||
         (command_buffer->earlier && status(command_buffer->earlier) == MTB_COMMAND_BUFFER_ERROR)))
        return MTB_COMMAND_BUFFER_ERROR;
    if (own < MTB_COMMAND_BUFFER_COMMITTED && atomic_load(&command_buffer->is_committed))
        return MTB_COMMAND_BUFFER_COMMITTED;
    return own;
}

/* How the command buffer ended. If Metal does not say because it raises an exception, the exception is the error. */
static mtb_completion describe(const mtb_command_buffer *command_buffer, mtb_error **problem) {
    static const char *const function = "mtb_command_buffer_commit";
    MTBI_ENTER
    outcome(command_buffer, problem, function);
    return (mtb_completion){
        .status = status(command_buffer),
        .error = *problem,
        .times = times(command_buffer->metal),
    };
    MTBI_LEAVE((mtbi_error_drop(problem), mtbi_fail_with_exception(problem, function, exception),
                (mtb_completion){.status = MTB_COMMAND_BUFFER_ERROR, .error = *problem}))
}

static void run_callbacks(const mtb_command_buffer *command_buffer) {
    mtb_error *problem = NULL;
    mtb_completion completion = describe(command_buffer, &problem);
    atomic_store(&command_buffer->queue->callback_since, mtbi_now());
    for (const mtbi_callback *callback = command_buffer->callbacks; callback; callback = callback->next)
        if (callback->callback) callback->callback(&completion, callback->context);
    atomic_store(&command_buffer->queue->callback_since, 0);
    mtb_error_release(problem);
}

/* Whether Metal may not have signalled what the command buffer signals. */
static bool owes_signals(const mtb_command_buffer *command_buffer) {
    MTBI_ENTER
    return atomic_load(&command_buffer->is_refused) || [command_buffer->metal status] == MTLCommandBufferStatusError;
    MTBI_LEAVE(true)
}

/* Ends what was committed, with its handler's reference: nobody waits or is called from here on. */
static void end(mtb_command_buffer *command_buffer) {
    mtbi_command_buffer_forget(command_buffer);
    mtbi_command_buffer_announce(command_buffer);
    mtb_command_buffer_release(command_buffer);
}

/* The queue has the slot back before the callbacks, so that one of them may make the next command buffer. */
static void complete(mtb_command_buffer *command_buffer) {
    MTBI_ENTER
    mtbi_command_buffer_leave_queue(command_buffer);
    if (owes_signals(command_buffer))
        mtbi_steps_rescue(&command_buffer->steps);
    else
        mtbi_steps_complete(&command_buffer->steps);
    if (command_buffer->callbacks) run_callbacks(command_buffer);
    end(command_buffer);
    MTBI_LEAVE()
}

/* Metal's completion handler. */
static void handle_completion(mtb_command_buffer *command_buffer) {
    mtbi_callback_scope scope;
    mtbi_callback_scope_enter(&scope, command_buffer->queue);
    complete(command_buffer);
    mtbi_callback_scope_leave(&scope);
}

mtb_status mtb_command_buffer_commit(mtb_command_buffer *command_buffer, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(command_buffer));
    return mtbi_command_buffer_commit(command_buffer, NULL, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

/* Metal has raised an exception in the commit. */
static bool refused(mtb_command_buffer *command_buffer) {
    if (mtbi_command_buffer_runs(command_buffer, true)) return false;
    atomic_store(&command_buffer->is_refused, true);
    return true;
}

/* Nothing calls the handler of a refused command buffer, and the call that fails is all that the caller hears of it. */
static void end_if_refused(mtb_command_buffer *command_buffer) {
    if (!refused(command_buffer)) return;
    mtbi_command_buffer_leave_queue(command_buffer);
    end(command_buffer);
}

void mtbi_command_buffer_complete_refused(mtb_command_buffer *command_buffer) {
    if (refused(command_buffer)) handle_completion(command_buffer);
}

static mtb_status commit(mtb_command_buffer *command_buffer, uint64_t *number, mtb_error **error,
                         const char *function) {
    MTBI_ENTER
    REQUIRE(mtbi_command_buffer_check_open(command_buffer, error, function));
    if (command_buffer->is_spoiled)
        return mtbi_fail(error, function, MTB_INVALID_STATE, "Metal raised an exception while work was encoded");
    REQUIRE(mtbi_steps_begin(&command_buffer->steps, error, function));
    /* The handler's reference. */
    mtb_command_buffer_retain(command_buffer);
    atomic_store(&command_buffer->is_committed, true);
    atomic_fetch_add(&command_buffer->queue->running, 1);
    [command_buffer->metal addCompletedHandler:^(id<MTLCommandBuffer> completed) {
        (void)completed;
        handle_completion(command_buffer);
    }];
    mtbi_queue_commit(command_buffer, number);
    return MTB_OK;
    MTBI_LEAVE((end_if_refused(command_buffer), mtbi_fail_with_exception(error, function, exception)))
}

/* A callback may release the caller's reference while the call is under way. */
mtb_status mtbi_command_buffer_commit(mtb_command_buffer *command_buffer, uint64_t *number, mtb_error **error,
                                      const char *function) {
    mtb_command_buffer_retain(command_buffer);
    mtb_status status = commit(command_buffer, number, error, function);
    mtb_command_buffer_release(command_buffer);
    return status;
}

bool mtbi_command_buffer_runs(const mtb_command_buffer *command_buffer, bool if_unknown) {
    MTBI_ENTER
    return [command_buffer->metal status] >= MTLCommandBufferStatusCommitted;
    MTBI_LEAVE(if_unknown)
}

static mtb_status check_wait(mtb_command_buffer *command_buffer, uint64_t timeout_ns, mtb_error **error,
                             const char *function) {
    REQUIRE(mtbi_check_given(command_buffer, "command_buffer", error, function));
    if (!atomic_load(&command_buffer->is_committed))
        return mtbi_fail(error, function, MTB_INVALID_STATE, "the command buffer has not been committed");
    if (timeout_ns == 0 || !mtb_command_queue_is_in_callback(command_buffer->queue) ||
        mtbi_command_buffer_await(command_buffer, 0))
        return MTB_OK;
    return mtbi_check_may_wait(command_buffer->queue, "the command buffer", error, function);
}

mtb_status mtb_command_buffer_wait(mtb_command_buffer *command_buffer, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_wait(command_buffer, MTB_FOREVER, error, __func__));
    mtbi_command_buffer_await(command_buffer, MTBI_LONG_CALLBACK);
    if (atomic_load(&command_buffer->is_with_metal)) [command_buffer->metal waitUntilCompleted];
    mtbi_command_buffer_await(command_buffer, MTB_FOREVER);
    return outcome(command_buffer, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_command_buffer_wait_timeout(mtb_command_buffer *command_buffer, uint64_t timeout_ns, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(check_wait(command_buffer, timeout_ns, error, __func__));
    if (!mtbi_command_buffer_await(command_buffer, timeout_ns))
        return FAIL(error, MTB_TIMEOUT, "the command buffer has not completed in %.3f s", (double)timeout_ns * 1e-9);
    return outcome(command_buffer, error, __func__);
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_command_buffer_status mtb_command_buffer_get_status(const mtb_command_buffer *command_buffer) {
    MTBI_ENTER
    return command_buffer ? status(command_buffer) : MTB_COMMAND_BUFFER_NOT_ENQUEUED;
    MTBI_LEAVE(MTB_COMMAND_BUFFER_NOT_ENQUEUED)
}

mtb_error *mtb_command_buffer_copy_error(const mtb_command_buffer *command_buffer) {
    mtb_error *error = NULL;
    MTBI_ENTER
    if (command_buffer) outcome(command_buffer, &error, __func__);
    return error;
    MTBI_LEAVE((mtbi_fail_with_exception(&error, __func__, exception), error))
}

mtb_times mtb_command_buffer_get_times(const mtb_command_buffer *command_buffer) {
    MTBI_ENTER
    if (!command_buffer || [command_buffer->metal status] < MTLCommandBufferStatusCompleted) return (mtb_times){0};
    return times(command_buffer->metal);
    MTBI_LEAVE((mtb_times){0})
}

mtb_status mtb_command_buffer_encode_signal(mtb_command_buffer *command_buffer, mtb_event *event, uint64_t value,
                                            mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(command_buffer));
    REQUIRE(GIVEN(event));
    REQUIRE(mtbi_command_buffer_check_open(command_buffer, error, __func__));
    REQUIRE(mtbi_steps_add(&command_buffer->steps, MTBI_STEP_SIGNAL, event, value, error, __func__));
    [command_buffer->metal encodeSignalEvent:event->metal value:value];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}

mtb_status mtb_command_buffer_encode_wait(mtb_command_buffer *command_buffer, mtb_event *event, uint64_t value,
                                          mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(command_buffer));
    REQUIRE(GIVEN(event));
    REQUIRE(mtbi_command_buffer_check_open(command_buffer, error, __func__));
    REQUIRE(mtbi_steps_add(&command_buffer->steps, MTBI_STEP_WAIT, event, value, error, __func__));
    [command_buffer->metal encodeWaitForEvent:event->metal value:value];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}
