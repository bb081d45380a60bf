/* Children of fork(). They have their parent's objects and none of its threads: neither those that run command buffers
 * nor those that held a lock at the moment of the fork. So a call in a child is refused before it takes a lock or
 * waits. A process that forks before it uses Metal may use it in both. */
#include "core/process.h"

#include <pthread.h>

atomic_bool mtbi_is_forked;

static void note_fork(void) { atomic_store_explicit(&mtbi_is_forked, true, memory_order_relaxed); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, note_fork); }

bool mtb_process_is_forked(void) { return atomic_load_explicit(&mtbi_is_forked, memory_order_relaxed); }

mtb_status mtbi_check_process(mtb_error **error, const char *function) {
    if (!mtb_process_is_forked()) return MTB_OK;
    return mtbi_fail(
        error, function, MTB_INVALID_STATE,
        "this process is a child of fork(), and Metal's threads are in its parent, which has used Metal: call exec, "
        "or use Metal only after the fork");
}

mtb_status mtbi_process_begin(mtb_error **error, const char *function) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return mtbi_check_process(error, function);
}
