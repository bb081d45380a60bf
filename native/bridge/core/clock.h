/* Timeouts on condition variables. */
#ifndef MTBI_CLOCK_H
#define MTBI_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of the monotonic clock. */
uint64_t mtbi_now(void);
/* The monotonic time at which a timeout that begins now ends; UINT64_MAX is never. */
uint64_t mtbi_deadline(uint64_t timeout_ns);
/* What is left until `deadline`: zero once it has passed. */
uint64_t mtbi_time_left(uint64_t deadline);
/* Waits for the condition, or for a while. False once `deadline` has passed; true says only that the caller must look
 * again, as with any condition variable. */
bool mtbi_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline);
/* The same if there is a deadline that has not passed: in platform/. */
void mtbi_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t deadline);

#endif
