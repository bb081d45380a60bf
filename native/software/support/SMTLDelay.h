/* Delays for tests (SOFTWARE_METAL_DELAY): what Metal promises at some time happens late, so that a program that counts
 * on its usual pace fails. Unlike shuffled queues (SMTLTurns.h), which run one at a time, delayed ones run beside each
 * other. */
#ifndef SMTL_DELAY_H
#define SMTL_DELAY_H

/* Nothing in half of the calls, else up to SOFTWARE_METAL_DELAY microseconds: which, the seed of SOFTWARE_METAL_SHUFFLE
 * says. */
void smtl_delay(void);

#endif
