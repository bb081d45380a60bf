/* A thread that runs pieces of work one after the other, each inside an autorelease pool. */
#ifndef SMTL_WORKER_H
#define SMTL_WORKER_H

#include <stdbool.h>

typedef struct smtl_worker smtl_worker;

/* One piece of work, embedded in what it works on: posting allocates nothing. */
typedef struct smtl_work {
    struct smtl_work *next;
    void (*run)(struct smtl_work *work);
} smtl_work;

/* NULL if the system gives no thread. */
smtl_worker *smtl_worker_create(const char *name);
void smtl_worker_post(smtl_worker *worker, smtl_work *work);
/* Whether anything is posted that has not begun. */
bool smtl_worker_has_work(smtl_worker *worker);
/* The worker's thread ends when it has run what was posted. Callable from that thread too. */
void smtl_worker_release(smtl_worker *worker);

#endif
