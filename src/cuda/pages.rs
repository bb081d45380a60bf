//! Pages of the process's address space: memory that devices read and write without a copy, and addresses that stand for
//! memory which only a device can touch.

use std::ptr::{self, NonNull};

use super::codes::*;
use super::failure::{Failed, Outcome};
use crate::sys;

/// Pages that were mapped here, and are unmapped when this is dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is the process's: no thread has a part in it.
unsafe impl Send for Mapping {}
// SAFETY: this gives out addresses only; who uses the bytes sees to their order.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Zeroed memory for CPU and devices.
    pub(super) fn of_memory(length: usize) -> Outcome<Mapping> {
        Mapping::map(length, libc::PROT_READ | libc::PROT_WRITE, 0)
    }

    /// Addresses that nothing else in the process has, and that fault where the CPU touches them.
    pub(super) fn of_addresses(length: usize) -> Outcome<Mapping> {
        Mapping::map(length, libc::PROT_NONE, libc::MAP_NORESERVE)
    }

    fn map(length: usize, protection: i32, flags: i32) -> Outcome<Mapping> {
        let length = round_up(length)?;
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANON;
        // SAFETY: a new mapping where the system wants it touches none that is there.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let reason = std::io::Error::last_os_error();
            let message = format!("no room for {length} bytes: {reason}");
            return Err(Failed::new(cudaErrorMemoryAllocation, message));
        }
        let start = NonNull::new(start.cast()).expect("the system maps nothing at NULL");
        Ok(Mapping { start, length })
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, with this length, and unmapped by nobody else.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Whole pages.
fn round_up(length: usize) -> Outcome<usize> {
    let rounded = length.checked_next_multiple_of(page_size());
    rounded.ok_or_else(|| {
        let message = format!("{length} bytes are more than there are addresses");
        Failed::new(cudaErrorMemoryAllocation, message)
    })
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
    let unmapped = || {
        let message = format!("{length} bytes at {start:#x} are not all memory of this process");
        Failed::new(cudaErrorInvalidValue, message)
    };
    let pages = end.ok_or_else(unmapped)? - first;
    // A byte for each page of the system's, which may be smaller than what Metal calls a page.
    // SAFETY: asks for a number.
    let system_page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(page);
    let mut states = vec![0; pages.div_ceil(system_page)];
    // SAFETY: looks at the page tables only, and writes as many states as there are pages.
    let answer = unsafe {
        libc::mincore(
            ptr::without_provenance_mut(first),
            pages,
            states.as_mut_ptr(),
        )
    };
    if answer != 0 {
        return Err(unmapped());
    }
    Ok((first, pages))
}
