/* What Metal asks of a launch, whether an encoder dispatches it or a command of an indirect command buffer. */
#ifndef MTBI_LAUNCH_H
#define MTBI_LAUNCH_H

#include "buffer/buffer.h"
#include "library/function_table.h"

/* What is set for an argument. */
typedef struct mtbi_bound {
    bool is_set;
    /* NULL unless a table is set. */
    const mtb_visible_function_table *table;
    /* Of a buffer: from its start; and the bytes from there on. */
    size_t offset;
    size_t available;
} mtbi_bound;

mtb_status mtbi_check_buffer_offset(const mtb_buffer *buffer, size_t offset, mtb_error **error, const char *function);
/* Of one threadgroup argument. */
mtb_status mtbi_check_threadgroup_length(const mtb_device *device, size_t length, mtb_error **error,
                                         const char *function);
/* What the kernel uses is set, large enough and aligned. */
mtb_status mtbi_check_argument(const mtb_pipeline *pipeline, const mtb_argument *argument, mtbi_bound bound,
                               mtb_error **error, const char *function);
/* `length` is that of all threadgroup arguments together. */
mtb_status mtbi_check_threadgroup_memory(const mtb_pipeline *pipeline, size_t length, mtb_error **error,
                                         const char *function);
/* Each dimension of the threadgroup is within the device's. */
mtb_status mtbi_check_extents(const mtb_device *device, mtb_size group, mtb_error **error, const char *function);
/* The same, and the pipeline takes as many threads. */
mtb_status mtbi_check_threadgroup(const mtb_pipeline *pipeline, mtb_size group, mtb_error **error,
                                  const char *function);
/* `unit` is what the grid counts: threads of one, or threadgroups. */
mtb_status mtbi_check_grid(mtb_size grid, mtb_size unit, mtb_error **error, const char *function);
/* The grid may end within a threadgroup. */
mtb_status mtbi_check_nonuniform(const mtb_device *device, mtb_error **error, const char *function);

static inline bool mtbi_is_empty(mtb_size size) { return !size.width || !size.height || !size.depth; }

#endif
