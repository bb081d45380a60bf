#import "SMTLCommandQueue.h"

#import "SMTLCommandBuffer.h"
#import "framework/device/SMTLLogState.h"
#import "framework/memory/SMTLResidencySet.h"
#import "support/SMTLError.h"
#include <stdlib.h>

void smtl_queue_core_retain(smtl_queue_core *core) { __atomic_fetch_add(&core->references, 1, __ATOMIC_RELAXED); }

void smtl_queue_core_release(smtl_queue_core *core) {
    if (__atomic_sub_fetch(&core->references, 1, __ATOMIC_ACQ_REL) != 0) return;
    if (core->worker != NULL) smtl_worker_release(core->worker);
    if (core->completion != NULL) smtl_worker_release(core->completion);
    smtl_shuffled_queue_remove(&core->shuffled);
    smtl_chunk_pool_destroy(&core->chunks);
    smtl_order_release(core->order);
    pthread_cond_destroy(&core->slot_freed);
    pthread_mutex_destroy(&core->mutex);
    free(core);
}

static void take_slot(smtl_queue_core *core) {
    pthread_mutex_lock(&core->mutex);
    while (core->free_slots == 0) pthread_cond_wait(&core->slot_freed, &core->mutex);
    core->free_slots--;
    pthread_mutex_unlock(&core->mutex);
}

void smtl_queue_core_free_slot(smtl_queue_core *core) {
    pthread_mutex_lock(&core->mutex);
    core->free_slots++;
    pthread_cond_signal(&core->slot_freed);
    pthread_mutex_unlock(&core->mutex);
}

smtl_worker *smtl_queue_core_completion_worker(smtl_queue_core *core) {
    pthread_mutex_lock(&core->mutex);
    if (core->completion == NULL) core->completion = smtl_worker_create("metal complete");
    smtl_worker *worker = core->completion;
    pthread_mutex_unlock(&core->mutex);
    return worker;
}

static void change_roles(smtl_queue_core *core) {
    smtl_worker *executing = core->completion;
    core->completion = core->worker;
    core->worker = executing;
}

bool smtl_queue_core_step_aside(smtl_queue_core *core) {
    pthread_mutex_lock(&core->mutex);
    bool is_free = !smtl_worker_has_work(core->worker);
    if (is_free) {
        change_roles(core);
        core->stepped_aside_at = core->handed_over;
    }
    pthread_mutex_unlock(&core->mutex);
    return is_free;
}

void smtl_queue_core_step_back(smtl_queue_core *core) {
    pthread_mutex_lock(&core->mutex);
    if (core->handed_over == core->stepped_aside_at) change_roles(core);
    pthread_mutex_unlock(&core->mutex);
}

static smtl_queue_core *make_core(NSUInteger slots) {
    smtl_queue_core *core = calloc(1, sizeof *core);
    if (core == NULL) return NULL;
    core->references = 1;
    core->free_slots = slots;
    pthread_mutex_init(&core->mutex, NULL);
    pthread_cond_init(&core->slot_freed, NULL);
    smtl_chunk_pool_init(&core->chunks);
    smtl_shuffled_queue_add(&core->shuffled);
    core->order = smtl_sanitizer_enabled() ? smtl_order_create() : NULL;
    core->worker = smtl_worker_create("metal queue");
    if (core->worker == NULL) {
        smtl_queue_core_release(core);
        return NULL;
    }
    return core;
}

@implementation SMTLCommandQueue

+ (smtl_object_class)objectClass {
    return SMTL_OBJECT_COMMAND_QUEUE;
}

- (instancetype)initWithDevice:(SMTLDevice *)device
         maxCommandBufferCount:(NSUInteger)count
                      logState:(SMTLLogState *)logState {
    self = [super init];
    _device = device;
    _logState = [(logState == nil ? SMTLEnvironmentLogState() : logState) retain];
    _core = make_core(count);
    if (_core == NULL) {
        [self release];
        return nil;
    }
    return self;
}

- (void)dealloc {
    if (_core != NULL) smtl_queue_core_release(_core);
    [_residencySets release];
    [_logState release];
    [super dealloc];
}

- (id<MTLCommandBuffer>)commandBufferRetaining:(BOOL)retained
                                  errorOptions:(MTLCommandBufferErrorOption)options
                                      logState:(id<MTLLogState>)logState {
    take_slot(_core);
    return
        [[[SMTLCommandBuffer alloc] initWithQueue:self retainedReferences:retained errorOptions:options
                                         logState:logState == nil ? _logState : (SMTLLogState *)logState] autorelease];
}

- (id<MTLCommandBuffer>)commandBuffer {
    return [self commandBufferRetaining:YES errorOptions:MTLCommandBufferErrorOptionNone logState:nil];
}

- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
    return [self commandBufferRetaining:NO errorOptions:MTLCommandBufferErrorOptionNone logState:nil];
}

- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor {
    SMTL_REQUIRE(descriptor != nil, "-[MTLCommandQueue commandBufferWithDescriptor:]", @"descriptor must not be nil");
    return [self commandBufferRetaining:[descriptor retainedReferences] errorOptions:[descriptor errorOptions]
                               logState:[descriptor logState]];
}

- (id<MTLDevice>)device {
    return _device;
}

/* Would mark a point for a capture tool, but there is none. */
- (void)insertDebugCaptureBoundary {
}

- (void)addResidencySet:(id<MTLResidencySet>)residencySet {
    [self addResidencySets:&residencySet count:1];
}

- (void)removeResidencySet:(id<MTLResidencySet>)residencySet {
    [self removeResidencySets:&residencySet count:1];
}

- (void)addResidencySets:(const id<MTLResidencySet>[])residencySets count:(NSUInteger)count {
    @synchronized(self) {
        for (NSUInteger i = 0; i < count; i++)
            SMTLCheckResidencySet("-[MTLCommandQueue addResidencySets:count:]", residencySets[i], _device);
        _residencySets =
            SMTLAddResidencySets("-[MTLCommandQueue addResidencySets:count:]", _residencySets, residencySets, count);
    }
}

- (void)removeResidencySets:(const id<MTLResidencySet>[])residencySets count:(NSUInteger)count {
    @synchronized(self) {
        for (NSUInteger i = 0; i < count; i++)
            SMTLCheckResidencySet("-[MTLCommandQueue removeResidencySets:count:]", residencySets[i], _device);
        for (NSUInteger i = 0; i < count; i++) [_residencySets removeObject:residencySets[i]];
    }
}

@end
