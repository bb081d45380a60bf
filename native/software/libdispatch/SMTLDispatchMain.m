/* The main thread runs other things too. Its run loop or dispatch_main runs what is posted here. */
#import "SMTLDispatchQueue.h"

#include "SMTLDispatchTime.h"
#import "support/SMTLError.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t posted = PTHREAD_COND_INITIALIZER;
static smtl_pool_item *first;
static smtl_pool_item **last = &first;
/* The run loop has been told of items, and has not yet found that there are no more. */
static bool run_loop_told;

static smtl_pool_item *take(bool waits) {
    pthread_mutex_lock(&mutex);
    while (waits && first == NULL) pthread_cond_wait(&posted, &mutex);
    smtl_pool_item *item = first;
    if (item != NULL) {
        first = item->next;
        if (first == NULL) last = &first;
    } else {
        run_loop_told = false;
    }
    pthread_mutex_unlock(&mutex);
    return item;
}

@interface SMTLDispatchQueue (Main)
+ (void)drainMain;
@end

@implementation SMTLDispatchQueue (Main)

+ (void)drainMain {
    smtl_pool_item *item;
    while ((item = take(false)) != NULL) {
        @autoreleasepool {
            item->run(item);
        }
    }
}

@end

void smtl_main_post(smtl_pool_item *item) {
    item->next = NULL;
    pthread_mutex_lock(&mutex);
    *last = item;
    last = &item->next;
    const bool tells = !run_loop_told;
    run_loop_told = true;
    pthread_cond_signal(&posted);
    pthread_mutex_unlock(&mutex);
    if (tells) {
        @autoreleasepool {
            [SMTLDispatchQueue performSelectorOnMainThread:@selector(drainMain) withObject:nil waitUntilDone:NO];
        }
    }
}

void dispatch_main(void) {
    SMTL_REQUIRE(smtl_is_main_thread(), "dispatch_main", @"this is not the main thread");
    for (;;) {
        smtl_pool_item *item = take(true);
        @autoreleasepool {
            item->run(item);
        }
    }
}
