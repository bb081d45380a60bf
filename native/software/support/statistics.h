/* What the public smtl_live_objects and its relatives report: objects, bytes, command buffers and launches so far. */
#ifndef SMTL_STATISTICS_H
#define SMTL_STATISTICS_H

#include <SoftwareMetal/SoftwareMetal.h>

void smtl_count_created(smtl_object_class object_class);
void smtl_count_destroyed(smtl_object_class object_class);

/* Takes `bytes` of the memory that all buffers share; false, and nothing taken, beyond `limit` (0: no limit). */
bool smtl_count_allocate(uint64_t bytes, uint64_t limit);
void smtl_count_free(uint64_t bytes);

void smtl_count_command_buffer(void);
void smtl_count_launches(uint64_t count);

#endif
