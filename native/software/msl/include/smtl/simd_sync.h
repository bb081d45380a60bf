/* On a GPU the lanes of a simdgroup execute a statement together, and code counts on it where it stores what others
 * have just read, or reads what others have just stored, with no simdgroup_barrier between. The translation calls these
 * functions there. They order nothing by Metal's rules: what was a race stays one for the sanitizer. */
#ifndef SMTL_SIMD_SYNC_H
#define SMTL_SIMD_SYNC_H

#include "exchange.h"

namespace smtl {

/* Goes on when no other lane of the simdgroup can: each has come here as well, waits elsewhere or has returned. In
 * kernels whose threads never block this is nothing, and does not make them such that do. */
SMTL_INLINE void simd_sync_where_blocking(SMTL_SITE) {
    if (!blocking) return;
    smtl_core *const core = current_core();
    if (core->syncs_simdgroups)
        enter<offsetof(smtl_core, enter_exchange)>(core, core->thread, site | SMTL_SYNC_SITE, nullptr, 0);
}

/* The same in any kernel: of threadgroup memory, which is there to be shared. */
SMTL_INLINE void simd_sync(SMTL_SITE) {
    mark_blocking();
    simd_sync_where_blocking(site);
}

/* What is to be stored, once every lane has computed its own. */
template <class T> SMTL_INLINE T synced(T value, SMTL_SITE) {
    simd_sync(site);
    return value;
}
template <class T> SMTL_INLINE T synced_where_blocking(T value, SMTL_SITE) {
    simd_sync_where_blocking(site);
    return value;
}

}  // namespace smtl

#endif
