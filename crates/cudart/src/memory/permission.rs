//! Whether the process may read or write memory that the runtime does not know.

use std::{fs, ops, ptr};

use crate::codes::cudaErrorInvalidValue;
use crate::memory::access::Access;
use crate::memory::mappings;
use crate::memory::system::page_size;
use crate::runtime::failure::{Failed, Outcome};

/// From this length on, asking for the mappings first is faster than making the system look at each page.
const LARGE: usize = 1 << 20;

/// Whether the process may read, or write, all of these pages.
fn permit(first: usize, length: usize, access: Access) -> bool {
    let (range, check) = (first..first + length, |range| permit_all(range, access));
    match length {
        LARGE.. => mappings::check_all_but_present(range, access, check),
        _ => check(range),
    }
}

/// The same, by making the system look at each page.
fn permit_all(range: ops::Range<usize>, access: Access) -> bool {
    let (start, length) = (ptr::without_provenance_mut(range.start), range.len());
    // Makes the system do what the access does first: the call fails if the access would fault, and changes no byte.
    // SAFETY: changes no byte of memory, whatever is there.
    if unsafe { libc::madvise(start, length, access.advice()) } == 0 {
        return true;
    }
    if std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) {
        return false;
    }
    // The call fails with other errors for memory of devices, and on systems that do not know it.
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

/// The whole pages that hold `length` bytes from `start` on: their first address and length. Fails if one of them is
/// not mapped, or does not allow the access.
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
