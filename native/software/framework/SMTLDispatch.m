/* The part of Grand Central Dispatch that <dispatch/dispatch.h> declares. */
#import <dispatch/dispatch.h>

#import "SMTLObject.h"
#include "SMTLBlocks.h"
#include "SMTLWorker.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

@interface SMTLDispatchQueue : SMTLObject <OS_dispatch_queue> {
@public
    smtl_worker *_worker;
}
@end

@implementation SMTLDispatchQueue

+ (smtl_object_class)objectClass
{
    return SMTL_OBJECT_DISPATCH;
}

- (void)dealloc
{
    if (_worker != NULL) {
        smtl_worker_release(_worker);
    }
    [super dealloc];
}

@end

@interface SMTLDispatchData : SMTLObject <OS_dispatch_data> {
@public
    const void *_bytes;
    size_t _size;
    dispatch_block_t _destructor;
}
@end

@implementation SMTLDispatchData

+ (smtl_object_class)objectClass
{
    return SMTL_OBJECT_DISPATCH;
}

- (void)dealloc
{
    if (_destructor != NULL) {
        _destructor();
        Block_release(_destructor);
    } else {
        free((void *)_bytes);
    }
    [super dealloc];
}

@end

typedef struct {
    smtl_work work; /* first, so that a pointer to it is a pointer to the task */
    SMTLDispatchQueue *queue;
    void *context;
    dispatch_function_t function;
} task;

static void run_task(smtl_work *work)
{
    task *current = (task *)work;
    @try {
        current->function(current->context);
    } @finally {
        [current->queue release];
        free(current);
    }
}

static void call_and_release_block(void *context)
{
    dispatch_block_t block = context;
    @try {
        block();
    } @finally {
        Block_release(block);
    }
}

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attr)
{
    (void)attr;
    SMTLDispatchQueue *queue = [[SMTLDispatchQueue alloc] init];
    queue->_worker = smtl_worker_create(label == NULL ? "dispatch" : label);
    return queue;
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work)
{
    SMTLDispatchQueue *target = (SMTLDispatchQueue *)queue;
    task *next = target->_worker == NULL ? NULL : malloc(sizeof *next);
    if (next == NULL) {
        /* Without a thread late is worse than at once. */
        work(context);
        return;
    }
    next->work.run = run_task;
    next->queue = [target retain];
    next->context = context;
    next->function = work;
    smtl_worker_post(target->_worker, &next->work);
}

void dispatch_async(dispatch_queue_t queue, dispatch_block_t block)
{
    dispatch_async_f(queue, SMTLCopyBlock(block), call_and_release_block);
}

void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block)
{
    NSConditionLock *done = [[NSConditionLock alloc] initWithCondition:0];
    dispatch_async(queue, ^{
      @try {
          block();
      } @finally {
          [done lock];
          [done unlockWithCondition:1];
      }
    });
    [done lockWhenCondition:1];
    [done unlock];
    [done release];
}

dispatch_data_t dispatch_data_create(const void *buffer, size_t size, dispatch_queue_t queue,
                                     dispatch_block_t destructor)
{
    (void)queue;
    SMTLDispatchData *data = [[SMTLDispatchData alloc] init];
    data->_size = size;
    if (destructor != NULL) {
        data->_bytes = buffer;
        data->_destructor = SMTLCopyBlock(destructor);
    } else if (size > 0) {
        void *copy = malloc(size);
        if (copy == NULL) {
            [data release];
            return nil;
        }
        data->_bytes = memcpy(copy, buffer, size);
    }
    return data;
}

size_t dispatch_data_get_size(dispatch_data_t data)
{
    return ((SMTLDispatchData *)data)->_size;
}

dispatch_data_t dispatch_data_create_map(dispatch_data_t data, const void **buffer, size_t *size)
{
    SMTLDispatchData *source = (SMTLDispatchData *)data;
    if (buffer != NULL) {
        *buffer = source->_bytes;
    }
    if (size != NULL) {
        *size = source->_size;
    }
    return [source retain];
}

void dispatch_retain(dispatch_object_t object)
{
    [object retain];
}

void dispatch_release(dispatch_object_t object)
{
    [object release];
}
