/* The kernels of transfers: compiled once for a memory, at the first use. */
#include "transfer_kernels.h"

#include "memory.h"

static const char *const names[MTBI_KERNEL_COUNT] = {
    [MTBI_KERNEL_COPY_ROWS] = "copy_rows",
    [MTBI_KERNEL_FILL_ROWS] = "fill_rows",
    [MTBI_KERNEL_FILL_WORDS] = "fill_words",
};

static mtb_pipeline *make_kernel(mtb_memory *memory, mtbi_kernel kernel, mtb_error **error)
{
    mtb_library *library = mtb_library_create_from_source(memory->device, (const char *)mtbi_transfer_source,
                                                          mtbi_transfer_source_size, NULL, error);
    mtb_function *function = library ? mtb_function_create(library, names[kernel], NULL, error) : NULL;
    mtb_pipeline *pipeline = function ? mtb_pipeline_create(function, error) : NULL;
    mtb_function_release(function);
    mtb_library_release(library);
    return pipeline;
}

mtb_pipeline *mtbi_memory_kernel(mtb_memory *memory, mtbi_kernel kernel, mtb_error **error)
{
    pthread_mutex_lock(&memory->kernel_mutex);
    if (!memory->kernels[kernel])
        memory->kernels[kernel] = make_kernel(memory, kernel, error);
    mtb_pipeline *pipeline = memory->kernels[kernel];
    pthread_mutex_unlock(&memory->kernel_mutex);
    return pipeline;
}
