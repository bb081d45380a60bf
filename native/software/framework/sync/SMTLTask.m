#include "SMTLTask.h"

#include "SMTLWorker.h"
#include "objc_runtime/SMTLBlocks.h"
#include <Block.h>
#include <stdlib.h>

typedef struct {
    smtl_work work; /* first: a pointer to it is a pointer to the task */
    void (^block)(void);
} task;

static void run_task(smtl_work *work) {
    task *current = (task *)work;
    @try {
        current->block();
    } @finally {
        Block_release(current->block);
        free(current);
    }
}

void SMTLRunDetached(const char *name, void (^block)(void)) {
    task *next = malloc(sizeof *next);
    smtl_worker *worker = next == NULL ? NULL : smtl_worker_create(name);
    if (worker == NULL) {
        free(next);
        block();
        return;
    }
    next->work.run = run_task;
    next->block = SMTLCopyBlock(block);
    smtl_worker_post(worker, &next->work);
    smtl_worker_release(worker);
}
