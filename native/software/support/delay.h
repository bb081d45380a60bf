/* Delays for tests (SOFTWARE_METAL_DELAY): what Metal promises at some time happens late, so that a program that relies
 * on the usual pace fails. Shuffled queues (framework/sync/SMTLShuffledQueues.h) run one at a time; delayed queues run
 * beside each other. */
#ifndef SMTL_DELAY_H
#define SMTL_DELAY_H

/* Half of the calls do nothing; the others wait up to SOFTWARE_METAL_DELAY microseconds. The seed of
 * SOFTWARE_METAL_SHUFFLE decides which, and how long. */
void smtl_delay(void);

#endif
