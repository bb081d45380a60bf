//! Device pointers as addresses: arithmetic, what is known of them, and no two memories at one.

use std::ffi::c_void;
use std::ptr;

use metal_bridge::cuda::*;

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
