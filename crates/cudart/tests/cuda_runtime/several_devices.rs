//! Devices beside each other: one that fails, and threads that use all of them at once.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::thread;

use metal_bridge_test_support::in_child_with;
use metal_cudart::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::support::*;

const LENGTH: usize = 3000;

/// Runs the test in processes with two devices that are not peers, and with as many that are.
fn with_two_devices(test: &str, body: impl Fn()) {
    for peers in ["0", "1"] {
        let variables = [
            ("SOFTWARE_METAL_DEVICES", "2"),
            ("SOFTWARE_METAL_PEERS", peers),
        ];
        in_child_with(test, &variables, &body);
    }
}

fn memory_of(device: usize) -> Memory {
    set_device(device);
    Memory::device(LENGTH)
}

/// Has the stream's device, which is current, fail at `memory`.
fn launch_stray(memory: &Memory, stream: cudaStream_t) {
    const SOURCE: &CStr = cr#"
        #include <metal_stdlib>
        kernel void stray(device int *values [[buffer(0)]]) { values[1ul << 40] = 1; }
    "#;
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    let (mut values, one) = (memory.pointer, dim3 { x: 1, y: 1, z: 1 });
    // SAFETY: pointers to the handles, C strings, and an argument that fits the kernel.
    unsafe {
        ok(cudaMetalRegisterSource(&mut module, SOURCE.as_ptr()));
        ok(cudaMetalGetFunction(
            &mut function,
            module,
            c"stray".as_ptr(),
        ));
        let mut arguments = [ptr::from_mut(&mut values).cast::<c_void>()];
        let arguments = arguments.as_mut_ptr();
        ok(cudaLaunchKernel(function, one, one, arguments, 0, stream));
    }
}

#[test]
fn a_failed_device_fails_and_holds_up_no_other() {
    let test = "several_devices::a_failed_device_fails_and_holds_up_no_other";
    with_two_devices(test, || {
        let (far, failing) = (memory_of(1), stream(cudaStreamNonBlocking));
        let (near, done) = (memory_of(0), stream(cudaStreamNonBlocking));
        set_device(1);
        let failed = event(0);
        let gate = Gate::default();
        gate.close(failing);
        launch_stray(&far, failing);
        let code = cudaErrorIllegalAddress;
        // SAFETY: memory of that length, handles that are checked.
        unsafe {
            ok(cudaEventRecord(failed, failing));
            set_device(0);
            // The healthy device's stream waits for the work that fails, and has work on its device.
            ok(cudaStreamWaitEvent(done, failed, 0));
            ok(cudaMemsetAsync(far.pointer, 1, LENGTH, done));
            ok(cudaMemsetAsync(near.pointer, 2, LENGTH, done));
            gate.open();
            ok(cudaStreamSynchronize(done));
            set_device(1);
            expect(code, cudaDeviceSynchronize());
            set_device(0);
            ok(cudaDeviceSynchronize());
            assert_eq!(near.read(0, LENGTH), [2; LENGTH]);
            // Calls that touch the failed device's memory say so.
            let kind = cudaMemcpyDefault;
            expect(code, cudaMemset(far.pointer, 3, LENGTH));
            expect(code, cudaMemcpy(near.pointer, far.pointer, LENGTH, kind));
            expect(
                code,
                cudaMemcpyPeer(far.pointer, 1, near.pointer, 0, LENGTH),
            );
            expect(
                code,
                cudaMemcpyAsync(far.pointer, near.pointer, 8, kind, done),
            );
            ok(cudaStreamSynchronize(done));
            ok(cudaFree(far.pointer));
            set_device(1);
            ok(cudaDeviceReset());
        }
        let far = memory_of(1);
        set_device(0);
        far.write(0, &[4; LENGTH]);
        assert_eq!(far.read(0, LENGTH), [4; LENGTH]);
        assert_eq!(near.read(0, LENGTH), [2; LENGTH]);
    });
}

/// What a thread does with its own memory of both devices, in streams of both, whichever is current.
fn use_all_devices(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let memories = [memory_of(0), memory_of(1)];
    let mut model = [[0u8; LENGTH]; 2];
    let streams = [0, 1].map(|device| {
        set_device(device);
        stream(seed as u32 % 2)
    });
    for (memory, bytes) in memories.iter().zip(&model) {
        memory.write(0, bytes);
    }
    for _ in 0..150 {
        set_device(random.random_range(0..2));
        let (from, value) = (random.random_range(0..2), random.random());
        let (source, destination) = (&memories[from], &memories[1 - from]);
        let stream = streams[random.random_range(0..2)];
        let length = random.random_range(1..=LENGTH);
        // SAFETY: memory of that length, which lives on; handles of streams.
        match random.random_range(0..5) {
            0 => {
                ok(unsafe { cudaMemsetAsync(source.pointer, i32::from(value), length, stream) });
                synchronize(stream);
                model[from][..length].fill(value);
            }
            1 => {
                source.write(0, &vec![value; length]);
                model[from][..length].fill(value);
            }
            2 => assert_eq!(source.read(0, length), model[from][..length]),
            kind => {
                let (to, from_pointer) = (destination.pointer, source.pointer);
                let (to_device, from_device) = (1 - from as i32, from as i32);
                // SAFETY: as above.
                ok(unsafe {
                    if kind == 3 {
                        cudaMemcpyPeer(to, to_device, from_pointer, from_device, length)
                    } else {
                        cudaMemcpyPeerAsync(
                            to,
                            to_device,
                            from_pointer,
                            from_device,
                            length,
                            stream,
                        )
                    }
                });
                synchronize(if kind == 3 { ptr::null_mut() } else { stream });
                let copied = model[from];
                model[1 - from][..length].copy_from_slice(&copied[..length]);
            }
        }
    }
    for stream in streams {
        // SAFETY: checked by the call.
        ok(unsafe { cudaStreamDestroy(stream) });
    }
    for (memory, bytes) in memories.iter().zip(&model) {
        assert_eq!(memory.read(0, LENGTH), bytes);
    }
}

#[test]
fn threads_use_all_devices_at_once() {
    let test = "several_devices::threads_use_all_devices_at_once";
    with_two_devices(test, || {
        thread::scope(|scope| {
            for seed in 0..8 {
                scope.spawn(move || use_all_devices(seed));
            }
        });
    });
}

#[test]
fn events_of_another_device_are_refused() {
    let test = "several_devices::events_of_another_device_are_refused";
    with_two_devices(test, || {
        let [(near, _), (far, far_stream)] = [0, 1].map(|device| {
            set_device(device);
            (event(cudaEventDefault), stream(cudaStreamDefault))
        });
        let says = |expected: &str| {
            // SAFETY: the message lives until this thread's next error.
            let message = unsafe { CStr::from_ptr(cudaMetalGetLastErrorMessage()) };
            assert!(message.to_str().unwrap().contains(expected), "{message:?}");
        };
        let code = cudaErrorInvalidResourceHandle;
        let mut milliseconds = 0.0;
        // SAFETY: handles, checked by the calls, and a pointer to the result.
        unsafe {
            expect(code, cudaEventRecord(near, far_stream));
            says("the event is of device 0, but the stream of device 1");
            expect(code, cudaEventElapsedTime(&mut milliseconds, far, near));
            says("the first event is of device 1, but the second of device 0");
        }
    });
}
