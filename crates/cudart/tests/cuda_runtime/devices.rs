//! Devices: numbers, versions, memory, peers, and copies between them.

use std::ffi::c_void;
use std::ptr;

use metal_bridge_test_support::{in_child, in_child_with, in_fork, without_descriptors};
use metal_cudart::*;

use crate::support::*;

const LENGTH: usize = 5000;

#[test]
fn a_device_tells_its_memory_and_the_versions() {
    let (mut free, mut total, mut driver, mut runtime, mut device, mut count) = (0, 0, 0, 0, 9, 0);
    // SAFETY: pointers to the results.
    unsafe {
        ok(cudaGetDeviceCount(&mut count));
        ok(cudaGetDevice(&mut device));
        ok(cudaMemGetInfo(&mut free, &mut total));
        ok(cudaDriverGetVersion(&mut driver));
        ok(cudaRuntimeGetVersion(&mut runtime));
        assert_eq!((device, driver), (0, runtime));
        assert!(free > 0 && free <= total && count >= 1);
        let bad = cudaErrorInvalidValue;
        expect(bad, cudaGetDeviceCount(ptr::null_mut()));
        expect(bad, cudaGetDevice(ptr::null_mut()));
        let (mut free_alone, mut total_alone) = (0, 0);
        ok(cudaMemGetInfo(&mut free_alone, ptr::null_mut()));
        ok(cudaMemGetInfo(ptr::null_mut(), &mut total_alone));
        ok(cudaMemGetInfo(ptr::null_mut(), ptr::null_mut()));
        assert!(free_alone > 0 && total_alone == total);
        expect(bad, cudaGetDeviceProperties(ptr::null_mut(), 0));
        expect(bad, cudaDeviceGetAttribute(ptr::null_mut(), 1, 0));
        for number in [-1, count, i32::MAX] {
            expect(cudaErrorInvalidDevice, cudaSetDevice(number));
            expect(
                cudaErrorInvalidDevice,
                cudaDeviceGetAttribute(&mut device, 1, number),
            );
            expect(
                cudaErrorInvalidDevice,
                cudaDeviceEnablePeerAccess(number, 0),
            );
        }
        expect(
            cudaErrorPeerAccessUnsupported,
            cudaDeviceEnablePeerAccess(0, 0),
        );
        expect(
            cudaErrorPeerAccessNotEnabled,
            cudaDeviceDisablePeerAccess(0),
        );
    }
}

/// Two devices, whether they are peers or not: copies, events between their streams, host memory of both.
fn use_two_devices(are_peers: bool) {
    let (first, mine) = (Memory::device(LENGTH), stream(0));
    let pinned = Memory::pinned(LENGTH);
    let done = event(0);
    set_device(1);
    let (second, other) = (Memory::device(LENGTH), stream(0));
    let mut can = 9;
    // SAFETY: memory of that length, handles that are checked, pointers to results.
    unsafe {
        assert_eq!(attributes(second.pointer).device, 1);
        ok(cudaDeviceCanAccessPeer(&mut can, 1, 0));
        assert_eq!(can, i32::from(are_peers));
        ok(cudaDeviceCanAccessPeer(&mut can, 1, 1));
        assert_eq!(can, 0);
        if are_peers {
            expect(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(0, 1));
            ok(cudaDeviceEnablePeerAccess(0, 0));
            expect(
                cudaErrorPeerAccessAlreadyEnabled,
                cudaDeviceEnablePeerAccess(0, 0),
            );
            ok(cudaDeviceDisablePeerAccess(0));
        } else {
            expect(
                cudaErrorPeerAccessUnsupported,
                cudaDeviceEnablePeerAccess(0, 0),
            );
        }
        expect(
            cudaErrorPeerAccessNotEnabled,
            cudaDeviceDisablePeerAccess(0),
        );

        // A stream of one device waits for one of the other's.
        expect(cudaErrorInvalidResourceHandle, cudaEventRecord(done, other));
        set_device(0);
        ok(cudaMemsetAsync(first.pointer, 21, LENGTH, mine));
        ok(cudaEventRecord(done, mine));
        set_device(1);
        ok(cudaStreamWaitEvent(other, done, 0));
        ok(cudaMemcpyPeerAsync(
            second.pointer,
            1,
            first.pointer,
            0,
            LENGTH,
            other,
        ));
        // Host memory is every device's.
        let kind = cudaMemcpyDeviceToHost;
        ok(cudaMemcpyAsync(
            pinned.pointer,
            second.pointer,
            LENGTH,
            kind,
            other,
        ));
        synchronize(other);
        assert_eq!(pinned.bytes(LENGTH), [21; LENGTH]);
        ok(cudaMemset(second.pointer, 22, LENGTH));
        ok(cudaMemcpyPeer(
            first.at(1),
            0,
            second.pointer,
            1,
            LENGTH - 1,
        ));
        ok(cudaDeviceSynchronize());
        let bad = cudaErrorInvalidValue;
        expect(bad, cudaMemcpyPeer(first.pointer, 1, second.pointer, 1, 8));
        expect(
            bad,
            cudaMemcpyPeer(first.pointer, 0, second.pointer, 1, LENGTH + 1),
        );
        expect(
            cudaErrorInvalidDevice,
            cudaMemcpyPeer(first.pointer, 2, second.pointer, 1, 8),
        );
        set_device(0);
    }
    let mut expected = [22; LENGTH];
    expected[0] = 21;
    assert_eq!(first.read(0, LENGTH), expected);
    // What one device has stays when the other one is reset.
    set_device(1);
    // SAFETY: takes nothing.
    unsafe {
        ok(cudaDeviceReset());
        expect(cudaErrorInvalidValue, cudaFree(second.pointer));
        expect(cudaErrorInvalidResourceHandle, cudaStreamDestroy(other));
        set_device(0);
        ok(cudaStreamDestroy(mine));
        ok(cudaEventDestroy(done));
    }
    assert_eq!(first.read(0, 1), [21]);
}

/// In a process of its own: other tests allocate too.
#[test]
fn free_memory_is_what_is_not_allocated() {
    in_child("devices::free_memory_is_what_is_not_allocated", || {
        let (mut before, mut after, mut total) = (0, 0, 0);
        let small = Memory::device(16);
        // SAFETY: pointers to the results.
        unsafe {
            ok(cudaMemGetInfo(&mut before, &mut total));
            let large = Memory::device(64 << 20);
            ok(cudaMemGetInfo(&mut after, &mut total));
            drop(large);
        }
        assert!((64 << 20..65 << 20).contains(&(before - after)));
        drop(small);
    });
}

unsafe extern "C-unwind" fn count(calls: *mut c_void) {
    // SAFETY: the number outlives the work.
    unsafe { *calls.cast::<u32>() += 1 };
}

/// A reset waits for what is pending and takes all handles and memory; the device and the thread's own stream work
/// again.
#[test]
fn a_reset_takes_all_that_is_live() {
    in_child("devices::a_reset_takes_all_that_is_live", || {
        let own = cudaStreamPerThread as cudaStream_t;
        let streams = [stream(cudaStreamDefault), stream(cudaStreamNonBlocking)];
        let done = event(0);
        let (device, pinned) = (Memory::device(LENGTH), Memory::pinned(LENGTH));
        let managed = Memory::new(Kind::Managed, LENGTH);
        let mut calls = 0u32;
        let mut bytes = vec![0u8; LENGTH];
        let host: *mut c_void = bytes.as_mut_ptr().cast();
        // SAFETY: memory of that length, a function that takes a number, and handles that are checked.
        unsafe {
            ok(cudaHostRegister(host, LENGTH, 0));
            for stream in [streams[0], streams[1], own, ptr::null_mut()] {
                for _ in 0..50 {
                    ok(cudaMemsetAsync(device.pointer, 3, LENGTH, stream));
                    ok(cudaMemcpyAsync(
                        host,
                        device.pointer,
                        LENGTH,
                        cudaMemcpyDefault,
                        stream,
                    ));
                }
                ok(cudaEventRecord(done, stream));
                ok(cudaStreamWaitEvent(streams[1], done, 0));
                let calls = ptr::from_mut(&mut calls).cast();
                ok(cudaLaunchHostFunc(streams[1], Some(count), calls));
            }
            ok(cudaDeviceReset());
            assert_eq!((calls, bytes[LENGTH - 1]), (4, 3));
            let gone = cudaErrorInvalidResourceHandle;
            for stream in streams {
                expect(gone, cudaStreamQuery(stream));
            }
            expect(gone, cudaEventQuery(done));
            let bad = cudaErrorInvalidValue;
            expect(bad, cudaFree(device.pointer));
            expect(bad, cudaFreeHost(pinned.pointer));
            expect(bad, cudaFree(managed.pointer));
            expect(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(host));
            ok(cudaStreamQuery(own));
            let fresh = Memory::device(LENGTH);
            ok(cudaMemsetAsync(fresh.pointer, 8, LENGTH, own));
            synchronize(own);
            assert_eq!(fresh.read(0, LENGTH), [8; LENGTH]);
            // One reset of a device that has nothing left, and one of a device that was not used since.
            drop(fresh);
            ok(cudaDeviceReset());
            ok(cudaDeviceReset());
        }
    });
}

#[test]
fn settings_are_checked_and_kept() {
    let (mut flags, mut config) = (9, 9);
    let bad = cudaErrorInvalidValue;
    // SAFETY: pointers to the results.
    unsafe {
        ok(cudaSetDeviceFlags(
            cudaDeviceScheduleBlockingSync | cudaDeviceLmemResizeToMax,
        ));
        ok(cudaGetDeviceFlags(&mut flags));
        assert_eq!(flags, 0x1c);
        expect(bad, cudaSetDeviceFlags(3));
        expect(bad, cudaSetDeviceFlags(0x40));
        expect(bad, cudaGetDeviceFlags(ptr::null_mut()));
        ok(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
        ok(cudaDeviceSetCacheConfig(2));
        ok(cudaDeviceGetCacheConfig(&mut config));
        assert_eq!(config, 0);
        expect(bad, cudaDeviceSetCacheConfig(4));
        let unknown = cudaErrorInvalidDeviceFunction;
        expect(unknown, cudaFuncSetCacheConfig(ptr::null(), 1));
        ok(cudaProfilerStart());
        ok(cudaProfilerStop());
    }
}

#[test]
fn devices_that_are_not_peers_copy_through_the_host() {
    let test = "devices::devices_that_are_not_peers_copy_through_the_host";
    in_child_with(test, &[("SOFTWARE_METAL_DEVICES", "2")], || {
        use_two_devices(false)
    });
}

#[test]
fn peers_copy_from_each_other() {
    let variables = [
        ("SOFTWARE_METAL_DEVICES", "2"),
        ("SOFTWARE_METAL_PEERS", "1"),
    ];
    in_child_with("devices::peers_copy_from_each_other", &variables, || {
        use_two_devices(true)
    });
}

#[test]
fn a_reset_of_either_device_ends_the_access_of_peers() {
    let test = "devices::a_reset_of_either_device_ends_the_access_of_peers";
    let variables = [
        ("SOFTWARE_METAL_DEVICES", "2"),
        ("SOFTWARE_METAL_PEERS", "1"),
    ];
    in_child_with(test, &variables, || {
        for device in [0, 1] {
            set_device(0);
            // SAFETY: numbers, checked by the calls.
            unsafe {
                ok(cudaDeviceEnablePeerAccess(1, 0));
                set_device(device);
                ok(cudaDeviceReset());
                set_device(0);
                expect(
                    cudaErrorPeerAccessNotEnabled,
                    cudaDeviceDisablePeerAccess(1),
                );
            }
        }
    });
}

#[test]
fn a_child_of_fork_cannot_use_its_parents_devices() {
    let memory = Memory::device(64);
    in_fork(|| {
        let (refused, mut count, mut pointer) = (cudaErrorInitializationError, 0, ptr::null_mut());
        // SAFETY: pointers to results; the calls are refused.
        unsafe {
            expect(refused, cudaGetDeviceCount(&mut count));
            expect(refused, cudaMalloc(&mut pointer, 64));
            expect(refused, cudaMemset(memory.pointer, 1, 64));
            expect(refused, cudaDeviceSynchronize());
            expect(refused, cudaFree(memory.pointer));
        }
    });
    assert_eq!(memory.read(0, 64).len(), 64);
}

/// A program that begins without a free file descriptor has devices once it has one.
#[test]
fn devices_are_looked_for_until_they_are_known() {
    in_child(
        "devices::devices_are_looked_for_until_they_are_known",
        || {
            let mut count = 0;
            // SAFETY: a pointer to the result.
            let mut listed = || unsafe { cudaGetDeviceCount(&mut count) };
            expect(cudaErrorUnknown, without_descriptors(&mut listed));
            ok(listed());
            assert!(count >= 1);
        },
    );
}
