/* What libraries, functions and pipelines answer without a message to Metal. */
#include "library/library.h"

#include "library/dynamic_library.h"
#include "library/function_table.h"
#include "metal_bridge_indirect.h"

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

mtb_forward_progress_usage mtb_pipeline_forward_progress_usage(const mtb_pipeline *pipeline) {
    return pipeline ? pipeline->forward_progress_usage : MTB_FORWARD_PROGRESS_AUTOMATIC;
}

const char *mtb_pipeline_function_name(const mtb_pipeline *pipeline) { return pipeline ? pipeline->name : NULL; }

size_t mtb_pipeline_argument_count(const mtb_pipeline *pipeline) { return pipeline ? pipeline->argument_count : 0; }

bool mtb_pipeline_get_argument(const mtb_pipeline *pipeline, size_t position, mtb_argument *argument) {
    if (!pipeline || !argument || position >= pipeline->argument_count) return false;
    *argument = pipeline->arguments[position];
    return true;
}

bool mtb_pipeline_supports_indirect_commands(const mtb_pipeline *pipeline) {
    return pipeline && pipeline->supports_indirect_commands;
}

uint64_t mtb_pipeline_gpu_resource_id(const mtb_pipeline *pipeline) { return pipeline ? pipeline->gpu_resource_id : 0; }

const char *mtb_dynamic_library_install_name(const mtb_dynamic_library *library) {
    return library ? library->install_name : NULL;
}

const char *mtb_function_handle_name(const mtb_function_handle *handle) { return handle ? handle->name : NULL; }

size_t mtb_visible_function_table_function_count(const mtb_visible_function_table *table) {
    return table ? table->function_count : 0;
}
