//! Copies and fills: every pair of memories, offsets and pitches, and which of them wait.

use std::ffi::c_void;
use std::ptr;

use metal_bridge_test_support::in_child;
use metal_cudart::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::support::*;

const LENGTH: usize = 4000;

/// One side of a copy: memory of the runtime's, or a vector.
enum Side {
    Known(Memory),
    Pageable(Vec<u8>),
}

impl Side {
    fn all() -> Vec<Side> {
        let known = [Kind::Device, Kind::Pinned, Kind::Managed];
        let known = known.map(|kind| Side::Known(Memory::new(kind, LENGTH)));
        known
            .into_iter()
            .chain([Side::Pageable(vec![0; LENGTH])])
            .collect()
    }

    fn at(&mut self, offset: usize) -> *mut c_void {
        match self {
            Side::Known(memory) => memory.at(offset),
            Side::Pageable(bytes) => bytes[offset..].as_mut_ptr().cast(),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        match self {
            Side::Known(memory) => memory.write(0, bytes),
            Side::Pageable(stored) => stored.copy_from_slice(bytes),
        }
    }

    fn read(&self) -> Vec<u8> {
        match self {
            Side::Known(memory) => memory.read(0, LENGTH),
            Side::Pageable(bytes) => bytes.clone(),
        }
    }
}

fn random_bytes(random: &mut SmallRng) -> Vec<u8> {
    (0..LENGTH).map(|_| random.random()).collect()
}

/// Every pair of memories, any offsets and lengths, flat and in rows, synchronous and not, against a copy in a vector.
#[test]
fn copies_1d_and_2d_between_memories_match_a_model() {
    let mut random = SmallRng::seed_from_u64(1);
    let (mut sources, mut destinations) = (Side::all(), Side::all());
    let stream = stream(cudaStreamNonBlocking);
    for round in 0..600 {
        let source = &mut sources[round % 4];
        let destination = &mut destinations[round / 4 % 4];
        let (from, mut to) = (random_bytes(&mut random), random_bytes(&mut random));
        source.write(&from);
        destination.write(&to);
        let height = random.random_range(1..8);
        let pitches = [random.random_range(1..120), random.random_range(1..120)];
        let width = random.random_range(1..=pitches[0].min(pitches[1]));
        let offsets = [random.random_range(0..500), random.random_range(0..500)];
        for row in 0..height {
            let (read, written) = (offsets[0] + row * pitches[0], offsets[1] + row * pitches[1]);
            to[written..written + width].copy_from_slice(&from[read..read + width]);
        }
        let (read, written) = (source.at(offsets[0]), destination.at(offsets[1]));
        let [pitch, written_pitch] = pitches;
        let kind = cudaMemcpyDefault;
        // SAFETY: the rows lie in both sides.
        unsafe {
            match (random.random_bool(0.5), height) {
                (true, 1) => ok(cudaMemcpy(written, read, width, kind)),
                (false, 1) => ok(cudaMemcpyAsync(written, read, width, kind, stream)),
                (true, _) => ok(cudaMemcpy2D(
                    written,
                    written_pitch,
                    read,
                    pitch,
                    width,
                    height,
                    kind,
                )),
                (false, _) => ok(cudaMemcpy2DAsync(
                    written,
                    written_pitch,
                    read,
                    pitch,
                    width,
                    height,
                    kind,
                    stream,
                )),
            }
            ok(cudaStreamSynchronize(stream));
        }
        assert_eq!(destination.read(), to, "round {round}");
        assert_eq!(source.read(), from, "round {round}");
    }
    // SAFETY: a handle, checked by the call.
    ok(unsafe { cudaStreamDestroy(stream) });
}

#[test]
fn fills_1d_and_2d_match_a_model() {
    let mut random = SmallRng::seed_from_u64(2);
    for kind in [Kind::Device, Kind::Pinned, Kind::Managed] {
        let memory = Memory::new(kind, LENGTH);
        let mut model = random_bytes(&mut random);
        memory.write(0, &model);
        for _ in 0..60 {
            let (height, pitch) = (random.random_range(1..8), random.random_range(1..300));
            let width = random.random_range(1..=pitch);
            let offset = random.random_range(0..500);
            // Only the low byte counts.
            let value: i32 = random.random();
            for row in 0..height {
                model[offset + row * pitch..][..width].fill(value as u8);
            }
            // SAFETY: the rows lie in the memory.
            unsafe {
                match (random.random_bool(0.5), height) {
                    (true, 1) => ok(cudaMemset(memory.at(offset), value, width)),
                    (false, 1) => ok(cudaMemsetAsync(
                        memory.at(offset),
                        value,
                        width,
                        ptr::null_mut(),
                    )),
                    (true, _) => ok(cudaMemset2D(memory.at(offset), pitch, value, width, height)),
                    (false, _) => ok(cudaMemset2DAsync(
                        memory.at(offset),
                        pitch,
                        value,
                        width,
                        height,
                        ptr::null_mut(),
                    )),
                }
            }
        }
        assert_eq!(memory.read(0, LENGTH), model);
    }
}

/// CUDA's documentation of each case: the asynchronous form copies pageable sources before it returns, and returns from
/// pageable destinations when the copy is done; the synchronous fill of memory that the CPU sees waits.
#[test]
fn pageable_memory_is_free_when_the_call_returns() {
    /// Large enough for the device to use the memory in place.
    const MUCH: usize = 1 << 20;
    let device = Memory::device(MUCH);
    let stream = stream(cudaStreamNonBlocking);
    for length in [100, LENGTH, MUCH] {
        let gate = Gate::default();
        let mut bytes = vec![1u8; length];
        let host = bytes.as_mut_ptr();
        gate.close(stream);
        // SAFETY: the vector has the bytes, until the call has returned.
        unsafe {
            let (to, from) = (device.pointer, host.cast());
            ok(cudaMemcpyAsync(
                to,
                from,
                length,
                cudaMemcpyHostToDevice,
                stream,
            ));
        }
        // The copy cannot have begun, and must not see this.
        bytes.fill(2);
        gate.open();
        let host = bytes.as_mut_ptr();
        // SAFETY: the vector has the bytes, until the call has returned.
        unsafe {
            let (to, from) = (host.cast(), device.pointer);
            ok(cudaMemcpyAsync(
                to,
                from,
                length,
                cudaMemcpyDeviceToHost,
                stream,
            ));
        }
        assert_eq!(bytes, vec![1; length]);
    }
    // SAFETY: a handle, checked by the call.
    ok(unsafe { cudaStreamDestroy(stream) });
}

#[test]
fn pinned_memory_is_copied_in_stream_order() {
    let (device, pinned) = (Memory::device(LENGTH), Memory::pinned(LENGTH));
    let stream = stream(cudaStreamNonBlocking);
    let gate = Gate::default();
    pinned.bytes(LENGTH).fill(1);
    gate.close(stream);
    // SAFETY: memory of that length.
    unsafe {
        let (to, from) = (device.pointer, pinned.pointer);
        ok(cudaMemcpyAsync(
            to,
            from,
            LENGTH,
            cudaMemcpyHostToDevice,
            stream,
        ));
        pinned.bytes(LENGTH).fill(2);
        gate.open();
        synchronize(stream);
        ok(cudaStreamDestroy(stream));
    }
    assert_eq!(device.read(0, LENGTH), [2; LENGTH]);
}

#[test]
fn synchronous_calls_wait_for_what_orders_them() {
    let (device, pinned) = (Memory::device(LENGTH), Memory::pinned(LENGTH));
    let blocking = stream(cudaStreamDefault);
    // SAFETY: memory of that length.
    unsafe {
        for value in 1..20 {
            let (to, from) = (pinned.pointer, device.pointer);
            ok(cudaMemsetAsync(from, value, LENGTH, blocking));
            ok(cudaMemcpy(to, from, LENGTH, cudaMemcpyDeviceToHost));
            assert_eq!(pinned.bytes(LENGTH), [value as u8; LENGTH]);
            ok(cudaMemset(to, value + 100, LENGTH));
            assert_eq!(pinned.bytes(LENGTH), [value as u8 + 100; LENGTH]);
        }
        ok(cudaStreamDestroy(blocking));
    }
}

/// Bad copies are refused with their codes, and write nothing. In a process of its own: another test's memory could
/// lie where this one has freed some.
#[test]
fn bad_copies_have_their_codes_and_write_nothing() {
    let test = "copies::bad_copies_have_their_codes_and_write_nothing";
    in_child(test, refuse_bad_copies);
}

fn refuse_bad_copies() {
    let (device, pinned) = (Memory::device(LENGTH), Memory::pinned(LENGTH));
    let mut host = vec![7u8; 2 * LENGTH];
    let bytes: *mut c_void = host.as_mut_ptr().cast();
    device.write(0, &[1; LENGTH]);
    pinned.write(0, &[2; LENGTH]);
    let freed = Memory::device(LENGTH).pointer;
    let (d, p) = (device.pointer, pinned.pointer);
    let (to_device, to_host, within) = (
        cudaMemcpyHostToDevice,
        cudaMemcpyDeviceToHost,
        cudaMemcpyDeviceToDevice,
    );
    let cases: &[(
        *mut c_void,
        *const c_void,
        usize,
        cudaMemcpyKind,
        cudaError_t,
    )] = &[
        (ptr::null_mut(), bytes, 16, to_device, cudaErrorInvalidValue),
        (d, ptr::null(), 16, to_device, cudaErrorInvalidValue),
        (freed, bytes, 16, to_device, cudaErrorInvalidValue),
        (bytes, freed, 16, to_host, cudaErrorInvalidValue),
        // Past the end, and from before the start.
        (d, bytes, LENGTH + 1, to_device, cudaErrorInvalidValue),
        (
            device.at(1),
            bytes,
            LENGTH,
            to_device,
            cudaErrorInvalidValue,
        ),
        (
            d.wrapping_byte_sub(1),
            bytes,
            2,
            to_device,
            cudaErrorInvalidValue,
        ),
        (p, d, LENGTH + 1, to_host, cudaErrorInvalidValue),
        (bytes, d, usize::MAX, to_host, cudaErrorInvalidValue),
        (
            bytes,
            device.at(8),
            usize::MAX - 4,
            cudaMemcpyDefault,
            cudaErrorInvalidValue,
        ),
        // Against the direction.
        (bytes, d, 16, to_device, cudaErrorInvalidValue),
        (d, bytes, 16, to_host, cudaErrorInvalidValue),
        (d, bytes, 16, within, cudaErrorInvalidValue),
        (d, p, 16, cudaMemcpyHostToHost, cudaErrorInvalidValue),
        (d, bytes, 16, 5, cudaErrorInvalidMemcpyDirection),
        (d, bytes, 0, 5, cudaErrorInvalidMemcpyDirection),
    ];
    for &(to, from, length, kind, code) in cases {
        // SAFETY: refused before anything is touched.
        unsafe {
            expect(code, cudaMemcpy(to, from, length, kind));
            expect(
                code,
                cudaMemcpyAsync(to, from, length, kind, ptr::null_mut()),
            );
            assert_eq!((cudaPeekAtLastError(), cudaGetLastError()), (code, code));
        }
    }
    let pitch = cudaErrorInvalidPitchValue;
    // SAFETY: refused before anything is touched, or nothing to copy.
    unsafe {
        expect(pitch, cudaMemcpy2D(d, 10, bytes, 16, 16, 2, to_device));
        expect(pitch, cudaMemcpy2D(d, 16, bytes, 10, 16, 2, to_device));
        expect(pitch, cudaMemcpy2D(d, 16, bytes, 10, 16, 1, to_device));
        let value = cudaErrorInvalidValue;
        expect(
            value,
            cudaMemcpy2D(d, 1000, bytes, 1000, 1000, 5, to_device),
        );
        expect(
            value,
            cudaMemcpy2D(d, usize::MAX, bytes, 16, 16, 3, to_device),
        );
        expect(value, cudaMemset2D(d, 10, 0, 16, 2));
        expect(value, cudaMemset2D(d, 10, 0, 16, 1));
        expect(value, cudaMemset2D(d, 1000, 0, 1000, 5));
        expect(value, cudaMemset(bytes, 0, 16));
        expect(value, cudaMemset(ptr::null_mut(), 0, 16));
        expect(value, cudaMemset(d, 0, LENGTH + 1));
        expect(value, cudaMemset(freed, 0, 1));
        ok(cudaMemcpy(ptr::null_mut(), ptr::null(), 0, to_device));
        ok(cudaMemcpy2D(d, 0, bytes, 0, 0, 9, to_device));
        ok(cudaMemcpy2D(d, 8, bytes, 8, 8, 0, to_device));
        ok(cudaMemset(ptr::null_mut(), 0, 0));
    }
    assert_eq!(device.read(0, LENGTH), [1; LENGTH]);
    assert_eq!(pinned.read(0, LENGTH), [2; LENGTH]);
    assert_eq!(host, vec![7; 2 * LENGTH]);
}
