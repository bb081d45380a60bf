//! The mirror of `native/include/metal_bridge_indirect.h`.

use super::*;

pub const MTB_MAX_INDIRECT_COMMANDS: u32 = 16384;

opaque! {
    mtb_indirect_command_buffer
}

pub type mtb_indirect_command_type = u32;
pub const MTB_INDIRECT_DISPATCH_THREADGROUPS: mtb_indirect_command_type = 32;
pub const MTB_INDIRECT_DISPATCH_THREADS: mtb_indirect_command_type = 64;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_indirect_descriptor {
    pub command_types: u32,
    pub inherits_pipeline: bool,
    pub inherits_buffers: bool,
    pub max_buffers: usize,
    pub max_threadgroup_memories: usize,
}

abi! {
    pub fn mtb_device_supports_indirect_commands(device: *const mtb_device) -> bool;
    pub fn mtb_pipeline_create_for_indirect_commands(
        function: *mut mtb_function,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_pipeline;
    pub fn mtb_pipeline_supports_indirect_commands(pipeline: *const mtb_pipeline) -> bool;
    pub fn mtb_indirect_command_buffer_create(
        device: *mut mtb_device,
        descriptor: *const mtb_indirect_descriptor,
        count: usize,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_indirect_command_buffer;
    pub fn mtb_indirect_command_buffer_retain(
        commands: *mut mtb_indirect_command_buffer,
    ) -> *mut mtb_indirect_command_buffer;
    pub fn mtb_indirect_command_buffer_release(commands: *mut mtb_indirect_command_buffer);
    pub fn mtb_indirect_command_buffer_size(commands: *const mtb_indirect_command_buffer) -> usize;
    pub fn mtb_indirect_command_buffer_gpu_resource_id(
        commands: *const mtb_indirect_command_buffer,
    ) -> u64;
    pub fn mtb_pipeline_gpu_resource_id(pipeline: *const mtb_pipeline) -> u64;
    pub fn mtb_indirect_command_set_pipeline(
        commands: *mut mtb_indirect_command_buffer,
        index: usize,
        pipeline: *mut mtb_pipeline,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_indirect_command_set_buffer(
        commands: *mut mtb_indirect_command_buffer,
        index: usize,
        buffer: *mut mtb_buffer,
        offset: usize,
        binding: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_indirect_command_set_threadgroup_memory(
        commands: *mut mtb_indirect_command_buffer,
        index: usize,
        length: usize,
        binding: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_indirect_command_dispatch_threadgroups(
        commands: *mut mtb_indirect_command_buffer,
        index: usize,
        threadgroups: mtb_size,
        threads_per_threadgroup: mtb_size,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_indirect_command_dispatch_threads(
        commands: *mut mtb_indirect_command_buffer,
        index: usize,
        threads: mtb_size,
        threads_per_threadgroup: mtb_size,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_indirect_command_set_barrier(
        commands: *mut mtb_indirect_command_buffer,
        index: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_indirect_command_clear_barrier(
        commands: *mut mtb_indirect_command_buffer,
        index: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_indirect_command_buffer_reset(
        commands: *mut mtb_indirect_command_buffer,
        first: usize,
        count: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_execute_commands(
        encoder: *mut mtb_compute_encoder,
        commands: *mut mtb_indirect_command_buffer,
        first: usize,
        count: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_execute_commands_indirect(
        encoder: *mut mtb_compute_encoder,
        commands: *mut mtb_indirect_command_buffer,
        buffer: *mut mtb_buffer,
        offset: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_use_commands(
        encoder: *mut mtb_compute_encoder,
        commands: *mut mtb_indirect_command_buffer,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_compute_encoder_dispatch_threadgroups_indirect(
        encoder: *mut mtb_compute_encoder,
        buffer: *mut mtb_buffer,
        offset: usize,
        threads_per_threadgroup: mtb_size,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_blit_encoder_reset_commands(
        encoder: *mut mtb_blit_encoder,
        commands: *mut mtb_indirect_command_buffer,
        first: usize,
        count: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_blit_encoder_optimize_commands(
        encoder: *mut mtb_blit_encoder,
        commands: *mut mtb_indirect_command_buffer,
        first: usize,
        count: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
}
