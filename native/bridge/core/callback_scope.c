/* The queues whose callbacks this thread is in. */
#include "core/callback_scope.h"

#include "core/errors.h"

static _Thread_local const mtbi_callback_scope *innermost;

_Thread_local unsigned mtbi_calls_under_way;

void mtbi_callback_scope_enter(mtbi_callback_scope *scope, const mtb_command_queue *queue) {
    scope->queue = queue;
    scope->outer = innermost;
    innermost = scope;
}

void mtbi_callback_scope_leave(const mtbi_callback_scope *scope) { innermost = scope->outer; }

bool mtbi_is_in_callback(void) { return innermost != NULL; }

bool mtb_command_queue_is_in_callback(const mtb_command_queue *queue) {
    for (const mtbi_callback_scope *scope = innermost; scope; scope = scope->outer)
        if (scope->queue == queue || !scope->queue) return queue != NULL;
    return false;
}

mtb_status mtbi_check_may_wait(const mtb_command_queue *queue, const char *what, mtb_error **error,
                               const char *function) {
    if (!mtb_command_queue_is_in_callback(queue)) return MTB_OK;
    return mtbi_fail(error, function, MTB_DEADLOCK,
                     "a wait for %s could never end: this thread must first return from its callback, host function or "
                     "deallocator",
                     what);
}
