/* Injected faults as the classes ask about them; armed through SoftwareMetal.h or the environment. */
#ifndef SMTL_FAULT_H
#define SMTL_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Called once for each event; true where the event must fail. */
bool smtl_fault_strikes_allocation(void);
bool smtl_fault_strikes_compile(void);
/* The MTLCommandBufferError that a command buffer being committed must end with, 0 for none. */
uint64_t smtl_fault_strikes_command_buffer(void);

#endif
