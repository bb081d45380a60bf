#import "SMTLCommandBufferExecution.h"

#include "SMTLExecutor.h"
#import "framework/device/SMTLLogState.h"
#include "support/statistics.h"
#import "support/SMTLError.h"
#include "support/clock.h"
#include "support/delay.h"

static CFTimeInterval now(void) { return (CFTimeInterval)smtl_now_ns() / SMTL_SECOND_NS; }

static void store_time(CFTimeInterval *slot, CFTimeInterval time) { __atomic_store(slot, &time, __ATOMIC_RELAXED); }

static SMTLCommandBuffer *buffer_of(smtl_work *work) { return ((smtl_command_buffer_work *)work)->buffer; }

static void run_finish(smtl_work *work) { [buffer_of(work) finishAside:false]; }

static void run_scheduled_handlers(smtl_work *work) { [buffer_of(work) callScheduledHandlers]; }

void SMTLExecuteCommandBuffer(smtl_work *work) { [buffer_of(work) execute]; }

static NSString *describe(NSUInteger code, NSString *detail) {
    static NSString *const names[] = {
        [MTLCommandBufferErrorInternal] = @"Internal Error",
        [MTLCommandBufferErrorTimeout] = @"Caused GPU Timeout Error",
        [MTLCommandBufferErrorPageFault] = @"Caused GPU Address Fault Error",
        [MTLCommandBufferErrorAccessRevoked] = @"Access to the Device Was Revoked",
        [MTLCommandBufferErrorNotPermitted] = @"Not Permitted",
        [MTLCommandBufferErrorOutOfMemory] = @"Insufficient Memory",
        [MTLCommandBufferErrorInvalidResource] = @"Invalid Resource",
        [MTLCommandBufferErrorMemoryless] = @"Memoryless Storage Exhausted",
        [MTLCommandBufferErrorDeviceRemoved] = @"Device Removed",
        [MTLCommandBufferErrorStackOverflow] = @"Stack Overflow",
    };
    NSString *name = code < sizeof names / sizeof names[0] ? names[code] : nil;
    return [NSString stringWithFormat:@"%@ (software Metal, code %lu): %@", name == nil ? @"Error" : name,
                                      (unsigned long)code, detail];
}

@implementation SMTLCommandBuffer (Execution)

- (void)callScheduledHandlers {
    SMTLHandlersCall(&_scheduledHandlers, self);
}

/* States which encoders had finished when the execution ended, as far as the caller asked for that. */
- (void)storeErrorOf:(const smtl_execution *)execution detail:(NSString *)detail {
    NSMutableDictionary *info = [NSMutableDictionary dictionaryWithObject:describe(execution->error_code, detail)
                                                                   forKey:NSLocalizedDescriptionKey];
    if (_encoderInfos != nil) {
        NSUInteger index = 0;
        for (SMTLCommandBufferEncoderInfo *encoder in _encoderInfos) {
            index++;
            encoder->_errorState = index < execution->encoder    ? MTLCommandEncoderErrorStateCompleted
                                   : index == execution->encoder ? MTLCommandEncoderErrorStateFaulted
                                                                 : MTLCommandEncoderErrorStatePending;
        }
        [info setObject:_encoderInfos forKey:MTLCommandBufferEncoderInfoErrorKey];
    }
    _error = [[NSError alloc] initWithDomain:MTLCommandBufferErrorDomain code:(NSInteger)execution->error_code
                                    userInfo:info];
}

- (void)executeCommands {
    smtl_execution execution = {.order = _queue->_core->order, .queue = &_queue->_core->shuffled};
    if (_logState != nil) {
        _log = smtl_log_create(_logState->_bufferSize);
        execution.log = _log;
    }
    smtl_delay();
    smtl_shuffled_queue_begin(execution.queue);
    if (execution.order != NULL) smtl_order_begin_command_buffer(execution.order, _known);
    store_time(&_GPUStartTime, now());
    if (_injectedError != 0)
        execution.error_code = _injectedError;
    else
        smtl_execute(&_stream, &execution);
    smtl_shuffled_queue_end(execution.queue);
    store_time(&_GPUEndTime, now());
    if (execution.order != NULL) _end = smtl_order_now(execution.order);
    if (execution.error_code != 0) {
        NSString *fallback = _injectedError != 0 ? @"injected failure" : @"no details";
        [self storeErrorOf:&execution detail:SMTLTakeString(execution.error_message, fallback)];
    }
    smtl_count_command_buffer();
    __atomic_store_n(&_status,
                     execution.error_code != 0 ? MTLCommandBufferStatusError : MTLCommandBufferStatusCompleted,
                     __ATOMIC_RELEASE);
}

- (void)execute {
    smtl_queue_core *core = _queue->_core;
    bool handled = _scheduledHandlers.count + _completedHandlers.count > 0 || _logState != nil;
    smtl_worker *handler_thread = handled ? smtl_queue_core_completion_worker(core) : NULL;
    store_time(&_kernelStartTime, now());
    __atomic_store_n(&_status, MTLCommandBufferStatusScheduled, __ATOMIC_RELEASE);
    smtl_completion_set_scheduled(_completion);
    if (_scheduledHandlers.count > 0) {
        _scheduledWork.work.run = run_scheduled_handlers;
        _scheduledWork.buffer = self;
        if (handler_thread != NULL)
            smtl_worker_post(handler_thread, &_scheduledWork.work);
        else
            [self callScheduledHandlers];
    }
    store_time(&_kernelEndTime, now());
    [self executeCommands];

    /* Handlers do not run on the thread that executes, so that a slow one does not hold up the queue; while the other
     * thread is behind, command buffers without handlers queue up there too, so that they complete in order. */
    bool others_complete = __atomic_fetch_add(&core->completing, 1, __ATOMIC_ACQ_REL) > 0;
    if (handler_thread == NULL && others_complete) handler_thread = smtl_queue_core_completion_worker(core);
    bool aside =
        handler_thread != NULL && !others_complete && _scheduledHandlers.count == 0 && smtl_queue_core_step_aside(core);
    if (handler_thread != NULL && !aside) {
        _work.work.run = run_finish;
        smtl_worker_post(handler_thread, &_work.work);
    } else {
        [self finishAside:aside];
    }
}

- (void)finishAside:(bool)aside {
    smtl_queue_core *core = _queue->_core;
    smtl_completion *completion = _completion;
    smtl_delay();
    smtl_queue_core_retain(core);
    smtl_completion_retain(completion);
    smtl_queue_core_free_slot(core);
    smtl_completion_enter_handlers(completion);
    if (_log != NULL) {
        [_logState deliver:_log];
        smtl_log_free(_log);
        _log = NULL;
    }
    if (_completedHandlers.count > 0) [self observeEnd];
    SMTLHandlersCall(&_completedHandlers, self);
    /* Drained before the waiters wake: what they count then is really gone. */
    @autoreleasepool {
        [self releaseWork];
        [self release];
    }
    if (aside) smtl_queue_core_step_back(core);
    __atomic_fetch_sub(&core->completing, 1, __ATOMIC_ACQ_REL);
    smtl_completion_set_finished(completion);
    smtl_completion_release(completion);
    smtl_queue_core_release(core);
}

@end
