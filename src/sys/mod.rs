//! The unsafe floor: every foreign declaration of the package, for those who build another safe layer on the bridge.
//!
//! It is the `extern "C"` mirror of six headers, one to one: of `native/include/metal_bridge.h`, of `metal_bridge_memory.h` in
//! `memory.rs`, of `metal_bridge_mps.h` in `mps.rs`, of `metal_bridge_indirect.h` in `indirect.rs`, of `metal_bridge_functions.h` in `functions.rs`, and, in `software.rs`, of the part of `native/software/msl/msl.h` that checks sources. `tests/abi/` compares them,
//! declaration by declaration. The headers say what each function does, what it asks of its caller, and which thread may call it.
//! On top of the mirror stands what every layer over it needs: owned references ([`Handle`]), errors as values ([`OwnedError`]), and
//! completion handlers ([`CompletionHandler`]).
//!
//! Without a Metal to link (no Apple host, and no feature `software`) the functions exist, so that the crate
//! builds anywhere, but the safe layer never calls one: no device exists, so no handle does.

#![allow(non_camel_case_types)]
// The headers have the documentation.
#![allow(missing_docs)]
#![allow(clippy::missing_safety_doc)]
// The mirror is complete, whatever the safe layer uses of it.
#![allow(dead_code)]

use std::ffi::{c_char, c_void};
use std::marker::{PhantomData, PhantomPinned};

pub const MTB_ABI_VERSION: u32 = 1;
pub const MTB_FOREVER: u64 = u64::MAX;
pub const MTB_SLOT_TIMEOUT: u64 = 600000000000;
pub const MTB_MAX_BINDINGS: u32 = 31;
pub const MTB_MAX_INLINE_BYTES: u32 = 4096;
pub const MTB_HANDLE_KIND_COUNT: u32 = 21;

/// Declares types whose inside only the bridge knows. Neither `Send`, `Sync` nor `Unpin`: the safe layer says for each
/// handle what Metal allows.
macro_rules! opaque {
    ($($name:ident)*) => {
        $(
            #[repr(C)]
            pub struct $name {
                _opaque: [u8; 0],
                _not_send_sync_unpin: PhantomData<(*mut u8, PhantomPinned)>,
            }
        )*
    };
}

opaque! {
    mtb_error
    mtb_device
    mtb_buffer
    mtb_command_queue
    mtb_command_buffer
    mtb_compute_encoder
    mtb_blit_encoder
    mtb_library
    mtb_function
    mtb_constant_values
    mtb_pipeline
    mtb_event
    mtb_dynamic_library
}

pub type mtb_handle_kind = u32;
pub const MTB_HANDLE_ERROR: mtb_handle_kind = 0;
pub const MTB_HANDLE_DEVICE: mtb_handle_kind = 1;
pub const MTB_HANDLE_BUFFER: mtb_handle_kind = 2;
pub const MTB_HANDLE_QUEUE: mtb_handle_kind = 3;
pub const MTB_HANDLE_COMMAND_BUFFER: mtb_handle_kind = 4;
pub const MTB_HANDLE_COMPUTE_ENCODER: mtb_handle_kind = 5;
pub const MTB_HANDLE_BLIT_ENCODER: mtb_handle_kind = 6;
pub const MTB_HANDLE_LIBRARY: mtb_handle_kind = 7;
pub const MTB_HANDLE_FUNCTION: mtb_handle_kind = 8;
pub const MTB_HANDLE_CONSTANT_VALUES: mtb_handle_kind = 9;
pub const MTB_HANDLE_PIPELINE: mtb_handle_kind = 10;
pub const MTB_HANDLE_EVENT: mtb_handle_kind = 11;
pub const MTB_HANDLE_MEMORY: mtb_handle_kind = 12;
pub const MTB_HANDLE_TRANSFER: mtb_handle_kind = 13;
pub const MTB_HANDLE_ARENA: mtb_handle_kind = 14;
pub const MTB_HANDLE_RESIDENCY_SET: mtb_handle_kind = 15;
pub const MTB_HANDLE_MPS_KERNEL: mtb_handle_kind = 16;
pub const MTB_HANDLE_INDIRECT_COMMAND_BUFFER: mtb_handle_kind = 17;
pub const MTB_HANDLE_DYNAMIC_LIBRARY: mtb_handle_kind = 18;
pub const MTB_HANDLE_FUNCTION_HANDLE: mtb_handle_kind = 19;
pub const MTB_HANDLE_VISIBLE_FUNCTION_TABLE: mtb_handle_kind = 20;

pub type mtb_status = u32;
pub const MTB_OK: mtb_status = 0;
pub const MTB_INVALID_ARGUMENT: mtb_status = 1;
pub const MTB_OUT_OF_RANGE: mtb_status = 2;
pub const MTB_MISALIGNED: mtb_status = 3;
pub const MTB_WRONG_DEVICE: mtb_status = 4;
pub const MTB_NO_DEVICE: mtb_status = 5;
pub const MTB_OUT_OF_MEMORY: mtb_status = 6;
pub const MTB_COMPILE_FAILED: mtb_status = 7;
pub const MTB_NOT_FOUND: mtb_status = 8;
pub const MTB_MISSING_ARGUMENT: mtb_status = 9;
pub const MTB_COMMAND_BUFFER_FAILED: mtb_status = 10;
pub const MTB_TIMEOUT: mtb_status = 11;
pub const MTB_INVALID_STATE: mtb_status = 12;
pub const MTB_UNSUPPORTED: mtb_status = 13;
pub const MTB_EXCEPTION: mtb_status = 14;
pub const MTB_INTERNAL: mtb_status = 15;
pub const MTB_OVER_BUDGET: mtb_status = 16;
pub const MTB_DEADLOCK: mtb_status = 17;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_size {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_device_info {
    pub name: *const c_char,
    pub registry_id: u64,
    pub recommended_max_working_set_size: u64,
    pub max_buffer_length: u64,
    pub max_threadgroup_memory_length: u64,
    pub max_threads_per_threadgroup: mtb_size,
    pub has_unified_memory: bool,
    pub is_low_power: bool,
    pub is_removable: bool,
    pub is_headless: bool,
    pub runs_lanes_in_turn: bool,
}

pub type mtb_gpu_family = u32;
pub const MTB_FAMILY_APPLE1: mtb_gpu_family = 1001;
pub const MTB_FAMILY_APPLE2: mtb_gpu_family = 1002;
pub const MTB_FAMILY_APPLE3: mtb_gpu_family = 1003;
pub const MTB_FAMILY_APPLE4: mtb_gpu_family = 1004;
pub const MTB_FAMILY_APPLE5: mtb_gpu_family = 1005;
pub const MTB_FAMILY_APPLE6: mtb_gpu_family = 1006;
pub const MTB_FAMILY_APPLE7: mtb_gpu_family = 1007;
pub const MTB_FAMILY_APPLE8: mtb_gpu_family = 1008;
pub const MTB_FAMILY_APPLE9: mtb_gpu_family = 1009;
pub const MTB_FAMILY_APPLE10: mtb_gpu_family = 1010;
pub const MTB_FAMILY_MAC2: mtb_gpu_family = 2002;
pub const MTB_FAMILY_COMMON1: mtb_gpu_family = 3001;
pub const MTB_FAMILY_COMMON2: mtb_gpu_family = 3002;
pub const MTB_FAMILY_COMMON3: mtb_gpu_family = 3003;
pub const MTB_FAMILY_METAL3: mtb_gpu_family = 5001;
pub const MTB_FAMILY_METAL4: mtb_gpu_family = 5002;

pub type mtb_device_location = u32;
pub const MTB_LOCATION_BUILT_IN: mtb_device_location = 0;
pub const MTB_LOCATION_SLOT: mtb_device_location = 1;
pub const MTB_LOCATION_EXTERNAL: mtb_device_location = 2;
pub const MTB_LOCATION_UNSPECIFIED: mtb_device_location = 3;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_device_position {
    pub peer_group_id: u64,
    pub peer_index: u32,
    pub peer_count: u32,
    pub location: mtb_device_location,
    pub location_number: u64,
    pub max_transfer_rate: u64,
}

pub type mtb_storage_mode = u32;
pub const MTB_STORAGE_SHARED: mtb_storage_mode = 0;
pub const MTB_STORAGE_MANAGED: mtb_storage_mode = 1;
pub const MTB_STORAGE_PRIVATE: mtb_storage_mode = 2;

pub type mtb_deallocator =
    Option<unsafe extern "C" fn(bytes: *mut c_void, length: usize, context: *mut c_void)>;

pub type mtb_math_mode = u32;
pub const MTB_MATH_DEFAULT: mtb_math_mode = 0;
pub const MTB_MATH_SAFE: mtb_math_mode = 1;
pub const MTB_MATH_RELAXED: mtb_math_mode = 2;
pub const MTB_MATH_FAST: mtb_math_mode = 3;

pub type mtb_library_type = u32;
pub const MTB_LIBRARY_EXECUTABLE: mtb_library_type = 0;
pub const MTB_LIBRARY_DYNAMIC: mtb_library_type = 1;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_macro {
    pub name: *const c_char,
    pub value: *const c_char,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_compile_options {
    pub macros: *const mtb_macro,
    pub macro_count: usize,
    pub language_version: u32,
    pub math_mode: mtb_math_mode,
    pub library_type: mtb_library_type,
    pub install_name: *const c_char,
    pub libraries: *const *mut mtb_dynamic_library,
    pub library_count: usize,
}

pub type mtb_data_type = u32;
pub const MTB_TYPE_FLOAT: mtb_data_type = 3;
pub const MTB_TYPE_FLOAT2: mtb_data_type = 4;
pub const MTB_TYPE_FLOAT3: mtb_data_type = 5;
pub const MTB_TYPE_FLOAT4: mtb_data_type = 6;
pub const MTB_TYPE_HALF: mtb_data_type = 16;
pub const MTB_TYPE_HALF2: mtb_data_type = 17;
pub const MTB_TYPE_HALF3: mtb_data_type = 18;
pub const MTB_TYPE_HALF4: mtb_data_type = 19;
pub const MTB_TYPE_INT: mtb_data_type = 29;
pub const MTB_TYPE_INT2: mtb_data_type = 30;
pub const MTB_TYPE_INT3: mtb_data_type = 31;
pub const MTB_TYPE_INT4: mtb_data_type = 32;
pub const MTB_TYPE_UINT: mtb_data_type = 33;
pub const MTB_TYPE_UINT2: mtb_data_type = 34;
pub const MTB_TYPE_UINT3: mtb_data_type = 35;
pub const MTB_TYPE_UINT4: mtb_data_type = 36;
pub const MTB_TYPE_SHORT: mtb_data_type = 37;
pub const MTB_TYPE_SHORT2: mtb_data_type = 38;
pub const MTB_TYPE_SHORT3: mtb_data_type = 39;
pub const MTB_TYPE_SHORT4: mtb_data_type = 40;
pub const MTB_TYPE_USHORT: mtb_data_type = 41;
pub const MTB_TYPE_USHORT2: mtb_data_type = 42;
pub const MTB_TYPE_USHORT3: mtb_data_type = 43;
pub const MTB_TYPE_USHORT4: mtb_data_type = 44;
pub const MTB_TYPE_CHAR: mtb_data_type = 45;
pub const MTB_TYPE_CHAR2: mtb_data_type = 46;
pub const MTB_TYPE_CHAR3: mtb_data_type = 47;
pub const MTB_TYPE_CHAR4: mtb_data_type = 48;
pub const MTB_TYPE_UCHAR: mtb_data_type = 49;
pub const MTB_TYPE_UCHAR2: mtb_data_type = 50;
pub const MTB_TYPE_UCHAR3: mtb_data_type = 51;
pub const MTB_TYPE_UCHAR4: mtb_data_type = 52;
pub const MTB_TYPE_BOOL: mtb_data_type = 53;
pub const MTB_TYPE_BOOL2: mtb_data_type = 54;
pub const MTB_TYPE_BOOL3: mtb_data_type = 55;
pub const MTB_TYPE_BOOL4: mtb_data_type = 56;
pub const MTB_TYPE_LONG: mtb_data_type = 81;
pub const MTB_TYPE_ULONG: mtb_data_type = 85;
pub const MTB_TYPE_BFLOAT: mtb_data_type = 121;

pub type mtb_argument_kind = u32;
pub const MTB_ARGUMENT_BUFFER: mtb_argument_kind = 0;
pub const MTB_ARGUMENT_THREADGROUP_MEMORY: mtb_argument_kind = 1;
pub const MTB_ARGUMENT_OTHER: mtb_argument_kind = 2;
pub const MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE: mtb_argument_kind = 3;

pub type mtb_access = u32;
pub const MTB_ACCESS_READ_ONLY: mtb_access = 0;
pub const MTB_ACCESS_READ_WRITE: mtb_access = 1;
pub const MTB_ACCESS_WRITE_ONLY: mtb_access = 2;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_argument {
    pub name: *const c_char,
    pub kind: mtb_argument_kind,
    pub access: mtb_access,
    pub index: u32,
    pub is_used: bool,
    pub data_size: usize,
    pub alignment: usize,
}

pub type mtb_references = u32;
pub const MTB_REFERENCES_RETAINED: mtb_references = 0;
pub const MTB_REFERENCES_UNRETAINED: mtb_references = 1;

pub type mtb_command_buffer_status = u32;
pub const MTB_COMMAND_BUFFER_NOT_ENQUEUED: mtb_command_buffer_status = 0;
pub const MTB_COMMAND_BUFFER_ENQUEUED: mtb_command_buffer_status = 1;
pub const MTB_COMMAND_BUFFER_COMMITTED: mtb_command_buffer_status = 2;
pub const MTB_COMMAND_BUFFER_SCHEDULED: mtb_command_buffer_status = 3;
pub const MTB_COMMAND_BUFFER_COMPLETED: mtb_command_buffer_status = 4;
pub const MTB_COMMAND_BUFFER_ERROR: mtb_command_buffer_status = 5;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_times {
    pub gpu_start: f64,
    pub gpu_end: f64,
    pub kernel_start: f64,
    pub kernel_end: f64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_completion {
    pub status: mtb_command_buffer_status,
    pub error: *const mtb_error,
    pub times: mtb_times,
}

pub type mtb_completion_callback =
    Option<unsafe extern "C" fn(completion: *const mtb_completion, context: *mut c_void)>;

pub type mtb_context_destructor = Option<unsafe extern "C" fn(context: *mut c_void)>;

pub type mtb_dispatch_type = u32;
pub const MTB_DISPATCH_SERIAL: mtb_dispatch_type = 0;
pub const MTB_DISPATCH_CONCURRENT: mtb_dispatch_type = 1;

pub type mtb_usage = u32;
pub const MTB_USAGE_READ: mtb_usage = 1;
pub const MTB_USAGE_WRITE: mtb_usage = 2;
pub const MTB_USAGE_READ_WRITE: mtb_usage = 3;

pub type mtb_event_callback = Option<unsafe extern "C" fn(value: u64, context: *mut c_void)>;

pub type mtb_sanitizer_check = u32;
pub const MTB_SANITIZE_BOUNDS: mtb_sanitizer_check = 1;
pub const MTB_SANITIZE_RACE: mtb_sanitizer_check = 2;
pub const MTB_SANITIZE_UNINITIALIZED: mtb_sanitizer_check = 4;

pub type mtb_report_kind = u32;
pub const MTB_REPORT_BOUNDS: mtb_report_kind = 0;
pub const MTB_REPORT_RACE: mtb_report_kind = 1;
pub const MTB_REPORT_UNINITIALIZED: mtb_report_kind = 2;
pub const MTB_REPORT_BARRIER: mtb_report_kind = 3;
pub const MTB_REPORT_DEADLOCK: mtb_report_kind = 4;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_reported_access {
    pub kernel: *const c_char,
    pub function: *const c_char,
    pub file: *const c_char,
    pub line: u32,
    pub is_write: bool,
    pub is_atomic: bool,
    pub is_whole_simdgroup: bool,
    pub size: u64,
    pub thread_position_in_grid: mtb_size,
    pub threadgroup_position_in_grid: mtb_size,
    pub thread_position_in_threadgroup: mtb_size,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_report {
    pub kind: mtb_report_kind,
    pub summary: *const c_char,
    pub text: *const c_char,
    pub access: mtb_reported_access,
    pub has_earlier: bool,
    pub earlier: mtb_reported_access,
    pub object: *const c_char,
    pub argument_index: i64,
    pub offset: i64,
    pub length: u64,
    pub occurrences: u64,
}

/// Declares the functions as foreign if there is a Metal to link, and as unreachable ones elsewhere.
macro_rules! abi {
    ($(pub fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        #[cfg(metal_backend)]
        unsafe extern "C" {
            $(pub fn $name($($parameter: $type),*) $(-> $result)?;)*
        }
        $(
            #[cfg(not(metal_backend))]
            pub unsafe fn $name($(_: $type),*) $(-> $result)? {
                unreachable!("there is no Metal in this build, so no handle to call this with")
            }
        )*
    };
}

abi! {
    pub fn mtb_abi_version() -> u32;
    pub fn mtb_process_is_forked() -> bool;

    pub fn mtb_live_handles(kind: mtb_handle_kind) -> u64;

    pub fn mtb_made_handles(kind: mtb_handle_kind) -> u64;

    pub fn mtb_handle_kind_name(kind: mtb_handle_kind) -> *const c_char;

    pub fn mtb_string_free(string: *mut c_char);

    pub fn mtb_status_name(status: mtb_status) -> *const c_char;

    pub fn mtb_error_status(error: *const mtb_error) -> mtb_status;
    pub fn mtb_error_code(error: *const mtb_error) -> i64;
    pub fn mtb_error_domain(error: *const mtb_error) -> *const c_char;
    pub fn mtb_error_message(error: *const mtb_error) -> *const c_char;
    pub fn mtb_error_function(error: *const mtb_error) -> *const c_char;
    pub fn mtb_error_release(error: *mut mtb_error);

    pub fn mtb_device_create_default(error: *mut *mut mtb_error) -> *mut mtb_device;
    pub fn mtb_device_count() -> usize;
    pub fn mtb_device_create_at(index: usize, error: *mut *mut mtb_error) -> *mut mtb_device;
    pub fn mtb_device_retain(device: *mut mtb_device) -> *mut mtb_device;
    pub fn mtb_device_release(device: *mut mtb_device);
    pub fn mtb_device_get_info(device: *const mtb_device, info: *mut mtb_device_info);
    pub fn mtb_device_supports_family(device: *const mtb_device, family: i64) -> bool;
    pub fn mtb_device_current_allocated_size(device: *const mtb_device) -> u64;
    pub fn mtb_device_peer_group_id(device: *const mtb_device) -> u64;
    pub fn mtb_device_get_position(
        device: *const mtb_device,
        position: *mut mtb_device_position,
    );

    pub fn mtb_buffer_create(
        device: *mut mtb_device,
        length: usize,
        mode: mtb_storage_mode,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_buffer;
    pub fn mtb_buffer_create_with_bytes(
        device: *mut mtb_device,
        bytes: *const c_void,
        length: usize,
        mode: mtb_storage_mode,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_buffer;
    pub fn mtb_buffer_create_no_copy(
        device: *mut mtb_device,
        bytes: *mut c_void,
        length: usize,
        mode: mtb_storage_mode,
        deallocator: mtb_deallocator,
        context: *mut c_void,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_buffer;
    pub fn mtb_buffer_retain(buffer: *mut mtb_buffer) -> *mut mtb_buffer;
    pub fn mtb_buffer_release(buffer: *mut mtb_buffer);

    pub fn mtb_page_size() -> usize;

    pub fn mtb_buffer_length(buffer: *const mtb_buffer) -> usize;
    pub fn mtb_buffer_storage_mode(buffer: *const mtb_buffer) -> mtb_storage_mode;
    pub fn mtb_buffer_contents(buffer: *const mtb_buffer) -> *mut c_void;
    pub fn mtb_buffer_gpu_address(buffer: *const mtb_buffer) -> u64;
    pub fn mtb_buffer_device_id(buffer: *const mtb_buffer) -> u64;
    pub fn mtb_buffer_did_modify_range(
        buffer: *mut mtb_buffer,
        offset: usize,
        length: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_buffer_set_label(
        buffer: *mut mtb_buffer,
        label: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_buffer_copy_label(buffer: *const mtb_buffer) -> *mut c_char;

    pub fn mtb_library_create_from_source(
        device: *mut mtb_device,
        source: *const c_char,
        length: usize,
        options: *const mtb_compile_options,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_library;
    pub fn mtb_library_create_from_file(
        device: *mut mtb_device,
        path: *const c_char,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_library;
    pub fn mtb_library_create_from_bytes(
        device: *mut mtb_device,
        bytes: *const c_void,
        length: usize,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_library;
    pub fn mtb_library_retain(library: *mut mtb_library) -> *mut mtb_library;
    pub fn mtb_library_release(library: *mut mtb_library);
    pub fn mtb_library_warnings(library: *const mtb_library) -> *const c_char;
    pub fn mtb_library_function_count(library: *const mtb_library) -> usize;
    pub fn mtb_library_function_name(library: *const mtb_library, index: usize) -> *const c_char;

    pub fn mtb_constant_values_create(error: *mut *mut mtb_error) -> *mut mtb_constant_values;
    pub fn mtb_constant_values_retain(values: *mut mtb_constant_values) -> *mut mtb_constant_values;
    pub fn mtb_constant_values_release(values: *mut mtb_constant_values);
    pub fn mtb_constant_values_set_at(
        values: *mut mtb_constant_values,
        index: usize,
        data_type: mtb_data_type,
        value: *const c_void,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_constant_values_set_named(
        values: *mut mtb_constant_values,
        name: *const c_char,
        data_type: mtb_data_type,
        value: *const c_void,
        error: *mut *mut mtb_error,
    ) -> mtb_status;

    pub fn mtb_function_create(
        library: *mut mtb_library,
        name: *const c_char,
        values: *const mtb_constant_values,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_function;
    pub fn mtb_function_retain(function: *mut mtb_function) -> *mut mtb_function;
    pub fn mtb_function_release(function: *mut mtb_function);
    pub fn mtb_function_name(function: *const mtb_function) -> *const c_char;

    pub fn mtb_pipeline_create(
        function: *mut mtb_function,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_pipeline;
    pub fn mtb_pipeline_retain(pipeline: *mut mtb_pipeline) -> *mut mtb_pipeline;
    pub fn mtb_pipeline_release(pipeline: *mut mtb_pipeline);
    pub fn mtb_pipeline_thread_execution_width(pipeline: *const mtb_pipeline) -> usize;
    pub fn mtb_pipeline_max_total_threads_per_threadgroup(pipeline: *const mtb_pipeline) -> usize;
    pub fn mtb_pipeline_static_threadgroup_memory_length(pipeline: *const mtb_pipeline) -> usize;
    pub fn mtb_pipeline_function_name(pipeline: *const mtb_pipeline) -> *const c_char;
    pub fn mtb_pipeline_argument_count(pipeline: *const mtb_pipeline) -> usize;
    pub fn mtb_pipeline_get_argument(
        pipeline: *const mtb_pipeline,
        position: usize,
        argument: *mut mtb_argument,
    ) -> bool;

    pub fn mtb_command_queue_create(
        device: *mut mtb_device,
        max_command_buffers: usize,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_command_queue;
    pub fn mtb_command_queue_retain(queue: *mut mtb_command_queue) -> *mut mtb_command_queue;
    pub fn mtb_command_queue_release(queue: *mut mtb_command_queue);
    pub fn mtb_command_queue_set_label(
        queue: *mut mtb_command_queue,
        label: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_queue_copy_label(queue: *const mtb_command_queue) -> *mut c_char;
    pub fn mtb_command_queue_is_in_callback(queue: *const mtb_command_queue) -> bool;

    pub fn mtb_command_buffer_create(
        queue: *mut mtb_command_queue,
        references: mtb_references,
        timeout_ns: u64,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_command_buffer;
    pub fn mtb_command_buffer_retain(
        command_buffer: *mut mtb_command_buffer,
    ) -> *mut mtb_command_buffer;
    pub fn mtb_command_buffer_release(command_buffer: *mut mtb_command_buffer);
    pub fn mtb_command_buffer_set_label(
        command_buffer: *mut mtb_command_buffer,
        label: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_buffer_copy_label(command_buffer: *const mtb_command_buffer) -> *mut c_char;
    pub fn mtb_command_buffer_enqueue(
        command_buffer: *mut mtb_command_buffer,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_buffer_add_completed_callback(
        command_buffer: *mut mtb_command_buffer,
        callback: mtb_completion_callback,
        context: *mut c_void,
        destructor: mtb_context_destructor,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_buffer_commit(
        command_buffer: *mut mtb_command_buffer,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_buffer_wait(
        command_buffer: *mut mtb_command_buffer,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_buffer_wait_timeout(
        command_buffer: *mut mtb_command_buffer,
        timeout_ns: u64,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_buffer_get_status(
        command_buffer: *const mtb_command_buffer,
    ) -> mtb_command_buffer_status;
    pub fn mtb_command_buffer_copy_error(
        command_buffer: *const mtb_command_buffer,
    ) -> *mut mtb_error;
    pub fn mtb_command_buffer_get_times(command_buffer: *const mtb_command_buffer) -> mtb_times;
    pub fn mtb_command_buffer_encode_signal(
        command_buffer: *mut mtb_command_buffer,
        event: *mut mtb_event,
        value: u64,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_buffer_encode_wait(
        command_buffer: *mut mtb_command_buffer,
        event: *mut mtb_event,
        value: u64,
        error: *mut *mut mtb_error,
    ) -> mtb_status;

    pub fn mtb_compute_encoder_create(
        command_buffer: *mut mtb_command_buffer,
        dispatch_type: mtb_dispatch_type,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_compute_encoder;
    pub fn mtb_compute_encoder_release(encoder: *mut mtb_compute_encoder);
    pub fn mtb_compute_encoder_set_label(
        encoder: *mut mtb_compute_encoder,
        label: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_set_pipeline(
        encoder: *mut mtb_compute_encoder,
        pipeline: *mut mtb_pipeline,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_set_buffer(
        encoder: *mut mtb_compute_encoder,
        buffer: *mut mtb_buffer,
        offset: usize,
        index: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_set_buffer_offset(
        encoder: *mut mtb_compute_encoder,
        offset: usize,
        index: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_set_bytes(
        encoder: *mut mtb_compute_encoder,
        bytes: *const c_void,
        length: usize,
        index: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_set_threadgroup_memory(
        encoder: *mut mtb_compute_encoder,
        length: usize,
        index: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_dispatch_threads(
        encoder: *mut mtb_compute_encoder,
        threads: mtb_size,
        threads_per_threadgroup: mtb_size,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_dispatch_threadgroups(
        encoder: *mut mtb_compute_encoder,
        threadgroups: mtb_size,
        threads_per_threadgroup: mtb_size,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_memory_barrier(
        encoder: *mut mtb_compute_encoder,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_memory_barrier_buffers(
        encoder: *mut mtb_compute_encoder,
        buffers: *const *mut mtb_buffer,
        count: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_use_buffer(
        encoder: *mut mtb_compute_encoder,
        buffer: *mut mtb_buffer,
        usage: mtb_usage,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_push_debug_group(
        encoder: *mut mtb_compute_encoder,
        name: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_pop_debug_group(
        encoder: *mut mtb_compute_encoder,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_end(
        encoder: *mut mtb_compute_encoder,
        error: *mut *mut mtb_error,
    ) -> mtb_status;

    pub fn mtb_blit_encoder_create(
        command_buffer: *mut mtb_command_buffer,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_blit_encoder;
    pub fn mtb_blit_encoder_release(encoder: *mut mtb_blit_encoder);
    pub fn mtb_blit_encoder_set_label(
        encoder: *mut mtb_blit_encoder,
        label: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_blit_encoder_copy(
        encoder: *mut mtb_blit_encoder,
        source: *mut mtb_buffer,
        source_offset: usize,
        destination: *mut mtb_buffer,
        destination_offset: usize,
        size: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_blit_encoder_fill(
        encoder: *mut mtb_blit_encoder,
        buffer: *mut mtb_buffer,
        offset: usize,
        length: usize,
        value: u8,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_blit_encoder_synchronize(
        encoder: *mut mtb_blit_encoder,
        buffer: *mut mtb_buffer,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_blit_encoder_push_debug_group(
        encoder: *mut mtb_blit_encoder,
        name: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_blit_encoder_pop_debug_group(
        encoder: *mut mtb_blit_encoder,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_blit_encoder_end(
        encoder: *mut mtb_blit_encoder,
        error: *mut *mut mtb_error,
    ) -> mtb_status;

    pub fn mtb_event_create(device: *mut mtb_device, error: *mut *mut mtb_error) -> *mut mtb_event;
    pub fn mtb_event_retain(event: *mut mtb_event) -> *mut mtb_event;
    pub fn mtb_event_release(event: *mut mtb_event);
    pub fn mtb_event_set_label(
        event: *mut mtb_event,
        label: *const c_char,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_event_copy_label(event: *const mtb_event) -> *mut c_char;
    pub fn mtb_event_signaled_value(event: *const mtb_event) -> u64;
    pub fn mtb_event_signal(
        event: *mut mtb_event,
        value: u64,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_event_wait(
        event: *mut mtb_event,
        value: u64,
        timeout_ns: u64,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_event_notify(
        event: *mut mtb_event,
        value: u64,
        callback: mtb_event_callback,
        context: *mut c_void,
        destructor: mtb_context_destructor,
        error: *mut *mut mtb_error,
    ) -> mtb_status;

    pub fn mtb_sanitizer_checks() -> u32;
    pub fn mtb_report_count() -> usize;
    pub fn mtb_report_copy(index: usize) -> *mut mtb_report;
    pub fn mtb_report_free(report: *mut mtb_report);
    pub fn mtb_reports_clear();

    pub fn mtb_profile_copy() -> *mut c_char;
}

mod callback;
mod completion;
mod functions;
mod handle;
mod indirect;
mod memory;
mod mps;
#[cfg(software_metal)]
pub(crate) mod software;
// The mirror is complete, whatever the safe layer uses of it.
#[allow(unused_imports)]
pub use callback::contain_panic;
pub use completion::{
    CompletionHandler, commit_with_handler, complete, transfer_commit_with_handler,
};
pub use functions::*;
pub use handle::{Handle, Object, OwnedError, check, create, text};
pub use indirect::*;
pub use memory::*;
pub use mps::*;
