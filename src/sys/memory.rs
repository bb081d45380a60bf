//! The mirror of `native/include/metal_bridge_memory.h`.

use super::*;

pub const MTB_TRANSFER_KIND_COUNT: u32 = 11;

opaque! {
    mtb_memory
    mtb_transfer
    mtb_arena
    mtb_residency_set
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_memory_options {
    pub budget: u64,
    pub staging_limit: u64,
    pub cache_limit: u64,
    pub idle_ns: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_place {
    pub buffer: *mut mtb_buffer,
    pub offset: usize,
    pub bytes: *mut c_void,
    pub pitch: usize,
}

pub type mtb_host_memory = u32;
pub const MTB_HOST_COPIED: mtb_host_memory = 0;
pub const MTB_HOST_BORROWED: mtb_host_memory = 1;

pub type mtb_host_function = Option<unsafe extern "C" fn(context: *mut c_void)>;

pub type mtb_transfer_kind = u32;
pub const MTB_TRANSFER_HOST_TO_SHARED: mtb_transfer_kind = 0;
pub const MTB_TRANSFER_HOST_TO_MANAGED: mtb_transfer_kind = 1;
pub const MTB_TRANSFER_HOST_TO_PRIVATE: mtb_transfer_kind = 2;
pub const MTB_TRANSFER_SHARED_TO_HOST: mtb_transfer_kind = 3;
pub const MTB_TRANSFER_MANAGED_TO_HOST: mtb_transfer_kind = 4;
pub const MTB_TRANSFER_PRIVATE_TO_HOST: mtb_transfer_kind = 5;
pub const MTB_TRANSFER_HOST_TO_HOST: mtb_transfer_kind = 6;
pub const MTB_TRANSFER_BUFFER_TO_BUFFER: mtb_transfer_kind = 7;
pub const MTB_TRANSFER_PEER: mtb_transfer_kind = 8;
pub const MTB_TRANSFER_PEER_STAGED: mtb_transfer_kind = 9;
pub const MTB_TRANSFER_FILL: mtb_transfer_kind = 10;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct mtb_transfer_statistics {
    pub count: u64,
    pub bytes: u64,
    pub nanoseconds: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct mtb_pair_statistics {
    pub other_registry_id: u64,
    pub is_from_other: bool,
    pub kind: mtb_transfer_kind,
    pub transfers: mtb_transfer_statistics,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct mtb_pool_statistics {
    pub hits: u64,
    pub misses: u64,
    pub trimmed: u64,
    pub bytes_in_use: u64,
    pub bytes_kept: u64,
    pub high_water_bytes: u64,
    pub objects_in_use: u64,
    pub objects_kept: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct mtb_memory_statistics {
    pub transfers: [mtb_transfer_statistics; 11],
    pub staging: mtb_pool_statistics,
    pub buffers: mtb_pool_statistics,
    pub queues: mtb_pool_statistics,
    pub held: u64,
    pub budget: u64,
    pub command_buffers: u64,
}

abi! {
    pub fn mtb_memory_create(
        device: *mut mtb_device,
        options: *const mtb_memory_options,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_memory;
    pub fn mtb_memory_retain(memory: *mut mtb_memory) -> *mut mtb_memory;
    pub fn mtb_memory_release(memory: *mut mtb_memory);
    pub fn mtb_memory_allocate(
        memory: *mut mtb_memory,
        length: usize,
        mode: mtb_storage_mode,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_buffer;
    pub fn mtb_memory_acquire_queue(
        memory: *mut mtb_memory,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_command_queue;
    pub fn mtb_memory_trim(memory: *mut mtb_memory, idle_ns: u64) -> u64;

    pub fn mtb_transfer_create(
        memory: *mut mtb_memory,
        queue: *mut mtb_command_queue,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_transfer;
    pub fn mtb_transfer_release(transfer: *mut mtb_transfer);
    pub fn mtb_transfer_copy(
        transfer: *mut mtb_transfer,
        source: mtb_place,
        destination: mtb_place,
        width: usize,
        height: usize,
        host: mtb_host_memory,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_transfer_fill(
        transfer: *mut mtb_transfer,
        destination: mtb_place,
        width: usize,
        height: usize,
        pattern: *const c_void,
        pattern_size: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_transfer_commit(
        transfer: *mut mtb_transfer,
        callback: mtb_completion_callback,
        context: *mut c_void,
        destructor: mtb_context_destructor,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_command_buffer;
    pub fn mtb_transfer_commit_timeout(
        transfer: *mut mtb_transfer,
        timeout_ns: u64,
        callback: mtb_completion_callback,
        context: *mut c_void,
        destructor: mtb_context_destructor,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_command_buffer;
    pub fn mtb_transfer_run(
        transfer: *mut mtb_transfer,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_queue_call_host_function(
        queue: *mut mtb_command_queue,
        function: mtb_host_function,
        callback: mtb_completion_callback,
        context: *mut c_void,
        destructor: mtb_context_destructor,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_command_buffer;

    pub fn mtb_transfer_kind_name(kind: mtb_transfer_kind) -> *const c_char;
    pub fn mtb_memory_get_statistics(
        memory: *const mtb_memory,
        statistics: *mut mtb_memory_statistics,
    );
    pub fn mtb_memory_get_pair_statistics(
        memory: *const mtb_memory,
        pairs: *mut mtb_pair_statistics,
        capacity: usize,
    ) -> usize;
    pub fn mtb_memory_set_peer_access(
        memory: *mut mtb_memory,
        peer: *mut mtb_device,
        has_access: bool,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_memory_reset_statistics(memory: *mut mtb_memory);
    pub fn mtb_memory_copy_report(memory: *const mtb_memory) -> *mut c_char;

    pub fn mtb_arena_create(
        memory: *mut mtb_memory,
        mode: mtb_storage_mode,
        block_bytes: usize,
        limit: usize,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_arena;
    pub fn mtb_arena_retain(arena: *mut mtb_arena) -> *mut mtb_arena;
    pub fn mtb_arena_release(arena: *mut mtb_arena);
    pub fn mtb_arena_allocate(
        arena: *mut mtb_arena,
        length: usize,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_buffer;
    pub fn mtb_arena_trim(arena: *mut mtb_arena) -> u64;
    pub fn mtb_arena_get_statistics(arena: *const mtb_arena, statistics: *mut mtb_pool_statistics);

    pub fn mtb_device_supports_residency_sets(device: *const mtb_device) -> bool;
    pub fn mtb_residency_set_create(
        device: *mut mtb_device,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_residency_set;
    pub fn mtb_residency_set_retain(set: *mut mtb_residency_set) -> *mut mtb_residency_set;
    pub fn mtb_residency_set_release(set: *mut mtb_residency_set);
    pub fn mtb_residency_set_add_buffer(
        set: *mut mtb_residency_set,
        buffer: *mut mtb_buffer,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_residency_set_remove_buffer(
        set: *mut mtb_residency_set,
        buffer: *mut mtb_buffer,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_residency_set_commit(
        set: *mut mtb_residency_set,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_residency_set_request(
        set: *mut mtb_residency_set,
        keep_alive_ns: u64,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_residency_set_end(
        set: *mut mtb_residency_set,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_queue_add_residency_set(
        queue: *mut mtb_command_queue,
        set: *mut mtb_residency_set,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_command_queue_remove_residency_set(
        queue: *mut mtb_command_queue,
        set: *mut mtb_residency_set,
        error: *mut *mut mtb_error,
    ) -> mtb_status;
    pub fn mtb_residency_set_allocated_size(set: *const mtb_residency_set) -> u64;
}
