//! The mirror of `native/include/metal_bridge_functions.h`.

use super::*;

opaque! {
    mtb_function_handle
    mtb_visible_function_table
}

pub type mtb_forward_progress_usage = u32;
pub const MTB_FORWARD_PROGRESS_AUTOMATIC: mtb_forward_progress_usage = 0;
pub const MTB_FORWARD_PROGRESS_WEAK: mtb_forward_progress_usage = 1;
pub const MTB_FORWARD_PROGRESS_SIMD_GROUP_PARALLEL: mtb_forward_progress_usage = 2;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_pipeline_descriptor {
    pub function: *mut mtb_function,
    pub supports_indirect_commands: bool,
    pub linked_functions: *const *mut mtb_function,
    pub linked_function_count: usize,
    pub private_functions: *const *mut mtb_function,
    pub private_function_count: usize,
    pub preloaded_libraries: *const *mut mtb_dynamic_library,
    pub preloaded_library_count: usize,
    pub max_call_stack_depth: usize,
    pub forward_progress_usage: mtb_forward_progress_usage,
}

abi! {
    pub fn mtb_device_supports_function_pointers(device: *const mtb_device) -> bool;
    pub fn mtb_device_supports_dynamic_libraries(device: *const mtb_device) -> bool;

    pub fn mtb_dynamic_library_create(
        library: *mut mtb_library,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_dynamic_library;
    pub fn mtb_dynamic_library_create_from_file(
        device: *mut mtb_device,
        path: *const c_char,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_dynamic_library;
    pub fn mtb_dynamic_library_retain(library: *mut mtb_dynamic_library) -> *mut mtb_dynamic_library;
    pub fn mtb_dynamic_library_release(library: *mut mtb_dynamic_library);
    pub fn mtb_dynamic_library_install_name(library: *const mtb_dynamic_library) -> *const c_char;
    pub fn mtb_dynamic_library_serialize(
        library: *mut mtb_dynamic_library,
        path: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;

    pub fn mtb_pipeline_create_with_descriptor(
        descriptor: *const mtb_pipeline_descriptor,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_pipeline;

    pub fn mtb_pipeline_forward_progress_usage(
        pipeline: *const mtb_pipeline,
    ) -> mtb_forward_progress_usage;

    pub fn mtb_function_handle_create(
        pipeline: *mut mtb_pipeline,
        function: *mut mtb_function,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_function_handle;
    pub fn mtb_function_handle_retain(handle: *mut mtb_function_handle) -> *mut mtb_function_handle;
    pub fn mtb_function_handle_release(handle: *mut mtb_function_handle);
    pub fn mtb_function_handle_name(handle: *const mtb_function_handle) -> *const c_char;

    pub fn mtb_visible_function_table_create(
        pipeline: *mut mtb_pipeline,
        function_count: usize,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_visible_function_table;
    pub fn mtb_visible_function_table_retain(
        table: *mut mtb_visible_function_table,
    ) -> *mut mtb_visible_function_table;
    pub fn mtb_visible_function_table_release(table: *mut mtb_visible_function_table);
    pub fn mtb_visible_function_table_function_count(
        table: *const mtb_visible_function_table,
    ) -> usize;
    pub fn mtb_visible_function_table_set_function(
        table: *mut mtb_visible_function_table,
        function: *mut mtb_function_handle,
        index: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;

    pub fn mtb_compute_encoder_set_visible_function_table(
        encoder: *mut mtb_compute_encoder,
        table: *mut mtb_visible_function_table,
        index: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
}
