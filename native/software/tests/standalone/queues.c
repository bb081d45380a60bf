/* <dispatch/dispatch.h> from C, which is C++ too: a sum is taken in parallel. */
#include <dispatch/dispatch.h>
#include <stdio.h>

enum {
    SHARES = 16,
    SHARE = 1000
};

typedef struct {
    dispatch_queue_t results;
    long total; /* of the queue alone */
} sums;

static void add(void *context) { ((sums *)context)->total += SHARE; }

static void add_share(void *context, size_t share) {
    (void)share;
    dispatch_sync_f(((sums *)context)->results, context, add);
}

static void work(void *context) {
    dispatch_apply_f(SHARES, dispatch_get_global_queue(QOS_CLASS_USER_INITIATED, 0), context, add_share);
}

int main(void) {
    sums counted = {dispatch_queue_create("results", DISPATCH_QUEUE_SERIAL), 0};
    dispatch_group_t group = dispatch_group_create();
    dispatch_group_async_f(group, dispatch_get_global_queue(QOS_CLASS_DEFAULT, 0), &counted, work);
    intptr_t late = dispatch_group_wait(group, dispatch_time(DISPATCH_TIME_NOW, 60 * (int64_t)NSEC_PER_SEC));
    dispatch_release(group);
    dispatch_release(counted.results);
    printf("%ld\n", counted.total);
    return late == 0 && counted.total == (long)SHARES * SHARE ? 0 : 1;
}
