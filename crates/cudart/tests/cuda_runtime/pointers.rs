//! Device pointers as addresses: arithmetic, what is known of them, and no two memories at one.

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;
use std::ptr;

use metal_bridge_test_support::in_child_with;
use metal_cudart::*;

use crate::support::*;

#[test]
fn pointers_tell_what_they_point_to() {
    let null = ptr::null_mut();
    for (kind, memory_type) in [
        (Kind::Device, cudaMemoryTypeDevice),
        (Kind::Pinned, cudaMemoryTypeHost),
        (Kind::Managed, cudaMemoryTypeManaged),
    ] {
        let memory = Memory::new(kind, 1000);
        for offset in [0, 1, 999] {
            let pointer = memory.at(offset);
            let found = attributes(pointer);
            let host = if kind == Kind::Device { null } else { pointer };
            assert_eq!(
                (
                    found.r#type,
                    found.device,
                    found.devicePointer,
                    found.hostPointer
                ),
                (memory_type, 0, pointer, host)
            );
        }
        let end = attributes(memory.at(1000));
        assert_eq!(end.r#type, cudaMemoryTypeUnregistered);
    }
    let mut local = 5u32;
    let local: *mut c_void = ptr::from_mut(&mut local).cast();
    let found = attributes(local);
    assert_eq!(
        (found.r#type, found.device),
        (cudaMemoryTypeUnregistered, cudaInvalidDeviceId)
    );
    assert_eq!((found.devicePointer, found.hostPointer), (null, local));
    // SAFETY: refused.
    expect(cudaErrorInvalidValue, unsafe {
        cudaPointerGetAttributes(ptr::null_mut(), local)
    });
}

#[test]
fn addresses_are_aligned_and_those_of_nobody_else() {
    let memories: Vec<Memory> = (0..64).map(|i| Memory::device(1 + i * 97)).collect();
    let mut ranges: Vec<_> = memories
        .iter()
        .enumerate()
        .map(|(i, memory)| (memory.pointer.addr(), 1 + i * 97))
        .collect();
    ranges.sort_unstable();
    assert!(ranges.iter().all(|(start, _)| start % 256 == 0));
    assert!(
        ranges
            .windows(2)
            .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
    );
    // The next byte after one memory is not the next memory's, however near that is.
    for (i, memory) in memories.iter().enumerate() {
        // SAFETY: refused, as it goes past the end.
        let code = unsafe { cudaMemset(memory.pointer, 0, 2 + i * 97) };
        expect(cudaErrorInvalidValue, code);
    }
}

const LENGTH: usize = 3000;

/// Checks that every call refuses this memory, which was the runtime's or is nobody's, and touches none of it.
fn have_refused(pointer: *mut c_void, length: usize) {
    let (device, pinned) = (Memory::device(LENGTH), Memory::pinned(LENGTH));
    let mut local = vec![7u8; LENGTH];
    device.write(0, &local);
    pinned.bytes(LENGTH).fill(7);
    let known = [device.pointer, pinned.pointer, local.as_mut_ptr().cast()];
    let (bad, stream) = (cudaErrorInvalidValue, ptr::null_mut());
    let (mut flags, mut address, mut found) = (0, 0, ptr::null_mut());
    let rows = length / 2;
    // SAFETY: memory of that length, and pointers to results; the rest is what the calls are to check.
    unsafe {
        for (other, kind) in known.into_iter().flat_map(|p| (0..=4).map(move |k| (p, k))) {
            expect(bad, cudaMemcpy(pointer, other, length, kind));
            expect(bad, cudaMemcpy(other, pointer, length, kind));
            expect(bad, cudaMemcpyAsync(pointer, other, length, kind, stream));
            expect(bad, cudaMemcpyAsync(other, pointer, length, kind, stream));
            expect(bad, cudaMemcpy2D(pointer, rows, other, rows, rows, 2, kind));
            let code = cudaMemcpy2DAsync(other, rows, pointer, rows, rows, 2, kind, stream);
            expect(bad, code);
        }
        expect(bad, cudaMemcpyPeer(pointer, 0, device.pointer, 0, length));
        expect(bad, cudaMemcpyPeer(device.pointer, 0, pointer, 0, length));
        let code = cudaMemcpyPeerAsync(pointer, 0, device.pointer, 0, length, stream);
        expect(bad, code);
        expect(bad, cudaMemset(pointer, 1, length));
        expect(bad, cudaMemsetAsync(pointer, 1, length, stream));
        expect(bad, cudaMemset2D(pointer, rows, 1, rows, 2));
        expect(bad, cudaMemset2DAsync(pointer, rows, 1, rows, 2, stream));
        expect(bad, cudaFree(pointer));
        expect(bad, cudaFreeAsync(pointer, stream));
        expect(bad, cudaFreeHost(pointer));
        expect(bad, cudaHostRegister(pointer, length, 0));
        let code = cudaHostUnregister(pointer);
        expect(cudaErrorHostMemoryNotRegistered, code);
        expect(bad, cudaHostGetDevicePointer(&mut found, pointer, 0));
        expect(bad, cudaHostGetFlags(&mut flags, pointer));
        expect(bad, cudaMemPrefetchAsync(pointer, length, 0, stream));
        expect(bad, cudaMemAdvise(pointer, length, 1, 0));
        expect(bad, cudaMetalGetGpuAddress(&mut address, pointer));
        ok(cudaDeviceSynchronize());
    }
    assert_eq!(attributes(pointer).r#type, cudaMemoryTypeUnregistered);
    for bytes in [&*device.read(0, LENGTH), pinned.bytes(LENGTH), &*local] {
        assert_eq!(bytes, [7; LENGTH]);
    }
}

/// In a process of its own: other tests' memory comes to the same addresses in time.
#[test]
fn memory_that_was_freed_is_refused() {
    in_child_with("pointers::memory_that_was_freed_is_refused", &[], || {
        for kind in [Kind::Device, Kind::Pinned, Kind::Managed] {
            let memory = Memory::new(kind, LENGTH);
            let (start, middle) = (memory.pointer, memory.at(100));
            drop(memory);
            // Neither what the runtime nor what the process allocates next is there.
            let others = [0; 50].map(|_| Memory::new(kind, LENGTH));
            let vectors = [0; 50].map(|_| vec![0u8; 1 << 20]);
            have_refused(start, LENGTH);
            have_refused(middle, 2);
            drop((others, vectors));
        }
    });
}

/// The same for addresses just behind memory that is in use.
#[test]
fn the_end_of_memory_does_not_start_other_memory() {
    let test = "pointers::the_end_of_memory_does_not_start_other_memory";
    in_child_with(test, &[], || {
        for kind in [Kind::Device, Kind::Pinned, Kind::Managed] {
            // Whole pages of any system.
            let memories = [0; 20].map(|_| Memory::new(kind, 1 << 16));
            for memory in &memories {
                have_refused(memory.at(1 << 16), 2);
            }
        }
    });
}

#[test]
fn unmapped_addresses_are_refused() {
    let test = "pointers::unmapped_addresses_are_refused";
    in_child_with(test, &[], || {
        let length = 1 << 16;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        // SAFETY: a new mapping, of which the second half goes again.
        let mapped = unsafe {
            let start = libc::mmap(ptr::null_mut(), 2 * length, access, flags, -1, 0);
            assert_eq!(libc::munmap(start.wrapping_byte_add(length), length), 0);
            start
        };
        let hole = mapped.wrapping_byte_add(length);
        have_refused(hole, LENGTH);
        have_refused(hole.wrapping_byte_sub(10), LENGTH);
        for address in [8, 0x1234, 1 << 63, usize::MAX - LENGTH] {
            have_refused(ptr::without_provenance_mut(address), LENGTH);
        }
    });
}

/// Pages of this length, of the process, with this access.
fn pages(length: usize, access: c_int) -> *mut c_void {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: a new mapping.
    let start = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    start
}

/// Lengths that the CPU copies itself, that are staged, and that a device uses in place.
const LENGTHS: [usize; 3] = [100, LENGTH, 1 << 20];

#[test]
fn pages_without_write_permission_are_not_written() {
    for length in LENGTHS {
        let (device, pinned) = (Memory::device(length), Memory::pinned(length));
        let read_only = pages(length, libc::PROT_READ);
        let (bad, stream) = (cudaErrorInvalidValue, ptr::null_mut());
        // SAFETY: memory of that length; the rest is what the calls are to check.
        unsafe {
            for other in [device.pointer, pinned.pointer] {
                let kind = cudaMemcpyDefault;
                expect(bad, cudaMemcpy(read_only, other, length, kind));
                expect(bad, cudaMemcpyAsync(read_only, other, length, kind, stream));
                let (rows, height) = (length / 2, 2);
                let code = cudaMemcpy2D(read_only, rows, other, rows, rows, height, kind);
                expect(bad, code);
                // Reading the pages is allowed.
                ok(cudaMemcpy(other, read_only, length, kind));
            }
            expect(bad, cudaHostRegister(read_only, length, 0));
            ok(cudaHostRegister(
                read_only,
                length,
                cudaHostRegisterReadOnly,
            ));
            let code = cudaMemcpy(read_only, device.pointer, length, cudaMemcpyDefault);
            expect(bad, code);
            expect(bad, cudaMemset(read_only, 1, length));
            ok(cudaMemcpy(
                device.pointer,
                read_only,
                length,
                cudaMemcpyDefault,
            ));
            ok(cudaHostUnregister(read_only));
            assert_eq!(libc::munmap(read_only, length), 0);
        }
        assert_eq!(device.read(0, length), vec![0; length]);
    }
}

#[test]
fn pages_past_a_mapped_files_end_are_not_touched() {
    let page = metal_bridge::page_size();
    let file = tempfile::tempfile().unwrap();
    file.set_len(page as u64).unwrap();
    let device = Memory::device(page);
    for sharing in [libc::MAP_PRIVATE, libc::MAP_SHARED] {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (bad, kind) = (cudaErrorInvalidValue, cudaMemcpyDefault);
        // SAFETY: a new mapping; the rest is what the calls are to check.
        unsafe {
            let start = libc::mmap(
                ptr::null_mut(),
                2 * page,
                access,
                sharing,
                file.as_raw_fd(),
                0,
            );
            assert_ne!(start, libc::MAP_FAILED);
            let past = start.wrapping_byte_add(page);
            expect(bad, cudaMemcpy(device.pointer, past, page, kind));
            expect(bad, cudaMemcpy(past, device.pointer, page, kind));
            ok(cudaMemcpy(device.pointer, start, page, kind));
            ok(cudaMemcpy(start, device.pointer, page, kind));
            assert_eq!(libc::munmap(start, 2 * page), 0);
        }
    }
}

/// Linux's `MADV_GUARD_INSTALL`: accesses to the page fault, and the mapping stays as it is.
const GUARD: c_int = 102;

/// Changes a page, and returns whether that worked. The number is the descriptor of a file of one page.
type Change = fn(*mut c_void, usize, c_int) -> bool;

/// The range is so large that the runtime asks for its mappings and present pages; all pages but one are accessible.
#[test]
fn one_page_that_is_not_accessible_is_seen_among_many() {
    let page = metal_bridge::page_size();
    let length = 5 << 20;
    let device = Memory::device(length);
    let file = tempfile::tempfile().unwrap();
    file.set_len(page as u64).unwrap();
    let all = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: each changes pages of the test's own mapping, which nobody else uses.
    let changes: [(&str, bool, Change); 5] = [
        ("read-only", true, |at, page, _| unsafe {
            libc::mprotect(at, page, libc::PROT_READ) == 0
        }),
        ("hidden", false, |at, page, _| unsafe {
            libc::mprotect(at, page, libc::PROT_NONE) == 0
        }),
        ("a hole", false, |at, page, _| unsafe {
            libc::munmap(at, page) == 0
        }),
        ("a guard", false, |at, page, _| unsafe {
            libc::madvise(at, page, GUARD) == 0
        }),
        ("past a file's end", false, |at, page, file| unsafe {
            let (access, flags) = (libc::PROT_READ, libc::MAP_SHARED | libc::MAP_FIXED);
            libc::mmap(at, page, access, flags, file, page as libc::off_t) == at
        }),
    ];
    let (bad, kind) = (cudaErrorInvalidValue, cudaMemcpyDefault);
    for offset in [0, length / 2 / page * page, length - page] {
        for (what, is_readable, change) in &changes {
            let start = pages(length, all);
            // SAFETY: memory of that length; the rest is what the calls are to check.
            unsafe {
                start.cast::<u8>().write_bytes(1, length);
                ok(cudaMemcpy(device.pointer, start, length, kind));
                ok(cudaMemcpy(start, device.pointer, length, kind));
                if !change(start.wrapping_byte_add(offset), page, file.as_raw_fd()) {
                    assert_eq!(*what, "a guard", "the system has it");
                    continue;
                }
                expect(bad, cudaMemcpy(start, device.pointer, length, kind));
                let read = cudaMemcpy(device.pointer, start, length, kind);
                expect(if *is_readable { cudaSuccess } else { bad }, read);
                assert_eq!(libc::munmap(start, length), 0);
            }
        }
    }
}

#[test]
fn pages_without_read_permission_are_not_read() {
    for length in LENGTHS {
        let device = Memory::device(length);
        let hidden = pages(length, libc::PROT_NONE);
        let (bad, kind) = (cudaErrorInvalidValue, cudaMemcpyDefault);
        // SAFETY: memory of that length; the rest is what the calls are to check.
        unsafe {
            expect(bad, cudaMemcpy(device.pointer, hidden, length, kind));
            expect(bad, cudaMemcpy(hidden, device.pointer, length, kind));
            expect(
                bad,
                cudaHostRegister(hidden, length, cudaHostRegisterReadOnly),
            );
            assert_eq!(libc::munmap(hidden, length), 0);
        }
    }
}
