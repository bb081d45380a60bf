#include "SMTLTurns.h"

#include "support/random.h"
#include "support/settings.h"
#include <pthread.h>
#include <stddef.h>
#include <time.h>

/* A caller that has not committed for this long is taken to have no more. */
#define GRACE_NS 1000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static smtl_turn *first;
static smtl_turn *chosen;
static uint64_t waiting_hosts;
static int64_t last_announced;
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

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool is_ready(const smtl_turn *turn) { return turn->pending > 0 && !turn->blocked; }

/* A queue that has something to execute; NULL if there is none. */
static smtl_turn *pick(void) {
    uint64_t ready = 0;
    for (const smtl_turn *turn = first; turn != NULL; turn = turn->next) ready += is_ready(turn);
    if (ready == 0) return NULL;
    uint64_t left = smtl_random_below(&random_state, ready);
    smtl_turn *turn = first;
    while (!is_ready(turn) || left-- > 0) turn = turn->next;
    return turn;
}

/* Waits until the caller's queue is chosen. Whoever waits here makes the choice when it is time for one. */
static void wait_for_turn(const smtl_turn *turn) {
    while (chosen != turn) {
        const int64_t settled = last_announced + GRACE_NS;
        if (chosen != NULL) {
            pthread_cond_wait(&changed, &mutex);
        } else if (waiting_hosts > 0 || now_ns() >= settled) {
            chosen = pick();
            pthread_cond_broadcast(&changed);
        } else {
            const struct timespec until = {settled / 1000000000, settled % 1000000000};
            pthread_cond_timedwait(&changed, &mutex, &until);
        }
    }
}

void smtl_turn_add(smtl_turn *turn) {
    if (lock()) {
        smtl_turn **link = &first;
        while (*link != NULL) link = &(*link)->next;
        *link = turn;
        pthread_mutex_unlock(&mutex);
    }
}

void smtl_turn_remove(smtl_turn *turn) {
    if (lock()) {
        smtl_turn **link = &first;
        while (*link != NULL && *link != turn) link = &(*link)->next;
        if (*link != NULL) *link = turn->next;
        pthread_mutex_unlock(&mutex);
    }
}

void smtl_turn_announce(smtl_turn *turn) {
    if (lock()) {
        turn->pending++;
        last_announced = now_ns();
        unlock_changed();
    }
}

void smtl_turn_begin(smtl_turn *turn) {
    if (lock()) {
        wait_for_turn(turn);
        pthread_mutex_unlock(&mutex);
    }
}

void smtl_turn_end(smtl_turn *turn) {
    if (lock()) {
        turn->pending--;
        chosen = NULL;
        unlock_changed();
    }
}

void smtl_turn_pause(smtl_turn *turn) {
    if (lock()) {
        turn->blocked = true;
        chosen = NULL;
        unlock_changed();
    }
}

void smtl_turn_resume(smtl_turn *turn) {
    if (lock()) {
        turn->blocked = false;
        wait_for_turn(turn);
        pthread_mutex_unlock(&mutex);
    }
}

void smtl_turns_host_waits(void) {
    if (lock()) {
        waiting_hosts++;
        unlock_changed();
    }
}

void smtl_turns_host_goes_on(void) {
    if (lock()) {
        waiting_hosts--;
        pthread_mutex_unlock(&mutex);
    }
}
