/* Handles of the functions that a pipeline links, and tables of them. */
#import "library/function_table.h"

#import "core/checks.h"
#import "core/guard.h"
#import "library/library.h"

#include <stdlib.h>
#include <string.h>

static void destroy_function_handle(mtbi_handle *base) {
    mtb_function_handle *handle = (mtb_function_handle *)base;
    MTBI_ENTER
    [handle->metal release];
    free(handle->name);
    mtb_pipeline_release(handle->pipeline);
    mtbi_handle_free(base);
    MTBI_LEAVE()
}

/* Called inside the caller's guard. `*made` is the caller's to release, also after a failure or an exception. */
static mtb_status make_function_handle(mtb_function_handle **made, mtb_pipeline *pipeline, mtb_function *function,
                                       mtb_error **error, const char *name) {
    REQUIRE(mtbi_check_given(pipeline, "pipeline", error, name));
    REQUIRE(mtbi_check_given(function, "function", error, name));
    REQUIRE(mtbi_check_device(pipeline->device, function->library->device, "function", error, name));
    REQUIRE(mtbi_check_function_pointers(pipeline->device, error, name));
    mtb_function_handle *handle =
        mtbi_handle_create(MTB_HANDLE_FUNCTION_HANDLE, sizeof *handle, destroy_function_handle, error, name);
    if (!handle) return MTB_OUT_OF_MEMORY;
    *made = handle;
    handle->pipeline = mtb_pipeline_retain(pipeline);
    handle->metal = [[pipeline->metal functionHandleWithFunction:function->metal] retain];
    if (!handle->metal)
        return mtbi_fail(error, name, MTB_NOT_FOUND, "the pipeline of `%s` has no handle for this function `%s`",
                         pipeline->name, function->name);
    handle->name = strdup(function->name);
    if (!handle->name) return mtbi_fail(error, name, MTB_OUT_OF_MEMORY, "no memory for the function's name");
    return MTB_OK;
}

mtb_function_handle *mtb_function_handle_create(mtb_pipeline *pipeline, mtb_function *function, mtb_error **error) {
    mtb_function_handle *handle = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (make_function_handle(&handle, pipeline, function, error, __func__) == MTB_OK) return handle;
    mtb_function_handle_release(handle);
    return NULL;
    MTBI_LEAVE((mtb_function_handle_release(handle), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

static void destroy_table(mtbi_handle *handle) {
    mtb_visible_function_table *table = (mtb_visible_function_table *)handle;
    MTBI_ENTER
    [table->metal release];
    mtb_pipeline_release(table->pipeline);
    mtbi_handle_free(handle);
    MTBI_LEAVE()
}

/* As above. */
static mtb_status make_table(mtb_visible_function_table **made, mtb_pipeline *pipeline, size_t count, mtb_error **error,
                             const char *name) {
    REQUIRE(mtbi_check_given(pipeline, "pipeline", error, name));
    REQUIRE(mtbi_check_function_pointers(pipeline->device, error, name));
    if (count == 0) return mtbi_fail(error, name, MTB_INVALID_ARGUMENT, "`function_count` is zero");
    const uint64_t most = pipeline->device->info.max_buffer_length / sizeof(uint64_t);
    if (count > most)
        return mtbi_fail(error, name, MTB_OUT_OF_RANGE,
                         "a table of %zu functions is larger than the device's largest buffer, which holds %llu", count,
                         (unsigned long long)most);
    mtb_visible_function_table *table =
        mtbi_handle_create(MTB_HANDLE_VISIBLE_FUNCTION_TABLE, sizeof *table, destroy_table, error, name);
    if (!table) return MTB_OUT_OF_MEMORY;
    *made = table;
    table->pipeline = mtb_pipeline_retain(pipeline);
    table->function_count = count;
    MTLVisibleFunctionTableDescriptor *descriptor = [MTLVisibleFunctionTableDescriptor visibleFunctionTableDescriptor];
    [descriptor setFunctionCount:count];
    table->metal = [pipeline->metal newVisibleFunctionTableWithDescriptor:descriptor];
    if (table->metal) return MTB_OK;
    return mtbi_fail(error, name, MTB_OUT_OF_MEMORY, "Metal could not make a table of %zu functions", count);
}

mtb_visible_function_table *mtb_visible_function_table_create(mtb_pipeline *pipeline, size_t function_count,
                                                              mtb_error **error) {
    mtb_visible_function_table *table = NULL;
    mtbi_error_clear(error);
    MTBI_ENTER
    if (make_table(&table, pipeline, function_count, error, __func__) == MTB_OK) return table;
    mtb_visible_function_table_release(table);
    return NULL;
    MTBI_LEAVE((mtb_visible_function_table_release(table), mtbi_fail_with_exception(error, __func__, exception), NULL))
}

mtb_status mtb_visible_function_table_set_function(mtb_visible_function_table *table, mtb_function_handle *function,
                                                   size_t index, mtb_error **error) {
    mtbi_error_clear(error);
    MTBI_ENTER
    REQUIRE(GIVEN(table));
    if (index >= table->function_count)
        return FAIL(error, MTB_OUT_OF_RANGE, "index %zu is past the last of the table, which is %zu", index,
                    table->function_count - 1);
    if (function && function->pipeline != table->pipeline)
        return FAIL(error, MTB_INVALID_ARGUMENT, "the handle of `%s` is of another pipeline than the table",
                    function->name);
    [table->metal setFunction:function ? function->metal : nil atIndex:index];
    return MTB_OK;
    MTBI_LEAVE(mtbi_fail_with_exception(error, __func__, exception))
}
