/* Memories: what they are made with, and what becomes of it. Plain C: Metal is reached through the C ABI. */
#include "memory.h"

#include "../checks.h"

/* What is used where the caller asks for nothing else. */
static const uint64_t default_staging_limit = 64 << 20;
static const uint64_t default_idle_ns = 5 * UINT64_C(1000000000);

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value ? value : otherwise;
}

mtb_memory *mtb_memory_create(mtb_device *device, const mtb_memory_options *options, mtb_error **error)
{
    mtbi_error_clear(error);
    if (GIVEN(device))
        return NULL;
    mtb_memory *memory = mtbi_handle_create(MTB_HANDLE_MEMORY, sizeof *memory, error, __func__);
    if (!memory)
        return NULL;
    mtb_memory_options asked = options ? *options : (mtb_memory_options){0};
    pthread_mutex_init(&memory->mutex, NULL);
    pthread_mutex_init(&memory->kernel_mutex, NULL);
    memory->device = mtb_device_retain(device);
    memory->idle_ns = or_default(asked.idle_ns, default_idle_ns);
    memory->staging.limit = or_default(asked.staging_limit, default_staging_limit);
    return memory;
}

void mtbi_memory_destroy(mtb_memory *memory)
{
    mtbi_staging_trim(memory, 0);
    for (size_t i = 0; i < MTBI_KERNEL_COUNT; i++)
        mtb_pipeline_release(memory->kernels[i]);
    mtb_device_release(memory->device);
    pthread_mutex_destroy(&memory->kernel_mutex);
    pthread_mutex_destroy(&memory->mutex);
    mtbi_handle_free(&memory->handle);
}

uint64_t mtb_memory_trim(mtb_memory *memory, uint64_t idle_ns)
{
    return memory ? mtbi_staging_trim(memory, idle_ns) : 0;
}
