/* Tasks for later, on one thread of the bridge's, which runs while there are any. */
#ifndef MTBI_TIMER_H
#define MTBI_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* A member of what the task is about. All zero at the start, except for the function. */
typedef struct mtbi_task {
    /* Returns the time, on the monotonic clock, of the next call; UINT64_MAX for never. */
    uint64_t (*run)(struct mtbi_task *task);
    struct mtbi_task *next;
    uint64_t due;
    bool is_listed;
} mtbi_task;

/* Runs the task at `due`, or earlier if it was scheduled for an earlier time. False if no thread could be made. */
bool mtbi_timer_schedule(mtbi_task *task, uint64_t due);
/* Forgets the task, which does not run any more once this has returned. The task itself must not call this. */
void mtbi_timer_cancel(mtbi_task *task);

#endif
