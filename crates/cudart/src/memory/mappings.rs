//! Finds pages that need no closer look: Linux tells quickly which mapping holds an address, and which of its pages
//! are present. `MADV_POPULATE_READ` takes forty times as long.

use std::ops::Range;

use crate::memory::access::Access;

/// Whether all of `range` allows the access. `check` tells this of a part of `range`. Pages of the process's own memory
/// that are present, in mappings that allow the access, need no check.
#[cfg(target_os = "linux")]
pub(crate) fn check_all_but_present(
    range: Range<usize>,
    access: Access,
    check: impl Fn(Range<usize>) -> bool,
) -> bool {
    let Some(query) = linux::Query::new() else {
        return check(range);
    };
    let mut start = range.start;
    while start < range.end {
        let Some(mapping) = query.mapping_at(start) else {
            return check(start..range.end);
        };
        let part = start..mapping.end.min(range.end);
        start = part.end;
        let is_permitted = if mapping.is_own_memory && mapping.allows(access) {
            linux::absent(part).all(&check)
        } else {
            check(part)
        };
        if !is_permitted {
            return false;
        }
    }
    true
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn check_all_but_present(
    range: Range<usize>,
    _access: Access,
    check: impl Fn(Range<usize>) -> bool,
) -> bool {
    check(range)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::ops::Range;
    use std::os::fd::AsRawFd;
    use std::{mem, ptr};

    use crate::memory::access::Access;
    use crate::memory::system::page_size;

    /// The number of pages that one question to the system is about.
    const AT_ONCE: usize = 4096;

    /// Linux's `struct procmap_query`.
    #[repr(C)]
    #[derive(Default)]
    struct ProcmapQuery {
        size: u64,
        query_flags: u64,
        query_addr: u64,
        vma_start: u64,
        vma_end: u64,
        vma_flags: u64,
        vma_page_size: u64,
        vma_offset: u64,
        inode: u64,
        dev_major: u32,
        dev_minor: u32,
        vma_name_size: u32,
        build_id_size: u32,
        vma_name_addr: u64,
        build_id_addr: u64,
    }

    /// Linux's `PROCMAP_QUERY`: `_IOWR('f', 17, struct procmap_query)`.
    const PROCMAP_QUERY: u64 =
        3 << 30 | (mem::size_of::<ProcmapQuery>() as u64) << 16 | (b'f' as u64) << 8 | 17;
    const READABLE: u64 = 1;
    const WRITABLE: u64 = 2;

    pub(crate) struct Mapping {
        pub(crate) end: usize,
        /// Whether the memory belongs to no file and no device.
        pub(crate) is_own_memory: bool,
        flags: u64,
    }

    impl Mapping {
        pub(crate) fn allows(&self, access: Access) -> bool {
            let flag = match access {
                Access::Read => READABLE,
                Access::Write => WRITABLE,
            };
            self.flags & flag != 0
        }
    }

    /// The process's mappings, if the system answers questions about them.
    pub(crate) struct Query(File);

    impl Query {
        // Opened each time: other code could close a file that is kept, and in a child of `fork` it would tell of the
        // parent.
        pub(crate) fn new() -> Option<Query> {
            File::open("/proc/self/maps").ok().map(Query)
        }

        /// The mapping that holds `address`.
        pub(crate) fn mapping_at(&self, address: usize) -> Option<Mapping> {
            let mut name = [0u8; 16];
            let mut query = ProcmapQuery {
                size: mem::size_of::<ProcmapQuery>() as u64,
                query_addr: address as u64,
                vma_name_size: name.len() as u32,
                vma_name_addr: ptr::from_mut(&mut name).expose_provenance() as u64,
                ..ProcmapQuery::default()
            };
            // SAFETY: the request takes this structure, which names a buffer and its size.
            let answered =
                unsafe { libc::ioctl(self.0.as_raw_fd(), PROCMAP_QUERY as _, &raw mut query) };
            // A name that is too long is an error; only files and devices have such names.
            (answered == 0).then(|| Mapping {
                end: query.vma_end as usize,
                is_own_memory: query.inode == 0 && is_of_memory(&name),
                flags: query.vma_flags,
            })
        }
    }

    /// Other names are those of mappings that the system makes in every process.
    fn is_of_memory(name: &[u8]) -> bool {
        name[0] == 0 || name.starts_with(b"[heap]") || name.starts_with(b"[stack]")
    }

    /// The parts of `range`, which lies in one mapping, that have pages which are not present.
    pub(crate) fn absent(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let bytes = AT_ONCE * page_size();
        let parts = range.clone().step_by(bytes);
        let parts = parts.map(move |start| start..range.end.min(start + bytes));
        parts.filter(|part| !are_present(part))
    }

    /// Whether all pages of `part` are present; it has at most [`AT_ONCE`].
    fn are_present(part: &Range<usize>) -> bool {
        let mut pages = [0u8; AT_ONCE];
        let start = ptr::without_provenance_mut(part.start);
        // SAFETY: writes a byte for each page, and there are no more pages than bytes.
        let asked = unsafe { libc::mincore(start, part.len(), pages.as_mut_ptr()) };
        let count = part.len().div_ceil(page_size());
        asked == 0 && pages[..count].iter().all(|page| page & 1 != 0)
    }
}
