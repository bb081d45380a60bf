/* Getters of what handles hold. Plain C: they send no message. */
#include "core/handles.h"

#include <unistd.h>

void mtb_device_get_info(const mtb_device *device, mtb_device_info *info) {
    if (info) *info = device ? device->info : (mtb_device_info){0};
}

size_t mtb_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

size_t mtb_buffer_length(const mtb_buffer *buffer) { return buffer ? buffer->length : 0; }

mtb_storage_mode mtb_buffer_storage_mode(const mtb_buffer *buffer) {
    return buffer ? buffer->mode : MTB_STORAGE_SHARED;
}

void *mtb_buffer_contents(const mtb_buffer *buffer) { return buffer ? buffer->contents : NULL; }

uint64_t mtb_buffer_gpu_address(const mtb_buffer *buffer) { return buffer ? buffer->gpu_address : 0; }

uint64_t mtb_buffer_device_id(const mtb_buffer *buffer) { return buffer ? buffer->device->info.registry_id : 0; }

const char *mtb_library_warnings(const mtb_library *library) { return library ? library->warnings : NULL; }

size_t mtb_library_function_count(const mtb_library *library) { return library ? library->function_count : 0; }

const char *mtb_library_function_name(const mtb_library *library, size_t index) {
    return library && index < library->function_count ? library->function_names[index] : NULL;
}

const char *mtb_function_name(const mtb_function *function) { return function ? function->name : NULL; }

size_t mtb_pipeline_thread_execution_width(const mtb_pipeline *pipeline) {
    return pipeline ? pipeline->execution_width : 0;
}

size_t mtb_pipeline_max_total_threads_per_threadgroup(const mtb_pipeline *pipeline) {
    return pipeline ? pipeline->max_threads : 0;
}

size_t mtb_pipeline_static_threadgroup_memory_length(const mtb_pipeline *pipeline) {
    return pipeline ? pipeline->static_threadgroup_memory : 0;
}

const char *mtb_pipeline_function_name(const mtb_pipeline *pipeline) { return pipeline ? pipeline->name : NULL; }

size_t mtb_pipeline_argument_count(const mtb_pipeline *pipeline) { return pipeline ? pipeline->argument_count : 0; }

bool mtb_pipeline_get_argument(const mtb_pipeline *pipeline, size_t position, mtb_argument *argument) {
    if (!pipeline || !argument || position >= pipeline->argument_count) return false;
    *argument = pipeline->arguments[position];
    return true;
}

uint64_t mtb_event_signaled_value(const mtb_event *event) {
    /* What the event is to its users is not changed. */
    return event ? mtbi_event_raise((mtb_event *)event, 0) : 0;
}
