/* The timer: one thread for all tasks, which ends when there are none. */
#include "memory/timer.h"

#include "core/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static mtbi_task *tasks;
/* The task that runs just now. */
static mtbi_task *running;
static bool has_thread;

/* Signals of what the thread does itself. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

static void unlist(mtbi_task *task) {
    mtbi_task **link = &tasks;
    while (*link != task) link = &(*link)->next;
    *link = task->next;
    task->is_listed = false;
}

static void list(mtbi_task *task, uint64_t due) {
    if (task->is_listed) {
        if (due < task->due) task->due = due;
        return;
    }
    task->due = due;
    task->next = tasks;
    tasks = task;
    task->is_listed = true;
}

static mtbi_task *earliest(void) {
    mtbi_task *first = tasks;
    for (mtbi_task *task = tasks; task; task = task->next)
        if (task->due < first->due) first = task;
    return first;
}

/* Runs the task without the mutex, and lists it again if it asks for that. */
static void run(mtbi_task *task) {
    unlist(task);
    running = task;
    pthread_mutex_unlock(&mutex);
    uint64_t next = task->run(task);
    pthread_mutex_lock(&mutex);
    running = NULL;
    if (next != UINT64_MAX) list(task, next);
    pthread_cond_broadcast(&changed);
}

static void *run_tasks(void *nothing) {
    (void)nothing;
    pthread_mutex_lock(&mutex);
    while (tasks) {
        mtbi_task *first = earliest();
        if (!mtbi_condition_wait(&changed, &mutex, first->due)) run(first);
    }
    has_thread = false;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* Under the mutex. Signals that are sent to the process are for the program's threads: one that waits for a signal
 * blocks it in all threads that it knows of. */
static bool start(void) {
    if (has_thread) return true;
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    has_thread = pthread_create(&thread, NULL, run_tasks, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (has_thread) pthread_detach(thread);
    return has_thread;
}

bool mtbi_timer_schedule(mtbi_task *task, uint64_t due) {
    pthread_mutex_lock(&mutex);
    list(task, due);
    bool has_started = start();
    if (!has_started) unlist(task);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return has_started;
}

void mtbi_timer_cancel(mtbi_task *task) {
    pthread_mutex_lock(&mutex);
    for (;;) {
        if (task->is_listed) unlist(task);
        if (running != task) break;
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}
