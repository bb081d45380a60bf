//! Pages of the process's address space: memory that devices read and write without a copy, and what there is of the
//! program's own.

use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::ptr;

use super::addresses::Range;
use super::codes::*;
use super::failure::{Failed, Outcome};
use crate::sys;

/// Zeroed memory for CPU and devices. The system has it back when this is dropped; nobody has its addresses before the next
/// [`Range`].
#[derive(Debug)]
pub(super) struct Pages(ManuallyDrop<Range>);

impl Pages {
    pub(super) fn new(length: usize) -> Outcome<Pages> {
        let range = Range::take(length)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range is ours, and nobody uses what is there.
        let mapped = unsafe { map(range.start, range.length, access, libc::MAP_FIXED) };
        if mapped.is_none() {
            let reason = std::io::Error::last_os_error();
            let message = format!("no room for {length} bytes: {reason}");
            return Err(Failed::new(cudaErrorMemoryAllocation, message));
        }
        Ok(Pages(ManuallyDrop::new(range)))
    }

    pub(super) fn start(&self) -> usize {
        self.0.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let flags = libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the range is ours, and nobody uses what is there any more.
        let emptied = unsafe { map(self.0.start, self.0.length, libc::PROT_NONE, flags) };
        // Otherwise memory is left there, and nobody may have the range again.
        if emptied.is_some() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

/// Maps new private memory and gives its start.
///
/// # Safety
///
/// With `MAP_FIXED` nobody uses what is in the range: it goes.
unsafe fn map(start: usize, length: usize, access: c_int, flags: c_int) -> Option<usize> {
    let start = ptr::with_exposed_provenance_mut(start);
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: the caller's promise; without a fixed place the system takes one where nothing is.
    let mapped = unsafe { libc::mmap(start, length, access, flags, -1, 0) };
    (mapped != libc::MAP_FAILED).then(|| mapped.expose_provenance())
}

/// Addresses at which there is nothing, and nothing will be that is not mapped there.
pub(super) fn reserve(length: usize) -> Option<usize> {
    // SAFETY: no fixed place.
    unsafe { map(0, length, libc::PROT_NONE, libc::MAP_NORESERVE) }
}

pub(super) fn page_size() -> usize {
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { sys::mtb_page_size() }
}

/// The whole pages that hold `length` bytes from `start` on: their first address and length. Fails where one of them is not
/// mapped.
pub(super) fn whole_pages(start: usize, length: usize) -> Outcome<(usize, usize)> {
    let page = page_size();
    let first = start - start % page;
    let end = start
        .checked_add(length)
        .and_then(|end| end.checked_next_multiple_of(page));
    let pages = end.map(|end| end - first);
    let mapped = pages.filter(|pages| {
        // Writes nothing that the system would not write anyway, and fails where there is a hole.
        // SAFETY: changes no byte of memory, whatever is there.
        unsafe { libc::msync(ptr::without_provenance_mut(first), *pages, libc::MS_ASYNC) == 0 }
    });
    let pages = mapped.ok_or_else(|| {
        let message = format!("{length} bytes at {start:#x} are not all memory of this process");
        Failed::new(cudaErrorInvalidValue, message)
    })?;
    Ok((first, pages))
}
