/* An entry begins when its queue lets it. A global queue lets it begin at once, and a serial one when all entries
 * before it have ended. A concurrent queue waits for the barriers before it or, if it is a barrier, for all entries
 * before it. */
#import "SMTLDispatchQueue.h"

#import "SMTLDispatchGroup.h"
#import "SMTLDispatchSpecific.h"
#include "SMTLDispatchTime.h"
#import "support/SMTLError.h"
#include <stdlib.h>
#include <string.h>

struct smtl_queue_entry {
    smtl_pool_item item; /* first, so that a pointer to it is a pointer to the entry */
    smtl_queue_entry *next;
    SMTLDispatchQueue *queue;
    dispatch_function_t function;
    void *context;
    SMTLDispatchGroup *group;
    bool barrier;
    /* If a thread runs the function itself, it waits here until it is next. Guarded by the queue's mutex. */
    bool in_person;
    bool begun;
    pthread_cond_t called;
};

@implementation SMTLDispatchQueue

- (instancetype)initWithKind:(smtl_queue_kind)kind label:(const char *)label qos:(qos_class_t)qos {
    self = [super init];
    _kind = kind;
    _qos = qos;
    _name = strdup(label == NULL ? "" : label);
    _last = &_first;
    pthread_mutex_init(&_mutex, NULL);
    return self;
}

- (void)dealloc {
    smtl_specifics_free(_specifics);
    pthread_mutex_destroy(&_mutex);
    free(_name);
    [super dealloc];
}

/* Takes the entries that may begin now off the list. The mutex is held; the caller calls `begin` without it. */
- (smtl_queue_entry *)entriesToBegin {
    smtl_queue_entry *begun = NULL;
    smtl_queue_entry **end = &begun;
    while (_first != NULL && _suspensions == 0 && !_alone) {
        smtl_queue_entry *entry = _first;
        const bool alone = entry->barrier || _kind == SMTL_QUEUE_SERIAL || _kind == SMTL_QUEUE_MAIN;
        if (alone && _running > 0) break;
        _first = entry->next;
        if (_first == NULL) _last = &_first;
        _running++;
        _alone = alone;
        entry->next = NULL;
        if (entry->in_person) {
            /* The entry must not be touched after this: its thread goes on as soon as it has the mutex. */
            entry->begun = true;
            pthread_cond_signal(&entry->called);
        } else {
            *end = entry;
            end = &entry->next;
        }
    }
    return begun;
}

/* Posts the entries of this list to the threads that run them. */
- (void)begin:(smtl_queue_entry *)entries {
    while (entries != NULL) {
        smtl_queue_entry *entry = entries;
        entries = entry->next;
        if (_kind == SMTL_QUEUE_MAIN)
            smtl_main_post(&entry->item);
        else
            smtl_pool_post(&entry->item);
    }
}

- (void)add:(smtl_queue_entry *)entry {
    entry->next = NULL;
    *_last = entry;
    _last = &entry->next;
}

- (void)endEntry {
    pthread_mutex_lock(&_mutex);
    _running--;
    _alone = false;
    smtl_queue_entry *next = [self entriesToBegin];
    pthread_mutex_unlock(&_mutex);
    [self begin:next];
}

static void run_entry(smtl_pool_item *item) {
    smtl_queue_entry *entry = (smtl_queue_entry *)item;
    SMTLDispatchQueue *queue = entry->queue;
    {
        SMTL_ON_QUEUE(queue);
        entry->function(entry->context);
    }
    if (queue->_kind != SMTL_QUEUE_GLOBAL) [queue endEntry];
    if (entry->group != nil) dispatch_group_leave(entry->group);
    [queue release];
    free(entry);
}

- (void)submit:(dispatch_function_t)function
       context:(void *)context
       barrier:(bool)barrier
         group:(SMTLDispatchGroup *)group {
    smtl_queue_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL) [NSException raise:NSMallocException format:@"dispatch_async: out of memory"];
    entry->item.run = run_entry;
    entry->queue = [self retain];
    entry->function = function;
    entry->context = context;
    entry->group = group;
    entry->barrier = barrier;
    if (group != nil) dispatch_group_enter(group);
    if (_kind == SMTL_QUEUE_GLOBAL) {
        smtl_pool_post(&entry->item);
        return;
    }
    pthread_mutex_lock(&_mutex);
    [self add:entry];
    smtl_queue_entry *next = [self entriesToBegin];
    pthread_mutex_unlock(&_mutex);
    [self begin:next];
}

/* Waits until this thread's entry begins. */
- (void)enter:(bool)barrier {
    smtl_queue_entry entry = {.queue = self, .barrier = barrier, .in_person = true};
    pthread_cond_init(&entry.called, NULL);
    pthread_mutex_lock(&_mutex);
    [self add:&entry];
    smtl_queue_entry *next = [self entriesToBegin];
    const bool waits = !entry.begun;
    pthread_mutex_unlock(&_mutex);
    [self begin:next];
    if (waits) {
        smtl_pool_begin_wait();
        pthread_mutex_lock(&_mutex);
        while (!entry.begun) pthread_cond_wait(&entry.called, &_mutex);
        pthread_mutex_unlock(&_mutex);
        smtl_pool_end_wait();
    }
    pthread_cond_destroy(&entry.called);
}

static void end_entry(SMTLDispatchQueue **queue) {
    [*queue endEntry];
    [*queue release];
}

typedef struct {
    dispatch_function_t function;
    void *context;
    dispatch_semaphore_t done;
} visit;

static void run_visit(void *context) {
    const visit *current = context;
    current->function(current->context);
    dispatch_semaphore_signal(current->done);
}

/* Runs the function on the main thread and waits for it. */
- (void)performOnMainThread:(dispatch_function_t)function context:(void *)context {
    visit current = {function, context, dispatch_semaphore_create(0)};
    [self submit:run_visit context:&current barrier:false group:nil];
    dispatch_semaphore_wait(current.done, DISPATCH_TIME_FOREVER);
    dispatch_release(current.done);
}

- (void)perform:(dispatch_function_t)function context:(void *)context barrier:(bool)barrier where:(const char *)where {
    if (_kind == SMTL_QUEUE_GLOBAL) {
        SMTL_ON_QUEUE(self);
        function(context);
        return;
    }
    /* A thread may enter a concurrent queue twice, unless as a barrier: only another barrier in between would make both
     * wait for ever. */
    const bool refused = _kind == SMTL_QUEUE_MAIN ? smtl_is_main_thread() : smtl_runs_on_queue(self);
    SMTL_REQUIRE(!refused || (_kind == SMTL_QUEUE_CONCURRENT && !barrier), where,
                 @"the caller runs on the queue \"%s\" and would wait for itself", _name);
    if (_kind == SMTL_QUEUE_MAIN) {
        [self performOnMainThread:function context:context];
        return;
    }
    [self enter:barrier];
    SMTLDispatchQueue *entered __attribute__((cleanup(end_entry))) = [self retain];
    SMTL_ON_QUEUE(entered);
    function(context);
}

- (void)suspend {
    SMTL_REQUIRE(_kind != SMTL_QUEUE_GLOBAL, "dispatch_suspend", @"a global queue is not suspended");
    pthread_mutex_lock(&_mutex);
    _suspensions++;
    pthread_mutex_unlock(&_mutex);
}

- (void)resume {
    pthread_mutex_lock(&_mutex);
    const bool suspended = _suspensions > 0;
    if (suspended) _suspensions--;
    smtl_queue_entry *next = [self entriesToBegin];
    pthread_mutex_unlock(&_mutex);
    SMTL_REQUIRE(suspended, "dispatch_resume", @"the queue \"%s\" is not suspended", _name);
    [self begin:next];
}

- (void)setSpecific:(void *)context forKey:(const void *)key destructor:(dispatch_function_t)destructor {
    pthread_mutex_lock(&_mutex);
    smtl_specific *replaced = smtl_specifics_set(&_specifics, key, context, destructor);
    pthread_mutex_unlock(&_mutex);
    smtl_specifics_free(replaced);
}

- (void *)specificForKey:(const void *)key {
    pthread_mutex_lock(&_mutex);
    void *context = smtl_specifics_get(_specifics, key);
    pthread_mutex_unlock(&_mutex);
    return context;
}

@end
