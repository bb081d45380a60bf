/* Linked functions, tables of them and dynamic libraries. One action makes a pipeline, a table and what belongs to
 * them. */
#include "fuzz.h"

#include "metal_bridge_functions.h"

#include <stdlib.h>

/* NULL, a function that is not of the kind that is wanted, or mostly one that is. */
static mtb_function *any_function(mtb_function *right, mtb_function *wrong, verdict *v, mtb_status for_wrong) {
    uint32_t which = below(8);
    refuse_if(v, which == 0, MTB_INVALID_ARGUMENT);
    refuse_if(v, which == 1, for_wrong);
    return which == 0 ? NULL : which == 1 ? wrong : right;
}

static mtb_pipeline *make_linked(const device_model *device, mtb_function *kernel, mtb_function *visible) {
    verdict v = {0};
    const bool has_libraries = mtb_device_supports_dynamic_libraries(device->handle);
    mtb_dynamic_library *preloaded = one_in(8) ? NULL : device->dynamic;
    mtb_pipeline_descriptor descriptor = {.function = any_function(kernel, visible, &v, MTB_INVALID_ARGUMENT),
                                          .supports_indirect_commands = one_in(4),
                                          .preloaded_libraries = &preloaded,
                                          .preloaded_library_count = has_libraries && one_in(2),
                                          .max_call_stack_depth = below(4),
                                          .forward_progress_usage = (mtb_forward_progress_usage)below(4)};
    refuse_if(&v, descriptor.forward_progress_usage > MTB_FORWARD_PROGRESS_SIMD_GROUP_PARALLEL, MTB_INVALID_ARGUMENT);
    mtb_function *linked = any_function(visible, kernel, &v, MTB_INVALID_ARGUMENT);
    const bool is_private = one_in(4);
    *(is_private ? &descriptor.private_functions : &descriptor.linked_functions) = &linked;
    *(is_private ? &descriptor.private_function_count : &descriptor.linked_function_count) = 1;
    refuse_if(&v, descriptor.preloaded_library_count && !preloaded, MTB_INVALID_ARGUMENT);
    refuse_if(&v, !mtb_device_supports_function_pointers(device->handle), MTB_UNSUPPORTED);
    mtb_pipeline *pipeline = MAKE(&v, mtb_pipeline_create_with_descriptor, &descriptor);
    const mtb_forward_progress_usage usage = mtb_pipeline_forward_progress_usage(pipeline);
    if (pipeline && descriptor.forward_progress_usage && usage != descriptor.forward_progress_usage) abort();
    if (!pipeline || !is_private) return pipeline;
    mtb_pipeline_release(pipeline);
    return NULL;
}

static void set_functions(mtb_visible_function_table *table, mtb_function_handle *own, mtb_function_handle *foreign) {
    size_t count = mtb_visible_function_table_function_count(table);
    for (uint32_t left = below(6); left > 0; left--) {
        size_t index = one_in(4) ? any_size() : below(2);
        bool is_foreign = one_in(4);
        verdict v = {0};
        refuse_if(&v, !table || (is_foreign && foreign), MTB_INVALID_ARGUMENT);
        refuse_if(&v, table && index >= count, MTB_OUT_OF_RANGE);
        CALL(&v, mtb_visible_function_table_set_function, table, is_foreign ? foreign : own, index);
    }
}

/* What is set at an index of an encoder decides which of its dispatches are right, so each of these calls is wrong. */
static void bind(mtb_visible_function_table *table) {
    encoder_model **picked = PICK(all.encoders);
    encoder_model *encoder = picked ? *picked : NULL;
    bool is_usable = encoder && encoder->is_compute;
    verdict v = {0};
    refuse_if(&v, !is_usable, MTB_INVALID_ARGUMENT);
    refuse_if(&v, is_usable && encoder->has_ended, MTB_INVALID_STATE);
    refuse_if(&v, true, MTB_OUT_OF_RANGE);
    CALL(&v, mtb_compute_encoder_set_visible_function_table, is_usable ? encoder->compute : NULL, table,
         MTB_MAX_BINDINGS);
}

static void use_functions(void) {
    int number = 0;
    device_model *device = pick_device(&number);
    if (!device) return;
    mtb_function *kernel = mtb_function_create(device->library, "third", NULL, NULL);
    mtb_function *visible = mtb_function_create(device->library, "twice", NULL, NULL);
    mtb_pipeline *pipelines[] = {make_linked(device, kernel, visible), make_linked(device, kernel, visible)};
    mtb_function_handle *handles[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        verdict v = {0};
        refuse_if(&v, !pipelines[i], MTB_INVALID_ARGUMENT);
        mtb_function *function = any_function(visible, kernel, &v, MTB_NOT_FOUND);
        handles[i] = MAKE(&v, mtb_function_handle_create, pipelines[i], function);
        if (handles[i] && !mtb_function_handle_name(handles[i])) abort();
    }
    size_t count = one_in(4) ? any_size() : 2;
    verdict v = {0};
    refuse_if(&v, !pipelines[0] || count == 0, MTB_INVALID_ARGUMENT);
    refuse_if(&v, count > device->info.max_buffer_length / 8, MTB_OUT_OF_RANGE);
    possibly(&v, MTB_OUT_OF_MEMORY);
    mtb_visible_function_table *table = MAKE(&v, mtb_visible_function_table_create, pipelines[0], count);
    set_functions(table, handles[0], handles[1]);
    bind(table);
    mtb_visible_function_table_release(mtb_visible_function_table_retain(table));
    mtb_visible_function_table_release(table);
    for (int i = 0; i < 2; i++) {
        mtb_function_handle_release(mtb_function_handle_retain(handles[i]));
        mtb_function_handle_release(handles[i]);
        mtb_pipeline_release(pipelines[i]);
    }
    mtb_function_release(visible);
    mtb_function_release(kernel);
}

static void use_dynamic_library(void) {
    int number = 0;
    device_model *device = pick_device(&number);
    if (!device || !device->dynamic) return;
    const char *path = one_in(2) ? "/no/such/folder" : NULL;
    verdict loaded = {0}, written = {0}, made = {0};
    refuse_if(&loaded, true, path ? MTB_NOT_FOUND : MTB_INVALID_ARGUMENT);
    MAKE(&loaded, mtb_dynamic_library_create_from_file, device->handle, path);
    refuse_if(&written, true, path ? MTB_UNSUPPORTED : MTB_INVALID_ARGUMENT);
    CALL(&written, mtb_dynamic_library_serialize, device->dynamic, path);
    refuse_if(&made, true, MTB_INVALID_ARGUMENT);
    MAKE(&made, mtb_dynamic_library_create, one_in(2) ? device->library : NULL);
    mtb_dynamic_library_release(mtb_dynamic_library_retain(device->dynamic));
    if (!mtb_dynamic_library_install_name(device->dynamic)) abort();
}

const action function_actions[] = {use_functions, use_dynamic_library};
const uint32_t function_action_count = sizeof function_actions / sizeof *function_actions;
