#include "SMTLShuffledQueues.h"

#include "support/clock.h"
#include "support/random.h"
#include "support/settings.h"
#include <pthread.h>
#include <stddef.h>

/* A caller that has not committed for this long is taken to have no more. */
#define GRACE_NS 1000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static smtl_shuffled_queue *first;
static smtl_shuffled_queue *chosen;
static uint64_t waiting_hosts;
static uint64_t last_announced;
static uint64_t random_state;

static void initialise(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
    random_state = smtl_settings_get()->shuffle.value;
}

/* False if nothing is to be done. */
static bool lock(void) {
    if (!smtl_settings_get()->shuffle.on) return false;
    pthread_once(&once, initialise);
    pthread_mutex_lock(&mutex);
    return true;
}

static void unlock_changed(void) {
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static bool is_ready(const smtl_shuffled_queue *queue) { return queue->pending > 0 && !queue->blocked; }

/* A queue that has something to execute; NULL if there is none. */
static smtl_shuffled_queue *pick(void) {
    uint64_t ready = 0;
    for (const smtl_shuffled_queue *queue = first; queue != NULL; queue = queue->next) ready += is_ready(queue);
    if (ready == 0) return NULL;
    uint64_t left = smtl_random_below(&random_state, ready);
    smtl_shuffled_queue *queue = first;
    while (!is_ready(queue) || left-- > 0) queue = queue->next;
    return queue;
}

/* Waits until the caller's queue is chosen. Whoever waits here makes the choice when it is time for one. */
static void wait_until_chosen(const smtl_shuffled_queue *queue) {
    while (chosen != queue) {
        const uint64_t settled = last_announced + GRACE_NS;
        if (chosen != NULL) {
            pthread_cond_wait(&changed, &mutex);
        } else if (waiting_hosts > 0 || smtl_now_ns() >= settled) {
            chosen = pick();
            pthread_cond_broadcast(&changed);
        } else {
            const struct timespec until = smtl_timespec(settled);
            pthread_cond_timedwait(&changed, &mutex, &until);
        }
    }
}

void smtl_shuffled_queue_add(smtl_shuffled_queue *queue) {
    if (lock()) {
        smtl_shuffled_queue **link = &first;
        while (*link != NULL) link = &(*link)->next;
        *link = queue;
        pthread_mutex_unlock(&mutex);
    }
}

void smtl_shuffled_queue_remove(smtl_shuffled_queue *queue) {
    if (lock()) {
        smtl_shuffled_queue **link = &first;
        while (*link != NULL && *link != queue) link = &(*link)->next;
        if (*link != NULL) *link = queue->next;
        pthread_mutex_unlock(&mutex);
    }
}

void smtl_shuffled_queue_announce(smtl_shuffled_queue *queue) {
    if (lock()) {
        queue->pending++;
        last_announced = smtl_now_ns();
        unlock_changed();
    }
}

void smtl_shuffled_queue_begin(smtl_shuffled_queue *queue) {
    if (lock()) {
        wait_until_chosen(queue);
        pthread_mutex_unlock(&mutex);
    }
}

void smtl_shuffled_queue_end(smtl_shuffled_queue *queue) {
    if (lock()) {
        queue->pending--;
        chosen = NULL;
        unlock_changed();
    }
}

void smtl_shuffled_queue_pause(smtl_shuffled_queue *queue) {
    if (lock()) {
        queue->blocked = true;
        chosen = NULL;
        unlock_changed();
    }
}

void smtl_shuffled_queue_resume(smtl_shuffled_queue *queue) {
    if (lock()) {
        queue->blocked = false;
        wait_until_chosen(queue);
        pthread_mutex_unlock(&mutex);
    }
}

void smtl_shuffled_queues_host_waits(void) {
    if (lock()) {
        waiting_hosts++;
        unlock_changed();
    }
}

void smtl_shuffled_queues_host_goes_on(void) {
    if (lock()) {
        waiting_hosts--;
        pthread_mutex_unlock(&mutex);
    }
}
