/* A block on a thread of its own. */
#ifndef SMTL_TASK_H
#define SMTL_TASK_H

/* Runs `block` once, in a pool, on a new thread; on the calling thread if the system gives none. */
void SMTLRunDetached(const char *name, void (^block)(void));

#endif
