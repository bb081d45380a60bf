//! Allocating, freeing and registering memory, with what is refused.

use std::ffi::c_void;
use std::ptr;

use metal_bridge_test_support::in_child;
use metal_cudart::*;

use crate::support::*;

const LENGTH: usize = 10_000;

#[test]
fn memory_of_no_bytes_is_null_and_null_can_be_freed() {
    let mut pointer = ptr::dangling_mut();
    let mut pitch = 9;
    // SAFETY: pointers to the results.
    unsafe {
        ok(cudaMalloc(&mut pointer, 0));
        assert!(pointer.is_null());
        pointer = ptr::dangling_mut();
        ok(cudaMallocHost(&mut pointer, 0));
        assert!(pointer.is_null());
        ok(cudaMallocPitch(&mut pointer, &mut pitch, 0, 10));
        assert!(pointer.is_null() && pitch == 0);
        ok(cudaMallocAsync(&mut pointer, 0, ptr::null_mut()));
        // Whatever the flags.
        for flags in [cudaMemAttachGlobal, 3] {
            pointer = ptr::dangling_mut();
            ok(cudaMallocManaged(&mut pointer, 0, flags));
            assert!(pointer.is_null());
        }
        ok(cudaFree(ptr::null_mut()));
        ok(cudaFreeHost(ptr::null_mut()));
        ok(cudaFreeAsync(ptr::null_mut(), ptr::null_mut()));
    }
}

/// In a process of its own: another test's memory could lie where this one has freed some.
#[test]
fn only_starts_of_memory_of_the_right_kind_are_freed() {
    let test = "memory::only_starts_of_memory_of_the_right_kind_are_freed";
    in_child(test, refuse_bad_frees);
}

fn refuse_bad_frees() {
    let (device, pinned, managed) = (
        Memory::device(LENGTH),
        Memory::pinned(LENGTH),
        Memory::new(Kind::Managed, LENGTH),
    );
    let gone = Memory::device(LENGTH).pointer;
    let mut local = 0u64;
    let local: *mut c_void = ptr::from_mut(&mut local).cast();
    let bad = cudaErrorInvalidValue;
    // SAFETY: what the calls must refuse.
    unsafe {
        for pointer in [gone, device.at(1), pinned.pointer, local, 8 as *mut c_void] {
            expect(bad, cudaFree(pointer));
            expect(bad, cudaFreeAsync(pointer, ptr::null_mut()));
        }
        for pointer in [gone, device.pointer, managed.pointer, pinned.at(1), local] {
            expect(bad, cudaFreeHost(pointer));
        }
        expect(bad, cudaMalloc(ptr::null_mut(), 16));
        expect(bad, cudaMallocHost(ptr::null_mut(), 16));
        let mut pointer = ptr::null_mut();
        expect(bad, cudaHostAlloc(&mut pointer, 16, 8));
        expect(bad, cudaMallocManaged(&mut pointer, 16, 3));
        assert!(pointer.is_null());
    }
    // All are as they were.
    for memory in [&device, &pinned, &managed] {
        memory.write(LENGTH - 1, &[5]);
        assert_eq!(memory.read(LENGTH - 1, 1), [5]);
    }
}

#[test]
fn more_memory_than_there_is_is_refused() {
    let (mut pointer, mut pitch) = (ptr::null_mut(), 0);
    let out = cudaErrorMemoryAllocation;
    // SAFETY: pointers to the results.
    unsafe {
        for size in [1 << 46, usize::MAX / 2, usize::MAX] {
            expect(out, cudaMalloc(&mut pointer, size));
            expect(out, cudaMallocAsync(&mut pointer, size, ptr::null_mut()));
        }
        expect(out, cudaMallocHost(&mut pointer, usize::MAX));
        expect(
            out,
            cudaMallocManaged(&mut pointer, usize::MAX - 5, cudaMemAttachHost),
        );
        expect(
            out,
            cudaMallocPitch(&mut pointer, &mut pitch, usize::MAX, 2),
        );
        expect(
            out,
            cudaMallocPitch(&mut pointer, &mut pitch, 1 << 40, 1 << 40),
        );
    }
    assert!(pointer.is_null() && pitch == 0);
    // And nothing is broken by that.
    drop(Memory::device(LENGTH));
}

/// Work that was committed keeps memory that is freed: in streams, in events' waits, by both ways of freeing.
#[test]
fn memory_freed_with_work_pending_is_kept_for_that() {
    let (gate, result) = (Gate::default(), Memory::device(LENGTH));
    let stream = stream(cudaStreamNonBlocking);
    let mut memory = ptr::null_mut();
    gate.close(stream);
    // SAFETY: memory of that length.
    unsafe {
        let middle = Memory::pinned(LENGTH);
        ok(cudaMallocAsync(&mut memory, LENGTH, stream));
        ok(cudaMemsetAsync(memory, 33, LENGTH, stream));
        let kind = cudaMemcpyDefault;
        ok(cudaMemcpyAsync(
            middle.pointer,
            memory,
            LENGTH,
            kind,
            stream,
        ));
        ok(cudaFreeAsync(memory, stream));
        expect(cudaErrorInvalidValue, cudaFreeAsync(memory, stream));
        expect(cudaErrorInvalidValue, cudaMemsetAsync(memory, 0, 1, stream));
        ok(cudaMemcpyAsync(
            result.pointer,
            middle.pointer,
            LENGTH,
            kind,
            stream,
        ));
        drop(middle);
        // What is allocated instead of the one that is gone is not what the work uses.
        let others: Vec<Memory> = (0..20).map(|_| Memory::device(LENGTH)).collect();
        for other in &others {
            ok(cudaMemsetAsync(
                other.pointer,
                99,
                LENGTH,
                cudaStreamPerThread as cudaStream_t,
            ));
        }
        ok(cudaStreamSynchronize(cudaStreamPerThread as cudaStream_t));
        gate.open();
        synchronize(stream);
        ok(cudaStreamDestroy(stream));
    }
    assert_eq!(result.read(0, LENGTH), [33; LENGTH]);
}

#[test]
fn registered_memory_is_used_where_it_is() {
    let mut bytes = vec![1u8; LENGTH];
    let device = Memory::device(LENGTH);
    let stream = stream(cudaStreamNonBlocking);
    let start: *mut c_void = bytes.as_mut_ptr().cast();
    // Neither the start nor the length is a multiple of a page.
    let (inside, length) = (start.wrapping_byte_add(3), LENGTH - 100);
    let (mut flags, mut pointer) = (9, ptr::null_mut());
    let known = cudaErrorHostMemoryAlreadyRegistered;
    let unknown = cudaErrorHostMemoryNotRegistered;
    // SAFETY: the vector outlives the registration.
    unsafe {
        ok(cudaHostRegister(inside, length, cudaHostAllocMapped));
        expect(known, cudaHostRegister(inside, length, 0));
        expect(known, cudaHostRegister(start, 4, 0));
        ok(cudaHostGetFlags(&mut flags, inside));
        ok(cudaHostGetDevicePointer(&mut pointer, inside, 0));
        assert_eq!((flags, pointer), (cudaHostAllocMapped, inside));
        // In stream order, as pinned memory is.
        let gate = Gate::default();
        gate.close(stream);
        let kind = cudaMemcpyHostToDevice;
        ok(cudaMemcpyAsync(
            device.pointer,
            inside,
            length,
            kind,
            stream,
        ));
        inside.cast::<u8>().write_bytes(2, length);
        gate.open();
        synchronize(stream);
        assert_eq!(device.read(0, length), vec![2; length]);
        // A range that is registered in part is not one allocation.
        let bad = cudaErrorInvalidValue;
        expect(bad, cudaMemcpy(device.pointer, start, 10, kind));
        expect(bad, cudaMemcpy(device.pointer, inside, length + 1, kind));
        expect(unknown, cudaHostUnregister(inside.wrapping_byte_add(1)));
        expect(unknown, cudaHostUnregister(device.pointer));
        ok(cudaHostUnregister(inside));
        expect(unknown, cudaHostUnregister(inside));
        expect(bad, cudaHostRegister(ptr::null_mut(), 16, 0));
        expect(bad, cudaHostRegister(inside, 0, 0));
        expect(bad, cudaHostRegister(inside, 16, 0x40));
        expect(bad, cudaHostRegister(8192 as *mut c_void, 16, 0));
        expect(bad, cudaHostRegister(inside, usize::MAX - 8, 0));
        expect(
            cudaErrorNotSupported,
            cudaHostRegister(inside, 16, cudaHostRegisterIoMemory),
        );
        expect(bad, cudaHostGetFlags(&mut flags, inside));
        expect(bad, cudaHostGetDevicePointer(&mut pointer, inside, 0));
        ok(cudaStreamDestroy(stream));
    }
    let pinned = Memory::pinned(64);
    // SAFETY: known already.
    unsafe {
        expect(known, cudaHostRegister(pinned.at(8), 8, 0));
        let flag = cudaErrorInvalidValue;
        expect(
            flag,
            cudaHostGetDevicePointer(&mut pointer, pinned.pointer, 1),
        );
    }
}

#[test]
fn hints_are_for_managed_memory_and_change_nothing() {
    let (managed, device) = (Memory::new(Kind::Managed, LENGTH), Memory::device(LENGTH));
    managed.bytes(LENGTH).fill(4);
    let (to, bad) = (ptr::null_mut(), cudaErrorInvalidValue);
    // SAFETY: hints touch nothing.
    unsafe {
        ok(cudaMemPrefetchAsync(managed.at(10), 100, 0, to));
        ok(cudaMemPrefetchAsync(
            managed.pointer,
            LENGTH,
            cudaCpuDeviceId,
            to,
        ));
        ok(cudaMemAdvise(managed.pointer, LENGTH, 3, 0));
        ok(cudaMemAdvise(managed.pointer, LENGTH, 1, 77));
        expect(
            bad,
            cudaMemPrefetchAsync(managed.pointer, LENGTH + 1, 0, to),
        );
        expect(bad, cudaMemPrefetchAsync(device.pointer, 10, 0, to));
        expect(
            cudaErrorInvalidDevice,
            cudaMemPrefetchAsync(managed.pointer, 10, 77, to),
        );
        expect(
            cudaErrorInvalidDevice,
            cudaMemAdvise(managed.pointer, 10, 5, 77),
        );
        expect(bad, cudaMemAdvise(managed.pointer, 10, 7, 0));
        expect(bad, cudaMemAdvise(managed.pointer, 0, 1, 0));
        let (own, single) = (cudaStreamPerThread as cudaStream_t, cudaMemAttachSingle);
        ok(cudaStreamAttachMemAsync(own, managed.pointer, 0, single));
        let global = cudaMemAttachGlobal;
        ok(cudaStreamAttachMemAsync(
            to,
            managed.pointer,
            LENGTH,
            global,
        ));
        expect(
            bad,
            cudaStreamAttachMemAsync(to, managed.pointer, 0, single),
        );
        expect(bad, cudaStreamAttachMemAsync(own, managed.pointer, 0, 3));
        expect(bad, cudaStreamAttachMemAsync(own, managed.pointer, 8, 1));
        expect(bad, cudaStreamAttachMemAsync(own, managed.at(8), 0, 1));
        expect(bad, cudaStreamAttachMemAsync(own, device.pointer, 0, 1));
    }
    assert_eq!(managed.bytes(LENGTH), [4; LENGTH]);
}
