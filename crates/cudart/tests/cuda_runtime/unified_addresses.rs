//! Memory of a device that is not the current one, and what copies between devices are ordered after.

use std::ffi::c_void;
use std::ptr;
use std::thread;
use std::time::Duration;

use metal_bridge_test_support::in_child_with;
use metal_cudart::*;

use crate::support::*;

const LENGTH: usize = 5000;

/// Memory of a device; the first one is current afterwards.
fn memory_of(device: usize) -> Memory {
    set_device(device);
    let memory = Memory::device(LENGTH);
    memory.write(0, &[device as u8 + 1; LENGTH]);
    set_device(0);
    memory
}

/// A stream of a device; the first one is current afterwards.
fn stream_of(device: usize, flags: u32) -> cudaStream_t {
    set_device(device);
    let stream = stream(flags);
    set_device(0);
    stream
}

/// Runs the test in processes with three devices that are not peers, and with as many that are.
fn with_three_devices(test: &str, body: impl Fn()) {
    for peers in ["0", "1"] {
        let variables = [
            ("SOFTWARE_METAL_DEVICES", "3"),
            ("SOFTWARE_METAL_PEERS", peers),
        ];
        in_child_with(test, &variables, &body);
    }
}

fn copy(to: *mut c_void, from: *const c_void, length: usize, kind: cudaMemcpyKind) {
    // SAFETY: the tests' memory, checked by the call.
    ok(unsafe { cudaMemcpy(to, from, length, kind) });
}

#[test]
fn copies_and_fills_take_memory_of_any_device() {
    let test = "unified_addresses::copies_and_fills_take_memory_of_any_device";
    with_three_devices(test, || {
        let (near, far, farther) = (memory_of(0), memory_of(1), memory_of(2));
        let other_far = memory_of(1);
        let pinned = Memory::pinned(LENGTH);
        let bytes: Vec<u8> = (0..LENGTH).map(|i| (i * 7) as u8).collect();
        let mut back = vec![0u8; LENGTH];
        let whole = |memory: &Memory| memory.read(0, LENGTH);

        copy(
            far.pointer,
            bytes.as_ptr().cast(),
            LENGTH,
            cudaMemcpyHostToDevice,
        );
        copy(
            back.as_mut_ptr().cast(),
            far.pointer,
            LENGTH,
            cudaMemcpyDeviceToHost,
        );
        assert_eq!(back, bytes);
        copy(
            other_far.pointer,
            far.at(3),
            LENGTH - 3,
            cudaMemcpyDeviceToDevice,
        );
        assert_eq!(other_far.read(0, LENGTH - 3), bytes[3..]);
        copy(farther.pointer, far.pointer, LENGTH, cudaMemcpyDefault);
        assert_eq!(whole(&farther), bytes);
        copy(near.at(1), farther.at(1), LENGTH - 1, cudaMemcpyDefault);
        assert_eq!(whole(&near)[1..], bytes[1..]);
        pinned.bytes(LENGTH).fill(9);
        copy(far.pointer, pinned.pointer, LENGTH, cudaMemcpyHostToDevice);
        assert_eq!(whole(&far), [9; LENGTH]);
        // SAFETY: memory of that length, host memory too.
        unsafe {
            ok(cudaMemset(far.at(1), 4, LENGTH - 1));
            copy(pinned.pointer, far.pointer, LENGTH, cudaMemcpyDeviceToHost);
            assert_eq!((pinned.bytes(2)[0], pinned.bytes(2)[1]), (9, 4));
            ok(cudaMemset2D(far.pointer, 100, 5, 50, 50));
            let rows = bytes.as_ptr().cast();
            let kind = cudaMemcpyDefault;
            ok(cudaMemcpy2D(far.at(50), 100, rows, 50, 50, 50, kind));
            let expected: Vec<u8> = (0..50)
                .flat_map(|row| [vec![5; 50], bytes[row * 50..row * 50 + 50].to_vec()].concat())
                .collect();
            assert_eq!(whole(&far), expected);
            ok(cudaMemcpyPeer(other_far.pointer, 1, far.pointer, 1, LENGTH));
            assert_eq!(whole(&other_far), expected);
            ok(cudaMemcpyPeer(
                farther.pointer,
                2,
                pinned.pointer,
                1,
                LENGTH,
            ));
            assert_eq!(whole(&farther)[1..], [4; LENGTH - 1]);

            // Ranges are checked as on one device.
            let bad = cudaErrorInvalidValue;
            expect(bad, cudaMemset(far.at(1), 0, LENGTH));
            expect(bad, cudaMemcpy(far.at(1), rows, LENGTH, kind));
            expect(bad, cudaMemcpyPeer(far.pointer, 2, near.pointer, 0, 8));
            assert_eq!(whole(&far), expected);
            // The ranges overlap: CUDA leaves open which bytes they then hold. The other bytes stay.
            ok(cudaMemcpy(far.at(1), far.pointer, 100, kind));
            assert_eq!(whole(&far)[101..], expected[101..]);
        }
    });
}

#[test]
fn memory_is_allocated_and_freed_for_other_devices() {
    let test = "unified_addresses::memory_is_allocated_and_freed_for_other_devices";
    with_three_devices(test, || {
        let stream = stream_of(1, 0);
        let mut pointer = ptr::null_mut();
        // SAFETY: pointers to the results; handles and pointers are checked by the calls.
        unsafe {
            ok(cudaMallocAsync(&mut pointer, LENGTH, stream));
            assert_eq!(attributes(pointer).device, 1);
            ok(cudaMemsetAsync(pointer, 3, LENGTH, stream));
            ok(cudaFreeAsync(pointer, stream));
            ok(cudaMallocAsync(&mut pointer, LENGTH, stream));
            ok(cudaFree(pointer));
            expect(cudaErrorInvalidValue, cudaFree(pointer));
        }
    });
}

#[test]
fn work_with_other_devices_memory_keeps_stream_order() {
    let test = "unified_addresses::work_with_other_devices_memory_keeps_stream_order";
    with_three_devices(test, || {
        let (near, far) = (memory_of(0), memory_of(1));
        let (held, free) = (stream_of(0, 1), stream_of(0, 1));
        let (first, second) = (Memory::pinned(LENGTH), Memory::pinned(LENGTH));
        first.bytes(LENGTH).fill(50);
        let gate = Gate::default();
        gate.close(held);
        let kind = cudaMemcpyDefault;
        // SAFETY: memory of that length, which lives on; a handle of a stream.
        unsafe {
            ok(cudaMemcpyAsync(
                far.pointer,
                first.pointer,
                LENGTH,
                kind,
                held,
            ));
            ok(cudaMemsetAsync(far.pointer, 51, 1, held));
            ok(cudaMemcpyAsync(
                near.pointer,
                far.pointer,
                LENGTH,
                kind,
                held,
            ));
            ok(cudaMemcpyAsync(
                second.pointer,
                near.pointer,
                LENGTH,
                kind,
                held,
            ));
            ok(cudaMemsetAsync(far.pointer, 52, LENGTH, held));
            expect(cudaErrorNotReady, cudaStreamQuery(held));
            // Neither another stream's work on that device is held up, nor the device.
            set_device(1);
            ok(cudaDeviceSynchronize());
            set_device(0);
            ok(cudaMemcpyAsync(first.pointer, far.pointer, 1, kind, free));
            synchronize(free);
            assert_eq!(first.bytes(1), [2]);
            first.bytes(1)[0] = 50;
        }
        gate.open();
        synchronize(held);
        assert_eq!(second.bytes(1), [51]);
        assert_eq!(second.bytes(LENGTH)[1..], [50; LENGTH - 1]);
        assert_eq!(far.read(0, LENGTH), [52; LENGTH]);
    });
}

#[test]
fn copies_without_a_stream_order_all_work_of_both() {
    let test = "unified_addresses::\
        copies_without_a_stream_order_all_work_of_both";
    with_three_devices(test, || {
        let pinned = Memory::pinned(LENGTH);
        for flags in [cudaStreamDefault, cudaStreamNonBlocking] {
            let (near, far) = (memory_of(0), memory_of(1));
            let (earlier, later) = (stream_of(1, flags), stream_of(1, flags));
            let gate = Gate::default();
            gate.close(earlier);
            // SAFETY: memory of that length, which lives on; handles of streams.
            unsafe {
                ok(cudaMemsetAsync(far.pointer, 9, LENGTH, earlier));
                ok(cudaMemcpyPeer(near.pointer, 0, far.pointer, 1, LENGTH));
                ok(cudaMemsetAsync(far.pointer, 10, LENGTH, later));
                expect(cudaErrorNotReady, cudaStreamQuery(later));
                // Work of the third device is not held up.
                set_device(2);
                ok(cudaDeviceSynchronize());
                set_device(0);
                // Later work is that of streams that are made later too.
                let last = stream_of(0, flags);
                let kind = cudaMemcpyDefault;
                ok(cudaMemcpyAsync(
                    pinned.pointer,
                    near.pointer,
                    LENGTH,
                    kind,
                    last,
                ));
                gate.open();
                ok(cudaDeviceSynchronize());
                set_device(1);
                ok(cudaDeviceSynchronize());
                set_device(0);
            }
            assert_eq!(pinned.bytes(LENGTH), [9; LENGTH]);
            assert_eq!(far.read(0, LENGTH), [10; LENGTH]);
        }
    });
}

#[test]
fn a_device_is_used_anew_by_others_after_a_reset() {
    let test = "unified_addresses::a_device_is_used_anew_by_others_after_a_reset";
    with_three_devices(test, || {
        for _ in 0..3 {
            let far = memory_of(1);
            far.write(0, &[5; LENGTH]);
            assert_eq!(far.read(0, LENGTH), [5; LENGTH]);
            set_device(1);
            // SAFETY: takes nothing.
            ok(unsafe { cudaDeviceReset() });
            set_device(0);
            // SAFETY: checked by the call.
            expect(cudaErrorInvalidValue, unsafe { cudaFree(far.pointer) });
            let byte = [0u8];
            // SAFETY: a byte; the other pointer is checked.
            let code = unsafe { cudaMemcpy(far.pointer, byte.as_ptr().cast(), 1, 4) };
            expect(cudaErrorInvalidValue, code);
        }
    });
}

/// A reset gives memory back only once other devices have read it.
#[test]
fn a_reset_waits_for_others_with_registered_memory() {
    let test = "unified_addresses::a_reset_waits_for_others_with_registered_memory";
    with_three_devices(test, || {
        let (near, stream) = (memory_of(0), stream_of(0, 1));
        let mut bytes = vec![6u8; LENGTH];
        let gate = Gate::default();
        gate.close(stream);
        set_device(1);
        // SAFETY: the vector lives until the reset has returned.
        unsafe {
            ok(cudaHostRegister(bytes.as_mut_ptr().cast(), LENGTH, 0));
            let (from, kind) = (bytes.as_ptr().cast(), cudaMemcpyDefault);
            ok(cudaMemcpyAsync(near.pointer, from, LENGTH, kind, stream));
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                gate.open();
            });
            // SAFETY: takes nothing.
            ok(unsafe { cudaDeviceReset() });
        });
        bytes.fill(0);
        drop(bytes);
        set_device(0);
        synchronize(stream);
        assert_eq!(near.read(0, LENGTH), [6; LENGTH]);
    });
}

#[test]
fn launches_with_another_devices_memory_are_refused() {
    const SOURCE: &[u8] = b"
        #include <metal_stdlib>
        kernel void zero(device uchar *bytes [[buffer(0)]], uint i [[thread_position_in_grid]]) { bytes[i] = 0; }\0";
    let test = "unified_addresses::launches_with_another_devices_memory_are_refused";
    with_three_devices(test, || {
        let far = memory_of(1);
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: C strings, pointers to results, and the address of the argument.
        unsafe {
            ok(cudaMetalRegisterSource(&mut module, SOURCE.as_ptr().cast()));
            ok(cudaMetalGetFunction(
                &mut function,
                module,
                c"zero".as_ptr(),
            ));
            // If the devices are not peers, this fails; the launch does not depend on it.
            _ = cudaDeviceEnablePeerAccess(1, 0);
            let one = dim3 { x: 1, y: 1, z: 1 };
            let mut bytes = far.pointer;
            let mut arguments = [ptr::from_mut(&mut bytes).cast()];
            let stream = ptr::null_mut();
            let code = cudaLaunchKernel(function, one, one, arguments.as_mut_ptr(), 0, stream);
            expect(cudaErrorPeerAccessUnsupported, code);
            ok(cudaDeviceSynchronize());
        }
        assert_eq!(far.read(0, 1), [2]);
    });
}
