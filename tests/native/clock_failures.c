/* A wall clock that somebody sets back during a wait: waits end with their timeouts all the same. */
#define _GNU_SOURCE
#include "failure_harness.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SET_BACK = 60 /* seconds */
};

/* Whoever reads the wall clock reads what it was before somebody set it back. */
int clock_gettime(clockid_t clock, struct timespec *time) {
    int failure = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += SET_BACK;
    return failure;
}

static void waits_end_with_their_timeouts(void) {
    mtb_command_buffer *first = make_command_buffer(), *second = make_command_buffer();
    CHECK_OK(mtb_command_buffer_enqueue(first, &error));
    CHECK_OK(mtb_command_buffer_commit(second, &error));
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    CHECK_FAILS(mtb_command_buffer_wait_timeout(second, 20000000, &error), MTB_TIMEOUT, "0.020 s");
    clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK(end.tv_sec - start.tv_sec < SET_BACK / 2);
    CHECK_OK(mtb_command_buffer_commit(first, &error));
    CHECK_OK(mtb_command_buffer_wait(second, &error));
    mtb_command_buffer_release(first);
    mtb_command_buffer_release(second);
}

const test failure_tests[] = {
    {"clock: waits end with their timeouts though it is set back", waits_end_with_their_timeouts},
    {NULL, NULL},
};
