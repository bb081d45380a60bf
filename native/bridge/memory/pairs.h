/* Statistics of the pairs that the memory's device makes with others. */
#ifndef MTBI_PAIRS_H
#define MTBI_PAIRS_H

#include "core/checks.h"
#include "metal_bridge_memory.h"

typedef struct mtbi_pair {
    struct mtbi_pair *next;
    mtb_pair_statistics statistics;
} mtbi_pair;

/* The pair of the list that `of` names. Makes it, with the numbers of `of`, if it is not there. */
mtb_status mtbi_pairs_get(mtbi_pair **pairs, const mtb_pair_statistics *of, mtbi_pair **found, mtb_error **error,
                          const char *function);
/* Adds the numbers of `pairs`, which is empty then, to `sums`, without those of pairs with no transfers. Needs no
 * memory. */
void mtbi_pairs_move(mtbi_pair **pairs, mtbi_pair **sums);
void mtbi_pairs_free(mtbi_pair *pairs);

#endif
