/* Lists of pairs are short: a machine has few devices, and each is in at most four pairs with the memory's. */
#include "memory/pairs.h"

#include "memory/memory.h"

#include <stdlib.h>

static bool is_same(const mtb_pair_statistics *a, const mtb_pair_statistics *b) {
    return a->other_registry_id == b->other_registry_id && a->is_from_other == b->is_from_other && a->kind == b->kind;
}

static mtbi_pair *find(mtbi_pair *pairs, const mtb_pair_statistics *of) {
    mtbi_pair *pair = pairs;
    while (pair && !is_same(&pair->statistics, of)) pair = pair->next;
    return pair;
}

static void prepend(mtbi_pair **pairs, mtbi_pair *pair) {
    pair->next = *pairs;
    *pairs = pair;
}

mtb_status mtbi_pairs_get(mtbi_pair **pairs, const mtb_pair_statistics *of, mtbi_pair **found, mtb_error **error,
                          const char *function) {
    *found = find(*pairs, of);
    if (*found) return MTB_OK;
    mtbi_pair *made = calloc(1, sizeof *made);
    if (!made) return mtbi_fail(error, function, MTB_OUT_OF_MEMORY, "no memory to count a copy between devices");
    made->statistics = *of;
    prepend(pairs, made);
    *found = made;
    return MTB_OK;
}

void mtbi_pairs_move(mtbi_pair **pairs, mtbi_pair **sums) {
    while (*pairs) {
        mtbi_pair *pair = *pairs, *sum = find(*sums, &pair->statistics);
        *pairs = pair->next;
        mtb_transfer_statistics *from = &pair->statistics.transfers;
        if (!sum && from->count > 0) {
            prepend(sums, pair);
            continue;
        }
        if (sum) {
            sum->statistics.transfers.count += from->count;
            sum->statistics.transfers.bytes += from->bytes;
            sum->statistics.transfers.nanoseconds += from->nanoseconds;
        }
        free(pair);
    }
}

void mtbi_pairs_free(mtbi_pair *pairs) {
    while (pairs) {
        mtbi_pair *pair = pairs;
        pairs = pair->next;
        free(pair);
    }
}

size_t mtb_memory_get_pair_statistics(const mtb_memory *memory, mtb_pair_statistics *pairs, size_t capacity) {
    if (!memory) return 0;
    size_t count = 0;
    /* Taking the lock changes nothing that users of the memory see. */
    pthread_mutex_t *mutex = &((mtb_memory *)memory)->mutex;
    pthread_mutex_lock(mutex);
    for (const mtbi_pair *pair = memory->pairs; pair; pair = pair->next, count++)
        if (pairs && count < capacity) pairs[count] = pair->statistics;
    pthread_mutex_unlock(mutex);
    return count;
}
