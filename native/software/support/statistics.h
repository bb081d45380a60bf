/* What the public smtl_live_objects and its relatives report: objects, bytes, command buffers and launches so far. */
#ifndef SMTL_STATISTICS_H
#define SMTL_STATISTICS_H

#include <SoftwareMetal/SoftwareMetal.h>

void smtl_count_created(smtl_object_class object_class);
void smtl_count_destroyed(smtl_object_class object_class);

/* Counts memory that a resource owns or, of the host's, uses. False, and nothing counted, if all resources together
 * would own more than `limit`. */
bool smtl_count_allocate(uint64_t bytes, bool owned, uint64_t limit);
void smtl_count_free(uint64_t bytes, bool owned);

void smtl_count_command_buffer(void);
void smtl_count_launches(uint64_t count);

#endif
