/* A thread of the bridge's for what must be done later. It runs while there is something to be done. */
#ifndef MTBI_KEEPER_H
#define MTBI_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

/* Part of whoever has something to be done. All zero but for the function at the start. */
typedef struct mtbi_chore {
    /* Returns when it is to be called next, on the monotonic clock; UINT64_MAX for never. */
    uint64_t (*run)(struct mtbi_chore *chore);
    struct mtbi_chore *next;
    uint64_t due;
    bool is_listed;
} mtbi_chore;

/* Has the chore run at `due`, or before if that was said before. False where no thread could be had. */
bool mtbi_keeper_expect(mtbi_chore *chore, uint64_t due);
/* Forgets the chore. It does not run any more once this has returned. Not from the chore itself. */
void mtbi_keeper_forget(mtbi_chore *chore);

#endif
