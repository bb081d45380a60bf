//! The system's addresses: pages, and what is mapped where.

use std::ffi::c_int;
use std::ptr;

use metal_bridge::sys;

/// Maps new private memory and gives its start.
///
/// # Safety
///
/// With `MAP_FIXED`, nobody uses what is in the range: the call replaces it.
pub(crate) unsafe fn map(
    start: usize,
    length: usize,
    access: c_int,
    flags: c_int,
) -> Option<usize> {
    let start = ptr::with_exposed_provenance_mut(start);
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: the caller's promise; without a fixed address the system takes one where nothing is mapped.
    let mapped = unsafe { libc::mmap(start, length, access, flags, -1, 0) };
    (mapped != libc::MAP_FAILED).then(|| mapped.expose_provenance())
}

/// Reserves addresses: nothing is mapped there until the caller maps something.
pub(crate) fn reserve(length: usize) -> Option<usize> {
    // SAFETY: without a fixed address the system takes one where nothing is mapped.
    unsafe { map(0, length, libc::PROT_NONE, libc::MAP_NORESERVE) }
}

pub(crate) fn page_size() -> usize {
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { sys::mtb_page_size() }
}
