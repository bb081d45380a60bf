/* Tasks for later, on one thread of the bridge's, which runs while there are any. */
#ifndef MTBI_TIMER_H
#define MTBI_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Part of whoever has something to be done. All zero but for the function at the start. */
typedef struct mtbi_task {
    /* Returns when it is to be called next, on the monotonic clock; UINT64_MAX for never. */
    uint64_t (*run)(struct mtbi_task *task);
    struct mtbi_task *next;
    uint64_t due;
    bool is_listed;
} mtbi_task;

/* Runs the task at `due`, or earlier if it was scheduled for an earlier time. False if no thread could be made. */
bool mtbi_timer_schedule(mtbi_task *task, uint64_t due);
/* Forgets the task. It does not run any more once this has returned. Not from the task itself. */
void mtbi_timer_cancel(mtbi_task *task);

#endif
