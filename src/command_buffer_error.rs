//! Metal's reasons for the end of a command buffer (`MTLCommandBufferError`):
//! [`Failure::code`](crate::Failure::code) of an [`Error::CommandBuffer`](crate::Error::CommandBuffer).

/// The system failed (`MTLCommandBufferErrorInternal`).
pub const INTERNAL: i64 = 1;
/// The work took too long (`MTLCommandBufferErrorTimeout`).
pub const TIMEOUT: i64 = 2;
/// A kernel accessed memory that it may not access (`MTLCommandBufferErrorPageFault`).
pub const PAGE_FAULT: i64 = 3;
/// The process may no longer use the GPU (`MTLCommandBufferErrorAccessRevoked`).
pub const ACCESS_REVOKED: i64 = 4;
/// The process may not use the GPU now, as in the background (`MTLCommandBufferErrorNotPermitted`).
pub const NOT_PERMITTED: i64 = 7;
/// There was no memory for the work (`MTLCommandBufferErrorOutOfMemory`).
pub const OUT_OF_MEMORY: i64 = 8;
/// The work used a resource that was gone (`MTLCommandBufferErrorInvalidResource`).
pub const INVALID_RESOURCE: i64 = 9;
/// A limit of memoryless storage was reached (`MTLCommandBufferErrorMemoryless`).
pub const MEMORYLESS: i64 = 10;
/// The device was removed (`MTLCommandBufferErrorDeviceRemoved`).
pub const DEVICE_REMOVED: i64 = 11;
/// A kernel ran out of stack (`MTLCommandBufferErrorStackOverflow`).
pub const STACK_OVERFLOW: i64 = 12;
