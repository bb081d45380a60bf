/* A small test harness for programs that use nothing but the C ABI. */
#ifndef HARNESS_H
#define HARNESS_H

#include "metal_bridge.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* If the condition does not hold, the running test has failed, and goes on with the next statement. */
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
/* The call returned this status, and made an error with it whose message contains `text` and that blames the function.
 */
#define CHECK_FAILS(call, expected, text)                              \
    do {                                                               \
        mtb_error *error = NULL;                                       \
        (void)(call);                                                  \
        check_error(error, expected, text, #call, __FILE__, __LINE__); \
    } while (0)
/* The call, which returns a status and takes `error`, succeeds. */
#define CHECK_OK(call)                                            \
    do {                                                          \
        mtb_error *error = NULL;                                  \
        mtb_status status_ = (call);                              \
        check_success(status_, error, #call, __FILE__, __LINE__); \
    } while (0)
/* Makes a handle. If it is NULL, the process ends at once, since the test cannot go on. */
#define MAKE(variable, call)                                      \
    do {                                                          \
        mtb_error *error = NULL;                                  \
        variable = (call);                                        \
        require_made(variable, error, #call, __FILE__, __LINE__); \
    } while (0)

void check(bool holds, const char *what, const char *file, int line);
void check_error(mtb_error *error, mtb_status status, const char *text, const char *call, const char *file, int line);
void check_success(mtb_status status, mtb_error *error, const char *call, const char *file, int line);
void require_made(const void *made, mtb_error *error, const char *call, const char *file, int line);

/* How many checks have failed so far. */
int failed_checks(void);

/* How many handles of all kinds are alive. */
uint64_t live_handles(void);

/* Far longer than anything takes, on the busiest of machines: in nanoseconds. */
#define LONG (120 * UINT64_C(1000000000))
/* Waits for something that one of Metal's threads is about to do: until the condition holds, or for LONG. */
#define AWAIT(condition)                                                  \
    do {                                                                  \
        for (int i_ = 0; i_ < 120000 && !(condition); i_++) usleep(1000); \
    } while (0)

/* Objects that most tests need: made once, before the first test, and released after the last. */
typedef struct {
    mtb_device *device;
    mtb_command_queue *queue;
    mtb_library *library;
} fixture;
extern fixture shared;

mtb_buffer *make_buffer(size_t length);
mtb_command_buffer *make_command_buffer(void);
mtb_pipeline *make_pipeline(const char *name);
/* Commits, waits for success and releases. */
void run(mtb_command_buffer *command_buffer);

typedef struct {
    const char *name;
    void (*run)(void);
} test;

/* The tests of one file, closed by a test without a name. */
extern const test device_tests[], buffer_tests[], blit_tests[], library_tests[], compute_tests[],
    command_buffer_tests[], event_tests[], thread_tests[], report_tests[], memory_transfer_tests[],
    memory_order_tests[], memory_pool_tests[], memory_callback_tests[], memory_pending_tests[], memory_arena_tests[],
    memory_peer_tests[], memory_race_tests[], memory_pieces_tests[], memory_refusal_tests[], memory_odd_number_tests[],
    fork_tests[], mps_tests[], indirect_tests[], indirect_refusal_tests[], indirect_kernel_tests[],
    function_table_tests[], dynamic_library_tests[];

#endif
