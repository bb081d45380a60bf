/* The kernels of transfers: compiled once for a memory and a device, at the first use. */
#include "memory/transfer_kernels.h"

#include "memory/memory.h"

static const char *const names[MTBI_KERNEL_COUNT] = {
    [MTBI_KERNEL_COPY_ROWS] = "copy_rows",
    [MTBI_KERNEL_FILL_ROWS] = "fill_rows",
    [MTBI_KERNEL_FILL_WORDS] = "fill_words",
};

static mtb_pipeline *make(mtb_device *device, mtbi_kernel kernel, mtb_error **error) {
    mtb_library *library = mtb_library_create_from_source(device, (const char *)mtbi_transfer_source,
                                                          mtbi_transfer_source_size, NULL, error);
    mtb_function *function = library ? mtb_function_create(library, names[kernel], NULL, error) : NULL;
    mtb_pipeline *pipeline = function ? mtb_pipeline_create(function, error) : NULL;
    mtb_function_release(function);
    mtb_library_release(library);
    return pipeline;
}

void mtbi_kernels_create(mtbi_kernels *kernels, mtb_device *device) {
    kernels->device = mtb_device_retain(device);
    pthread_mutex_init(&kernels->mutex, NULL);
}

void mtbi_kernels_destroy(mtbi_kernels *kernels) {
    for (size_t i = 0; i < MTBI_KERNEL_COUNT; i++) mtb_pipeline_release(kernels->pipelines[i]);
    pthread_mutex_destroy(&kernels->mutex);
    mtb_device_release(kernels->device);
}

mtb_pipeline *mtbi_kernels_get(mtbi_kernels *kernels, mtbi_kernel kernel, mtb_error **error) {
    pthread_mutex_lock(&kernels->mutex);
    if (!kernels->pipelines[kernel]) kernels->pipelines[kernel] = make(kernels->device, kernel, error);
    mtb_pipeline *pipeline = kernels->pipelines[kernel];
    pthread_mutex_unlock(&kernels->mutex);
    return pipeline;
}
