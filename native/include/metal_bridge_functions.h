/* Functions that are not in a kernel's own source: those that its pipeline links, which the kernel calls by name or
 * picks from a table, and those of dynamic libraries.
 *
 * A function that a pipeline links is declared with [[visible]]; mtb_function_create makes it as it makes a kernel.
 * mtb_pipeline_create_with_descriptor links it, the pipeline gives a handle for it, and a table of the pipeline has
 * handles by index. The kernel takes the table as visible_function_table<T>, which is bound like a buffer. Neither
 * Metal nor the bridge checks that a function has the type that the kernel calls, or that the table has a function
 * where the kernel looks: the caller does.
 *
 * A dynamic library is made of a library that was compiled with MTB_LIBRARY_DYNAMIC. What a source declares and does
 * not define is looked up in the libraries of its mtb_compile_options, and before that in the preloaded libraries of
 * the pipeline.
 *
 * Threads
 *   Any thread may use dynamic libraries and function handles at the same time as others. One thread at a time may set
 *   functions of a table, and none from the call that binds the table until the command buffer has completed or was
 *   released. All else with a table any thread may do at any time.
 */
#ifndef METAL_BRIDGE_FUNCTIONS_H
#define METAL_BRIDGE_FUNCTIONS_H

#include "metal_bridge.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mtb_function_handle mtb_function_handle;               /* MTLFunctionHandle */
typedef struct mtb_visible_function_table mtb_visible_function_table; /* MTLVisibleFunctionTable */

/* supportsFunctionPointers. */
bool mtb_device_supports_function_pointers(const mtb_device *device);
/* supportsDynamicLibraries. */
bool mtb_device_supports_dynamic_libraries(const mtb_device *device);

/* ------------------------------------------------------------------------------------- dynamic libraries */

/* newDynamicLibrary:error:. MTB_INVALID_ARGUMENT for a library that was not compiled as a dynamic one,
 * MTB_COMPILE_FAILED, MTB_UNSUPPORTED if the device has no dynamic libraries. */
mtb_dynamic_library *mtb_dynamic_library_create(mtb_library *library, mtb_error **error);
/* newDynamicLibraryWithURL:error:. Loads the libraries that this one needs too, by their install names. MTB_NOT_FOUND
 * if there is no such file and if an install name leads to none; MTB_UNSUPPORTED if a file has no dynamic library, and
 * if the device has none. */
mtb_dynamic_library *mtb_dynamic_library_create_from_file(mtb_device *device, const char *path, mtb_error **error);
mtb_dynamic_library *mtb_dynamic_library_retain(mtb_dynamic_library *library);
void mtb_dynamic_library_release(mtb_dynamic_library *library);
/* installName. */
const char *mtb_dynamic_library_install_name(const mtb_dynamic_library *library);
/* serializeToURL:error: writes the library to a file, in the place of a file that is there. MTB_UNSUPPORTED if it
 * cannot be written; MTB_INVALID_ARGUMENT if something else than a file is at the path, such as a folder or a device.
 */
mtb_status mtb_dynamic_library_serialize(mtb_dynamic_library *library, const char *path, mtb_error **error);

/* ------------------------------------------------------------------------------------- linked functions */

/* MTLForwardProgressUsage (macOS 27): how Metal schedules kernels that block across SIMD-groups. */
typedef enum mtb_forward_progress_usage {
    /* Metal chooses. */
    MTB_FORWARD_PROGRESS_AUTOMATIC = 0,
    MTB_FORWARD_PROGRESS_WEAK = 1,
    MTB_FORWARD_PROGRESS_SIMD_GROUP_PARALLEL = 2
} mtb_forward_progress_usage;

/* MTLComputePipelineDescriptor. Zeroes are the defaults, but for the kernel. */
typedef struct mtb_pipeline_descriptor {
    /* computeFunction. */
    mtb_function *function;
    /* supportIndirectCommandBuffers. */
    bool supports_indirect_commands;
    /* `functions` of MTLLinkedFunctions: the pipeline has a handle for each of these. */
    mtb_function *const *linked_functions;
    size_t linked_function_count;
    /* `privateFunctions` (macOS 12), which only their names call. */
    mtb_function *const *private_functions;
    size_t private_function_count;
    /* preloadedLibraries; insertLibraries before macOS 12. */
    mtb_dynamic_library *const *preloaded_libraries;
    size_t preloaded_library_count;
    /* maxCallStackDepth: how deep calls through pointers are nested. Zero is Metal's default, 1. */
    size_t max_call_stack_depth;
    /* forwardProgressUsage (macOS 27). */
    mtb_forward_progress_usage forward_progress_usage;
} mtb_pipeline_descriptor;

/* newComputePipelineStateWithDescriptor:options:reflection:error:. What mtb_pipeline_create and
 * mtb_pipeline_create_for_indirect_commands say; MTB_INVALID_ARGUMENT for a linked function that is not [[visible]],
 * MTB_WRONG_DEVICE, MTB_COMPILE_FAILED if a function that a kernel calls by name is nowhere, MTB_UNSUPPORTED for linked
 * functions if the device has no function pointers, for private ones before macOS 12, and for a forward progress usage
 * that is not automatic before macOS 27. */
mtb_pipeline *mtb_pipeline_create_with_descriptor(const mtb_pipeline_descriptor *descriptor, mtb_error **error);
/* forwardProgressUsage (macOS 27). MTB_FORWARD_PROGRESS_AUTOMATIC for NULL, and where the system does not say. */
mtb_forward_progress_usage mtb_pipeline_forward_progress_usage(const mtb_pipeline *pipeline);

/* functionHandleWithFunction:. It keeps the pipeline. MTB_NOT_FOUND for a function that is not among `linked_functions`
 * of the pipeline. */
mtb_function_handle *mtb_function_handle_create(mtb_pipeline *pipeline, mtb_function *function, mtb_error **error);
mtb_function_handle *mtb_function_handle_retain(mtb_function_handle *handle);
void mtb_function_handle_release(mtb_function_handle *handle);
/* The function's name. */
const char *mtb_function_handle_name(const mtb_function_handle *handle);

/* newVisibleFunctionTableWithDescriptor:, of a table that has no functions yet. It keeps the pipeline.
 * MTB_INVALID_ARGUMENT for a count of zero, MTB_OUT_OF_RANGE for a table larger than the device's largest buffer,
 * MTB_UNSUPPORTED if the device has no function pointers. */
mtb_visible_function_table *mtb_visible_function_table_create(mtb_pipeline *pipeline, size_t function_count,
                                                              mtb_error **error);
mtb_visible_function_table *mtb_visible_function_table_retain(mtb_visible_function_table *table);
void mtb_visible_function_table_release(mtb_visible_function_table *table);
/* functionCount. */
size_t mtb_visible_function_table_function_count(const mtb_visible_function_table *table);
/* setFunction:atIndex:. NULL leaves the index without a function. MTB_OUT_OF_RANGE past the end, MTB_INVALID_ARGUMENT
 * for a handle of another pipeline than the table's. */
mtb_status mtb_visible_function_table_set_function(mtb_visible_function_table *table, mtb_function_handle *function,
                                                   size_t index, mtb_error **error);

/* setVisibleFunctionTable:atBufferIndex:. Tables and buffers have one list of indices: what is set at an index replaces
 * what was there. A dispatch of a kernel that takes the table fails with MTB_INVALID_ARGUMENT unless the encoder's
 * pipeline is the table's, and a dispatch of a kernel that takes a buffer there does. */
mtb_status mtb_compute_encoder_set_visible_function_table(mtb_compute_encoder *encoder,
                                                          mtb_visible_function_table *table, size_t index,
                                                          mtb_error **error);

#ifdef __cplusplus
}
#endif
#endif
