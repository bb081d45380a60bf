//! Pages of the process's address space: memory that devices read and write without a copy, and what there is of the
//! program's own.

mod mappings;

use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::{fs, ops, ptr};

use metal_bridge::sys;

use crate::codes::*;
use crate::memory::addresses::Range;
use crate::runtime::failure::{Failed, Outcome};

/// Zeroed memory for CPU and devices. The system has it back when this is dropped; nobody has its addresses before the next
/// [`Range`].
#[derive(Debug)]
pub(crate) struct Pages(ManuallyDrop<Range>);

impl Pages {
    pub(crate) fn new(length: usize) -> Outcome<Pages> {
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

    pub(crate) fn start(&self) -> usize {
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
pub(crate) fn reserve(length: usize) -> Option<usize> {
    // SAFETY: no fixed place.
    unsafe { map(0, length, libc::PROT_NONE, libc::MAP_NORESERVE) }
}

pub(crate) fn page_size() -> usize {
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { sys::mtb_page_size() }
}

/// What is to be done with memory that the runtime does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Access {
    /// Linux's `MADV_POPULATE_READ` and `MADV_POPULATE_WRITE`, which other systems do not know and refuse.
    fn advice(self) -> c_int {
        match self {
            Access::Read => 22,
            Access::Write => 23,
        }
    }

    /// Whether a line of `/proc/self/maps` allows it.
    fn is_allowed(self, permissions: &str) -> bool {
        permissions.contains(match self {
            Access::Read => 'r',
            Access::Write => 'w',
        })
    }
}

/// From here on it pays to ask which mappings there are before the system is made to look at each page.
const LARGE: usize = 1 << 20;

/// Whether the process may read, or write, all of these pages.
fn permit(first: usize, length: usize, access: Access) -> bool {
    let (range, check) = (first..first + length, |range| permit_all(range, access));
    match length {
        LARGE.. => mappings::check_all_but_present(range, access, check),
        _ => check(range),
    }
}

/// The same for pages of which nothing is known.
fn permit_all(range: ops::Range<usize>, access: Access) -> bool {
    let (start, length) = (ptr::without_provenance_mut(range.start), range.len());
    // Has the system do what the access does first: it fails where that would fault, and changes no byte.
    // SAFETY: changes no byte of memory, whatever is there.
    if unsafe { libc::madvise(start, length, access.advice()) } == 0 {
        return true;
    }
    if std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) {
        return false;
    }
    // It fails with other errors for memory of devices, and on systems that do not know it.
    // SAFETY: writes nothing that the system would not write anyway, and fails where there is a hole.
    let is_mapped = unsafe { libc::msync(start, length, libc::MS_ASYNC) == 0 };
    is_mapped
        && fs::read_to_string("/proc/self/maps")
            .map_or(true, |maps| !is_refused(&maps, range, access))
}

/// Whether a mapping of `maps` that the range touches does not allow the access.
fn is_refused(maps: &str, range: ops::Range<usize>, access: Access) -> bool {
    maps.lines().any(|line| {
        let mut words = line.split(' ');
        let bounds = words.next().and_then(|bounds| bounds.split_once('-'));
        let bounds = bounds.and_then(|(start, end)| {
            let number = |digits| usize::from_str_radix(digits, 16).ok();
            Some(number(start)?..number(end)?)
        });
        let permissions = words.next().unwrap_or_default();
        bounds.is_some_and(|bounds| bounds.start < range.end && range.start < bounds.end)
            && !access.is_allowed(permissions)
    })
}

/// The whole pages that hold `length` bytes from `start` on: their first address and length. Fails where one of them is not
/// mapped, or does not allow the access.
pub(crate) fn whole_pages(start: usize, length: usize, access: Access) -> Outcome<(usize, usize)> {
    let page = page_size();
    let first = start - start % page;
    let end = start
        .checked_add(length)
        .and_then(|end| end.checked_next_multiple_of(page));
    let pages = end.map(|end| end - first);
    let permitted = pages.filter(|pages| permit(first, *pages, access));
    let pages = permitted.ok_or_else(|| {
        let what = match access {
            Access::Read => "read",
            Access::Write => "write",
        };
        let message =
            format!("this process may not {what} all of the {length} bytes at {start:#x}");
        Failed::new(cudaErrorInvalidValue, message)
    })?;
    Ok((first, pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_tell_what_a_range_allows() {
        let maps = "1000-3000 r--p 00000000 00:00 0 a file\n3000-4000 rw-p 00000000 00:00 0\n";
        assert!(!is_refused(maps, 0x1000..0x4000, Access::Read));
        assert!(!is_refused(maps, 0x3000..0x4000, Access::Write));
        assert!(is_refused(maps, 0x2fff..0x4000, Access::Write));
        assert!(is_refused(maps, 0x1000..0x1001, Access::Write));
    }
}
