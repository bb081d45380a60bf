/* Injected failures, as the classes ask about them: a test arms them through SoftwareMetal.h or the environment. */
#ifndef SMTL_INJECTION_H
#define SMTL_INJECTION_H

#include <stdbool.h>
#include <stdint.h>

/* Each is called once for each event; true if the event must fail. */
bool smtl_allocation_must_fail(void);
bool smtl_compile_must_fail(void);
/* The MTLCommandBufferError that a command buffer being committed must end with, 0 for none. */
uint64_t smtl_command_buffer_must_fail(void);

#endif
