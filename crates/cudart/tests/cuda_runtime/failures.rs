//! What fails while it runs: kernels that fault, injected failures, devices that are lost; and the reset that mends it.
//! Each in a process of its own.

use std::ffi::{CStr, c_void};
use std::ptr;

use metal_bridge::command_buffer_error::INTERNAL;
use metal_bridge_test_support::{failures, in_child, in_child_with};
use metal_cudart::*;

use crate::support::*;

const LENGTH: usize = 4096;

const SOURCE: &CStr = cr#"
#include <metal_stdlib>
using namespace metal;
kernel void stray(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    values[ulong(i) + (1ul << 40)] = 1;
}
kernel void spin(device volatile int *values [[buffer(0)]]) {
    while (values[0] == 0) {}
}
"#;

fn launch(name: &CStr, memory: &Memory, stream: cudaStream_t) {
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    let mut values = memory.pointer;
    let one = dim3 { x: 1, y: 1, z: 1 };
    // SAFETY: pointers to the handles, C strings, and an argument that fits the kernel.
    unsafe {
        ok(cudaMetalRegisterSource(&mut module, SOURCE.as_ptr()));
        ok(cudaMetalGetFunction(&mut function, module, name.as_ptr()));
        let arguments = &mut [ptr::from_mut(&mut values).cast::<c_void>()];
        ok(cudaLaunchKernel(
            function,
            one,
            one,
            arguments.as_mut_ptr(),
            0,
            stream,
        ));
    }
}

unsafe extern "C-unwind" fn store(_: cudaStream_t, status: cudaError_t, told: *mut c_void) {
    // SAFETY: the variable outlives the stream's work.
    unsafe { *told.cast::<cudaError_t>() = status };
}

unsafe extern "C-unwind" fn must_not_be_called(_: *mut c_void) {
    std::process::abort();
}

/// A device whose work has failed: every call says so, as often as it is asked, until the reset.
fn assert_sticky(code: cudaError_t, memory: &Memory, stream: cudaStream_t) {
    let mut pointer = ptr::null_mut();
    // SAFETY: calls that fail.
    unsafe {
        expect(code, cudaStreamSynchronize(stream));
        for _ in 0..2 {
            assert_eq!(cudaPeekAtLastError(), code);
            assert_eq!(cudaGetLastError(), code);
        }
        expect(code, cudaStreamQuery(stream));
        expect(code, cudaDeviceSynchronize());
        expect(code, cudaMalloc(&mut pointer, 16));
        expect(code, cudaFree(memory.pointer));
        expect(code, cudaMemset(memory.pointer, 0, 16));
        expect(code, cudaStreamCreate(&mut pointer));
        assert!(pointer.is_null());
        // These calls are about the thread and the process, not about the device.
        ok(cudaSetDevice(0));
        ok(cudaGetDeviceCount(&mut 0));
    }
}

/// The reset forgets the failure with all that the device had, and everything works again.
fn assert_mended_by_reset(memory: Memory, stream: cudaStream_t) {
    // SAFETY: handles, which are checked.
    unsafe {
        ok(cudaDeviceReset());
        // Forgets the thread's own error, which the calls above left.
        cudaGetLastError();
        ok(cudaGetLastError());
        expect(cudaErrorInvalidValue, cudaFree(memory.pointer));
        expect(
            cudaErrorInvalidResourceHandle,
            cudaStreamSynchronize(stream),
        );
        ok(cudaDeviceSynchronize());
    }
    std::mem::forget(memory);
    let memory = Memory::device(LENGTH);
    memory.write(0, &[3; LENGTH]);
    assert_eq!(memory.read(0, LENGTH), [3; LENGTH]);
}

#[test]
fn a_faulting_kernel_fails_its_device_until_the_reset() {
    let test = "failures::a_faulting_kernel_fails_its_device_until_the_reset";
    in_child(test, || {
        let (memory, stream) = (Memory::device(LENGTH), stream(cudaStreamNonBlocking));
        let mut told = 12345;
        launch(c"stray", &memory, stream);
        // SAFETY: functions that take what they are given.
        unsafe {
            // These are accepted before the failure is known, and refused once it has been noticed.
            let context = ptr::from_mut(&mut told).cast();
            let added = cudaStreamAddCallback(stream, Some(store), context, 0);
            let called = cudaLaunchHostFunc(stream, Some(must_not_be_called), ptr::null_mut());
            for code in [added, called] {
                assert!(
                    [cudaSuccess, cudaErrorIllegalAddress].contains(&code),
                    "{code}"
                );
            }
            cudaStreamSynchronize(stream);
            assert_eq!(
                told,
                if added == cudaSuccess {
                    cudaErrorIllegalAddress
                } else {
                    12345
                }
            );
        }
        assert_sticky(cudaErrorIllegalAddress, &memory, stream);
        assert_mended_by_reset(memory, stream);
    });
}

#[test]
fn a_kernel_that_does_not_end_is_a_timeout() {
    let test = "failures::a_kernel_that_does_not_end_is_a_timeout";
    in_child_with(test, &[("SOFTWARE_METAL_TIMEOUT", "1")], || {
        let (memory, stream) = (Memory::device(LENGTH), stream(0));
        memory.write(0, &[0; LENGTH]);
        launch(c"spin", &memory, stream);
        assert_sticky(cudaErrorLaunchTimeout, &memory, stream);
        assert_mended_by_reset(memory, stream);
    });
}

#[test]
fn a_failed_copy_is_its_callers_and_the_devices() {
    let test = "failures::a_failed_copy_is_its_callers_and_the_devices";
    in_child(test, || {
        let (memory, stream) = (Memory::device(LENGTH), stream(0));
        let mut bytes = [0u8; LENGTH];
        failures::fail_command_buffer(1, INTERNAL);
        let host = bytes.as_mut_ptr().cast();
        // SAFETY: the array has the bytes.
        let code = unsafe { cudaMemcpy(host, memory.pointer, LENGTH, cudaMemcpyDeviceToHost) };
        expect(cudaErrorLaunchFailure, code);
        failures::reset();
        assert_sticky(cudaErrorLaunchFailure, &memory, stream);
        assert_mended_by_reset(memory, stream);
    });
}

/// If a pageable source cannot be staged beside what is in use, the call waits and copies, as CUDA's may.
#[test]
fn a_full_device_takes_copies_from_pageable_memory() {
    const ALL: usize = 64 << 20;
    let test = "failures::a_full_device_takes_copies_from_pageable_memory";
    let variables = [("SOFTWARE_METAL_WORKING_SET", "67108864")];
    in_child_with(test, &variables, || {
        let memory = Memory::device(ALL - (1 << 20));
        let stream = stream(cudaStreamNonBlocking);
        let length = 4 << 20;
        for value in 1..4u8 {
            let bytes = vec![value; length];
            let (to, from) = (memory.at(value as usize), bytes.as_ptr().cast());
            // SAFETY: the vector has the bytes until the call has returned.
            unsafe {
                ok(cudaMemsetAsync(memory.pointer, 0, length + 8, stream));
                let kind = cudaMemcpyHostToDevice;
                ok(cudaMemcpyAsync(to, from, length, kind, stream));
                drop(bytes);
                synchronize(stream);
            }
            let mut back = vec![0; length];
            let host = back.as_mut_ptr().cast();
            // SAFETY: the vector has the bytes.
            ok(unsafe { cudaMemcpy(host, to, length, cudaMemcpyDeviceToHost) });
            assert_eq!(back, vec![value; length]);
        }
        ok(cudaGetLastError());
    });
}

/// Waits for a stream's work in one of the ways there are, and gives what that says.
fn wait_in_some_way(
    way: u32,
    stream: cudaStream_t,
    memory: &Memory,
    done: cudaEvent_t,
) -> cudaError_t {
    let mut told = cudaSuccess;
    let mut bytes = [0u8; LENGTH];
    let polled = |query: &dyn Fn() -> cudaError_t| {
        let mut answers = std::iter::repeat_with(query);
        answers.find(|code| *code != cudaErrorNotReady).unwrap()
    };
    // SAFETY: handles that are checked, memory of that length, and a function that takes what it is given.
    unsafe {
        match way {
            0 => cudaStreamSynchronize(stream),
            1 => polled(&|| cudaStreamQuery(stream)),
            2 | 3 => match cudaEventRecord(done, stream) {
                0 if way == 2 => cudaEventSynchronize(done),
                0 => polled(&|| cudaEventQuery(done)),
                code => code,
            },
            4 => {
                let (to, kind) = (bytes.as_mut_ptr().cast(), cudaMemcpyDeviceToHost);
                cudaMemcpyAsync(to, memory.pointer, LENGTH, kind, stream)
            }
            _ => {
                let context = ptr::from_mut(&mut told).cast();
                let code = cudaStreamAddCallback(stream, Some(store), context, 0);
                let waited = cudaStreamSynchronize(stream);
                if code == cudaSuccess { told } else { waited }
            }
        }
    }
}

/// A stream waits for a second one's event, and the second for a third one's: a wait for the first tells the failure
/// of the third one's work. A queue goes on as soon as the event is signalled, but no call may report success before
/// the failure is known.
#[test]
fn a_failure_is_known_after_a_wait_for_its_stream() {
    let test = "failures::a_failure_is_known_after_a_wait_for_its_stream";
    in_child(test, || {
        for round in 0..60 {
            let memory = Memory::device(LENGTH);
            let streams = [0; 3].map(|_| stream(cudaStreamNonBlocking));
            let events = [0; 3].map(|_| event(cudaEventDisableTiming));
            let [failing, between, last] = streams;
            let gate = Gate::default();
            fall_behind(&gate, &memory, failing);
            failures::fail_command_buffer(1, INTERNAL);
            // SAFETY: memory of that length, and handles that are checked.
            unsafe {
                ok(cudaMemsetAsync(memory.pointer, 2, LENGTH, failing));
                ok(cudaEventRecord(events[0], failing));
                ok(cudaStreamWaitEvent(between, events[0], 0));
                ok(cudaEventRecord(events[1], between));
                ok(cudaStreamWaitEvent(last, events[1], 0));
                ok(cudaMemsetAsync(memory.pointer, 3, LENGTH, last));
                gate.open();
                let code = wait_in_some_way(round % 6, last, &memory, events[2]);
                assert_eq!(code, cudaErrorLaunchFailure, "round {round}");
                failures::reset();
                ok(cudaDeviceReset());
                std::mem::forget(memory);
            }
        }
    });
}

/// Pending work may use the program's memory, so waits last as long as the work on a failed device too.
#[test]
fn waiting_ends_with_the_work_on_a_failed_device_too() {
    let test = "failures::waiting_ends_with_the_work_on_a_failed_device_too";
    in_child(test, || {
        let (memory, gate) = (Memory::device(LENGTH), Gate::default());
        let (held, failing) = (stream(cudaStreamNonBlocking), stream(cudaStreamNonBlocking));
        let mut told = cudaSuccess;
        gate.close(held);
        // SAFETY: memory of that length, handles that are checked, and a function that takes what it is given.
        unsafe {
            let context = ptr::from_mut(&mut told).cast();
            ok(cudaStreamAddCallback(held, Some(store), context, 0));
            failures::fail_command_buffer(1, INTERNAL);
            ok(cudaMemsetAsync(memory.pointer, 1, LENGTH, failing));
            expect(cudaErrorLaunchFailure, cudaStreamSynchronize(failing));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(30));
                gate.open();
            });
            // SAFETY: a handle, checked by the call.
            expect(cudaErrorLaunchFailure, unsafe {
                cudaStreamSynchronize(held)
            });
            assert_eq!(told, cudaErrorLaunchFailure);
        });
        failures::reset();
        std::mem::forget(memory);
    });
}

#[test]
fn a_lost_device_says_so_to_who_waits() {
    let test = "failures::a_lost_device_says_so_to_who_waits";
    in_child(test, || {
        let (memory, stream) = (Memory::device(LENGTH), stream(0));
        failures::lose_device(1);
        // SAFETY: memory of that length.
        unsafe {
            for _ in 0..10 {
                // Accepted until the loss has been noticed.
                let code = cudaMemsetAsync(memory.pointer, 1, LENGTH, stream);
                assert!(
                    [cudaSuccess, cudaErrorDevicesUnavailable].contains(&code),
                    "{code}"
                );
            }
        }
        assert_sticky(cudaErrorDevicesUnavailable, &memory, stream);
        failures::reset();
        assert_mended_by_reset(memory, stream);
    });
}

/// Every allocation in turn fails once: the call says so, and the next one works.
#[test]
fn failed_allocations_are_out_of_memory() {
    let test = "failures::failed_allocations_are_out_of_memory";
    in_child(test, || {
        ok(cudaGetLastError());
        drop(Memory::device(LENGTH));
        let mut pointer = ptr::null_mut();
        for kind in [Kind::Device, Kind::Pinned, Kind::Managed] {
            failures::fail_allocation(1);
            // More than what is kept for the next allocation.
            let length = 3 << 20;
            // SAFETY: a result pointer.
            let code = unsafe {
                match kind {
                    Kind::Device => cudaMalloc(&mut pointer, length),
                    Kind::Pinned => cudaMallocHost(&mut pointer, length),
                    Kind::Managed => cudaMallocManaged(&mut pointer, length, cudaMemAttachGlobal),
                }
            };
            failures::reset();
            // If the allocation was tried again once kept memory was released, it has worked.
            if code != cudaSuccess {
                expect(cudaErrorMemoryAllocation, code);
                assert!(pointer.is_null());
                assert_eq!(cudaGetLastError(), cudaErrorMemoryAllocation);
            }
            let memory = Memory::new(kind, length);
            memory.write(length - 1, &[9]);
            assert_eq!(memory.read(length - 1, 1), [9]);
            // SAFETY: NULL, or allocated above.
            unsafe {
                match kind {
                    Kind::Pinned => ok(cudaFreeHost(pointer)),
                    _ => ok(cudaFree(pointer)),
                }
            }
            pointer = ptr::null_mut();
        }
    });
}
