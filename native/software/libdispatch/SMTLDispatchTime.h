/* Deadlines as the threads of this folder wait for them: nanoseconds of the monotonic clock. */
#ifndef SMTL_DISPATCH_TIME_INTERNAL_H
#define SMTL_DISPATCH_TIME_INTERNAL_H

#include <dispatch/time.h>
#include <pthread.h>
#include <stdbool.h>

#define SMTL_NO_DEADLINE UINT64_MAX

uint64_t smtl_monotonic_now(void);
/* The moment `when`; SMTL_NO_DEADLINE for DISPATCH_TIME_FOREVER. */
uint64_t smtl_deadline(dispatch_time_t when);

/* A condition whose deadlines do not follow the wall clock when somebody sets it. */
void smtl_condition_init(pthread_cond_t *condition);
/* Waits for a signal, and may return true without one. False when the time is over. */
bool smtl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline);

#endif
