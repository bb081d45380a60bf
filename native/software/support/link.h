/* Links for tests (SOFTWARE_METAL_LINK): what crosses a link takes at least as long as a link with the bandwidth and
 * the latency that were set would take. Copies that cross a link at the same time do not slow each other down. */
#ifndef SMTL_LINK_H
#define SMTL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the setting is given. */
bool smtl_link_enabled(void);
/* Returns when `size` bytes that set out at `begin_ns` of smtl_now_ns have arrived, at the earliest. */
void smtl_link_end(uint64_t begin_ns, size_t size);

#endif
