/* Links for tests (SOFTWARE_METAL_LINK): what crosses a link takes at least as long as a link with the bandwidth and
 * the latency that were set would take. Copies that cross a link at the same time do not slow each other down. */
#ifndef SMTL_LINK_H
#define SMTL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Whether the setting is given. */
bool smtl_link_enabled(void);
/* The present, for the wait after the bytes have moved. */
struct timespec smtl_link_begin(void);
/* Returns when `size` bytes that set out at `begin` have arrived, at the earliest. */
void smtl_link_end(struct timespec begin, size_t size);

#endif
