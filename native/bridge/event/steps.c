/* Signals that come although their command buffer has failed, in an order that nobody can tell from the right one. */
#include "event/steps.h"

#include "core/errors.h"

#include <stdlib.h>

mtb_status mtbi_steps_add(mtbi_steps *steps, mtbi_step_kind kind, mtb_event *event, uint64_t value, mtb_error **error,
                          const char *function) {
    mtbi_step *added = malloc(sizeof *added);
    if (!added) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory for a signal or a wait");
    *added = (mtbi_step){.kind = kind, .event = event, .value = value};
    if (kind == MTBI_STEP_SIGNAL)
        mtb_event_retain(event);
    else
        mtbi_event_retain_weakly(event);
    if (steps->last)
        steps->last->next = added;
    else
        steps->first = added;
    steps->last = added;
    return MTB_OK;
}

/* The event's list that the step is in while it is to come. */
static mtbi_step **list(mtbi_step *step) {
    return step->kind == MTBI_STEP_SIGNAL ? &step->event->pending : &step->event->waiting;
}

/* False if the step is a wait that could never end. */
static bool begin(mtbi_steps *steps, mtbi_step *step) {
    mtb_event *event = step->event;
    pthread_mutex_lock(&event->mutex);
    bool can_end = !event->is_abandoned || step->value <= event->reached;
    if (can_end && !step->owner) {
        step->owner = steps;
        step->next_pending = *list(step);
        *list(step) = step;
    }
    pthread_mutex_unlock(&event->mutex);
    return can_end;
}

/* The step is not to come any more. */
static void end(mtbi_step *step) {
    pthread_mutex_lock(&step->event->mutex);
    if (step->owner) {
        mtbi_step **link = list(step);
        while (*link != step) link = &(*link)->next_pending;
        *link = step->next_pending;
        step->owner = NULL;
    }
    pthread_mutex_unlock(&step->event->mutex);
}

mtb_status mtbi_steps_begin(mtbi_steps *steps, mtb_error **error, const char *function) {
    for (mtbi_step *step = steps->first; step; step = step->next) {
        if (step->kind != MTBI_STEP_WAIT || begin(steps, step)) continue;
        uint64_t value = step->value, reached = step->event->reached;
        for (step = steps->first; step; step = step->next) end(step);
        return mtbi_fail(
            error, function, MTB_DEADLOCK,
            "the command buffer waits for event value %llu, but the event has %llu and its last handle was released, "
            "so nothing can signal it",
            (unsigned long long)value, (unsigned long long)reached);
    }
    for (mtbi_step *step = steps->first; step; step = step->next)
        if (step->kind == MTBI_STEP_SIGNAL) begin(steps, step);
    return MTB_OK;
}

uint64_t mtbi_steps_abandon(mtb_event *event, uint64_t signaled) {
    uint64_t largest = 0;
    pthread_mutex_lock(&event->mutex);
    event->is_abandoned = true;
    if (event->reached < signaled) event->reached = signaled;
    for (mtbi_step *step = event->waiting; step; step = step->next_pending) {
        if (step->value <= event->reached) continue;
        atomic_store(&step->owner->is_abandoned, true);
        if (largest < step->value) largest = step->value;
    }
    pthread_mutex_unlock(&event->mutex);
    return largest;
}

static void set_owner(mtbi_step *step, mtbi_steps *owner) {
    pthread_mutex_lock(&step->event->mutex);
    if (step->owner) step->owner = owner;
    pthread_mutex_unlock(&step->event->mutex);
}

static void drop_first(mtbi_steps *steps) {
    mtbi_step *first = steps->first;
    steps->first = first->next;
    if (!steps->first) steps->last = NULL;
    end(first);
    if (first->kind == MTBI_STEP_SIGNAL)
        mtb_event_release(first->event);
    else
        mtbi_event_release_weakly(first->event);
    free(first);
}

void mtbi_steps_drop(mtbi_steps *steps) {
    while (steps->first) drop_first(steps);
}

void mtbi_steps_complete(mtbi_steps *steps) {
    for (const mtbi_step *step = steps->first; step; step = step->next)
        if (step->kind == MTBI_STEP_SIGNAL) mtbi_event_raise(step->event, step->value);
    mtbi_steps_drop(steps);
}

/* The largest value below that of `step` which another command buffer is still to signal; zero for none. */
static uint64_t pending_before(const mtbi_step *step) {
    uint64_t largest = 0;
    pthread_mutex_lock(&step->event->mutex);
    for (const mtbi_step *other = step->event->pending; other; other = other->next_pending)
        if (other->owner != step->owner && other->value < step->value && other->value > largest) largest = other->value;
    pthread_mutex_unlock(&step->event->mutex);
    return largest;
}

/* The smallest value above `value` which a command buffer is still to signal; zero for none. */
static uint64_t pending_after(mtb_event *event, uint64_t value) {
    uint64_t smallest = UINT64_MAX;
    pthread_mutex_lock(&event->mutex);
    for (const mtbi_step *other = event->pending; other; other = other->next_pending)
        if (other->value > value && other->value < smallest) smallest = other->value;
    pthread_mutex_unlock(&event->mutex);
    return smallest < UINT64_MAX ? smallest : 0;
}

static void restore(uint64_t value, void *event) { mtbi_event_raise(event, value); }

static void release(void *event) { mtb_event_release(event); }

/* Signals from the CPU. The GPU may be about to signal a larger value at this very moment, which the CPU's then lowers:
 * as soon as Metal tells of such a value, the event has it again. */
static void raise_beside_gpu(mtb_event *event, uint64_t value) {
    for (uint64_t larger = pending_after(event, value); larger; larger = pending_after(event, larger))
        if (mtb_event_notify(event, larger, restore, mtb_event_retain(event), release, NULL)) mtb_event_release(event);
    mtbi_event_raise(event, value);
}

static void ignore(uint64_t value, void *context) {
    (void)value;
    (void)context;
}

static void go_on(void *context);

/* The rescue is to go on when the event has reached the value, or when nobody is left who could signal it. False if the
 * event has reached it, or nobody can wait for it. Takes no reference: the wait must not keep the event alive. */
static bool suspend(mtbi_steps *rescue, mtb_event *event, uint64_t value) {
    return mtbi_event_raise(event, 0) < value && mtb_event_notify(event, value, ignore, rescue, go_on, NULL) == MTB_OK;
}

/* Does one step. False if the rescue goes on later, on another thread. */
static bool take_step(mtbi_steps *rescue) {
    mtbi_step *step = rescue->first;
    mtb_event *event = step->event;
    if (step->kind == MTBI_STEP_WAIT) {
        uint64_t value = step->value;
        bool is_shared = mtbi_handle_share(&event->handle);
        drop_first(rescue);
        if (!is_shared) return true;
        bool is_suspended = suspend(rescue, event, value);
        mtb_event_release(event);
        return !is_suspended;
    }
    if (suspend(rescue, event, pending_before(step))) return false;
    raise_beside_gpu(event, step->value);
    drop_first(rescue);
    return true;
}

static void go_on(void *context) {
    mtbi_steps *rescue = context;
    while (rescue->first)
        if (!take_step(rescue)) return;
    free(rescue);
}

void mtbi_steps_rescue(mtbi_steps *steps) {
    if (!steps->first) return;
    mtbi_steps *rescue = malloc(sizeof *rescue);
    if (!rescue) {
        /* Better a signal out of order than none. */
        for (const mtbi_step *step = steps->first; step; step = step->next)
            if (step->kind == MTBI_STEP_SIGNAL) mtbi_event_raise(step->event, step->value);
        mtbi_steps_drop(steps);
        return;
    }
    *rescue = (mtbi_steps){.first = steps->first, .last = steps->last};
    steps->first = steps->last = NULL;
    for (mtbi_step *step = rescue->first; step; step = step->next) set_owner(step, rescue);
    go_on(rescue);
}
