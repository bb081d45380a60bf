/* The keeper: one thread for all chores, which ends when there are none. */
#include "memory/keeper.h"

#include "core/clock.h"

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static mtbi_chore *chores;
/* The one that runs just now. */
static mtbi_chore *running;
static bool has_thread;

static void unlist(mtbi_chore *chore) {
    mtbi_chore **link = &chores;
    while (*link != chore) link = &(*link)->next;
    *link = chore->next;
    chore->is_listed = false;
}

static mtbi_chore *earliest(void) {
    mtbi_chore *first = chores;
    for (mtbi_chore *chore = chores; chore; chore = chore->next)
        if (chore->due < first->due) first = chore;
    return first;
}

/* Runs the chore without the mutex, and lists it again where it wants that. */
static void run(mtbi_chore *chore) {
    unlist(chore);
    running = chore;
    pthread_mutex_unlock(&mutex);
    uint64_t next = chore->run(chore);
    pthread_mutex_lock(&mutex);
    running = NULL;
    if (chore->is_listed) {
        chore->due = next < chore->due ? next : chore->due;
    } else if (next != UINT64_MAX) {
        chore->due = next;
        chore->next = chores;
        chores = chore;
        chore->is_listed = true;
    }
    pthread_cond_broadcast(&changed);
}

static void *keep(void *nothing) {
    (void)nothing;
    pthread_mutex_lock(&mutex);
    while (chores) {
        mtbi_chore *first = earliest();
        if (!mtbi_condition_wait(&changed, &mutex, first->due)) run(first);
    }
    has_thread = false;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* Under the mutex. */
static bool start(void) {
    pthread_t thread;
    if (!has_thread && pthread_create(&thread, NULL, keep, NULL) == 0) {
        pthread_detach(thread);
        has_thread = true;
    }
    return has_thread;
}

bool mtbi_keeper_expect(mtbi_chore *chore, uint64_t due) {
    pthread_mutex_lock(&mutex);
    if (!chore->is_listed) {
        chore->due = due;
        chore->next = chores;
        chores = chore;
        chore->is_listed = true;
    } else if (due < chore->due) {
        chore->due = due;
    }
    bool is_kept = start();
    if (!is_kept) unlist(chore);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return is_kept;
}

void mtbi_keeper_forget(mtbi_chore *chore) {
    pthread_mutex_lock(&mutex);
    for (;;) {
        if (chore->is_listed) unlist(chore);
        if (running != chore) break;
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}
