//! Copies within one memory.

use std::ptr;

use metal_cudart::*;

use crate::support::*;

/// Which bytes result is open; the bytes around them stay.
#[test]
fn copies_that_overlap_are_accepted() {
    let memories = [Kind::Device, Kind::Pinned, Kind::Managed].map(|kind| Memory::new(kind, 256));
    let mut host = [0u8; 256];
    let starts = memories.iter().map(|memory| memory.pointer);
    for memory in starts.chain([host.as_mut_ptr().cast()]) {
        let start: [u8; 256] = std::array::from_fn(|byte| byte as u8);
        let (to, from, kind) = (
            memory.wrapping_byte_add(24),
            memory.wrapping_byte_add(16),
            cudaMemcpyDefault,
        );
        let mut end = [0u8; 256];
        // SAFETY: all has 256 bytes.
        unsafe {
            ok(cudaMemcpy(memory, start.as_ptr().cast(), 256, kind));
            ok(cudaMemcpy(to, from, 32, kind));
            ok(cudaMemcpyAsync(to, from, 32, kind, ptr::null_mut()));
            ok(cudaMemcpy(to, to, 32, kind));
            ok(cudaMemcpy2D(to, 64, from, 64, 16, 3, kind));
            ok(cudaMemcpy2D(to, 64, from, 48, 16, 3, kind));
            ok(cudaMemcpy(end.as_mut_ptr().cast(), memory, 256, kind));
        }
        assert_eq!((&end[..24], &end[168..]), (&start[..24], &start[168..]));
    }
}

/// Columns of one pitched memory into others of it: the ranges overlap, the rows do not.
#[test]
fn copies_2d_may_have_ranges_that_overlap() {
    let (mut pointer, mut pitch) = (ptr::null_mut(), 0);
    let mut rows = vec![0u8; 10 * 8];
    // SAFETY: pointers to the results, and rows that lie in the memories.
    unsafe {
        ok(cudaMallocPitch(&mut pointer, &mut pitch, 100, 10));
        assert!(pitch >= 100 && !pointer.is_null());
        ok(cudaMemset2D(pointer, pitch, 5, 100, 10));
        ok(cudaMemset2D(pointer, pitch, 6, 8, 10));
        let columns = pointer.wrapping_byte_add(50);
        let kind = cudaMemcpyDeviceToDevice;
        ok(cudaMemcpy2D(columns, pitch, pointer, pitch, 8, 10, kind));
        let kind = cudaMemcpyDeviceToHost;
        ok(cudaMemcpy2D(
            rows.as_mut_ptr().cast(),
            8,
            columns,
            pitch,
            8,
            10,
            kind,
        ));
        ok(cudaFree(pointer));
    }
    assert_eq!(rows, [6; 80]);
}
