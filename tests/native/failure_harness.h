/* What programs share that make allocations and command buffers fail, which the software Metal does on demand. */
#ifndef FAILURE_HARNESS_H
#define FAILURE_HARNESS_H

#include "harness.h"

#include <SoftwareMetal/SoftwareMetal.h>

/* The tests of the program, closed by one without a name. Each leaves no handle and no object of Metal's behind. */
extern const test failure_tests[];

/* Releases the error, which has this status and this code of Metal's. */
void check_status(mtb_error *error, mtb_status status, int64_t code, const char *file, int line);
#define CHECK_STATUS(error, status, code) check_status(error, status, code, __FILE__, __LINE__)

/* How often a command buffer has called back, and with what. */
typedef struct {
    int calls;
    mtb_command_buffer_status status;
    int64_t code;
} completion_record;
/* A completion callback, whose context is such a record. */
void note_completion(const mtb_completion *completion, void *context);

#endif
