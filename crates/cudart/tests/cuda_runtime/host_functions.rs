//! Host functions and callbacks: their position in the order, what they may do, and what they do wrong.

use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use metal_cudart::*;

use crate::support::*;

const LENGTH: usize = 4096;

/// What functions of a stream have written down, in their order.
#[derive(Default)]
struct Diary(Mutex<Vec<cudaError_t>>);

impl Diary {
    fn context(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    fn take(&self) -> Vec<cudaError_t> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// # Safety
///
/// `context` is a diary that lives.
unsafe fn write_down(context: *mut c_void, entry: cudaError_t) {
    // SAFETY: the caller's promise.
    unsafe { &*context.cast::<Diary>() }
        .0
        .lock()
        .unwrap()
        .push(entry);
}

unsafe extern "C-unwind" fn callback(_: cudaStream_t, status: cudaError_t, context: *mut c_void) {
    // SAFETY: the diary outlives the stream's work.
    unsafe { write_down(context, status) };
}

unsafe extern "C-unwind" fn call_back_in(context: *mut c_void) {
    // SAFETY: the diary outlives the stream's work; the calls are refused.
    unsafe {
        let mut pointer = ptr::null_mut();
        write_down(context, cudaMalloc(&mut pointer, 16));
        write_down(context, cudaStreamSynchronize(ptr::null_mut()));
        write_down(context, cudaDeviceSynchronize());
        write_down(
            context,
            cudaLaunchHostFunc(ptr::null_mut(), Some(call_back_in), context),
        );
        assert!(pointer.is_null());
    }
}

unsafe extern "C-unwind" fn fail(_: *mut c_void) {
    panic!("expected: a host function of the test panics");
}

/// Adds 1 to every byte of pinned memory.
unsafe extern "C-unwind" fn increment(context: *mut c_void) {
    // SAFETY: pinned memory of that length, which the stream's other work uses before and after.
    let bytes = unsafe { std::slice::from_raw_parts_mut(context.cast::<u8>(), LENGTH) };
    bytes.iter_mut().for_each(|byte| *byte += 1);
}

/// Fills the program's own memory, after what the caller does next has begun.
unsafe extern "C-unwind" fn fill_late(context: *mut c_void) {
    thread::sleep(Duration::from_millis(30));
    // SAFETY: memory of that length, which the program waits for.
    unsafe { context.cast::<u8>().write_bytes(7, LENGTH) };
}

#[test]
fn copies_read_what_earlier_host_functions_wrote() {
    let (device, stream) = (Memory::device(LENGTH), stream(cudaStreamNonBlocking));
    let mut host = vec![0u8; LENGTH];
    let bytes: *mut c_void = host.as_mut_ptr().cast();
    // SAFETY: memory of that length, and a function that takes it.
    unsafe {
        ok(cudaLaunchHostFunc(ptr::null_mut(), Some(fill_late), bytes));
        ok(cudaMemcpy(device.pointer, bytes, LENGTH, cudaMemcpyDefault));
        assert_eq!(device.read(0, LENGTH), [7; LENGTH]);
        bytes.write_bytes(0, LENGTH);
        ok(cudaLaunchHostFunc(stream, Some(fill_late), bytes));
        let ahead = bytes.wrapping_byte_add(16);
        ok(cudaMemcpyAsync(
            ahead,
            bytes,
            32,
            cudaMemcpyHostToHost,
            stream,
        ));
    }
    assert_eq!(host, [7; LENGTH]);
}

#[test]
fn host_functions_run_between_earlier_and_later_work() {
    let (device, host) = (Memory::device(LENGTH), Memory::pinned(LENGTH));
    let stream = stream(cudaStreamNonBlocking);
    // SAFETY: memory of that length, and functions that take it.
    unsafe {
        ok(cudaMemsetAsync(device.pointer, 10, LENGTH, stream));
        for _ in 0..20 {
            let (device, host) = (device.pointer, host.pointer);
            ok(cudaMemcpyAsync(
                host,
                device,
                LENGTH,
                cudaMemcpyDeviceToHost,
                stream,
            ));
            ok(cudaLaunchHostFunc(stream, Some(increment), host));
            ok(cudaMemcpyAsync(
                device,
                host,
                LENGTH,
                cudaMemcpyHostToDevice,
                stream,
            ));
        }
        synchronize(stream);
        ok(cudaStreamDestroy(stream));
    }
    assert_eq!(device.read(0, LENGTH), [30; LENGTH]);
}

#[test]
fn callbacks_get_the_state_and_may_not_call_cuda() {
    let diary = Diary::default();
    // SAFETY: functions that take the diary.
    unsafe {
        let stream = stream(cudaStreamDefault);
        ok(cudaStreamAddCallback(
            stream,
            Some(callback),
            diary.context(),
            0,
        ));
        ok(cudaLaunchHostFunc(
            stream,
            Some(call_back_in),
            diary.context(),
        ));
        synchronize(stream);
        assert_eq!(
            diary.take(),
            [
                cudaSuccess,
                cudaErrorNotPermitted,
                cudaErrorNotPermitted,
                cudaErrorNotPermitted,
                cudaErrorNotPermitted
            ]
        );
        ok(cudaGetLastError());
        let bad = cudaErrorInvalidValue;
        expect(bad, cudaStreamAddCallback(stream, None, ptr::null_mut(), 0));
        expect(
            bad,
            cudaStreamAddCallback(stream, Some(callback), diary.context(), 1),
        );
        expect(bad, cudaLaunchHostFunc(stream, None, ptr::null_mut()));
        ok(cudaStreamDestroy(stream));
        let gone = cudaErrorInvalidResourceHandle;
        expect(
            gone,
            cudaLaunchHostFunc(stream, Some(call_back_in), diary.context()),
        );
    }
    assert!(diary.take().is_empty());
}

#[test]
fn a_host_function_that_panics_holds_nothing_up() {
    let diary = Diary::default();
    let stream = stream(cudaStreamDefault);
    // SAFETY: functions that take the diary, or nothing.
    unsafe {
        ok(cudaLaunchHostFunc(stream, Some(fail), ptr::null_mut()));
        ok(cudaStreamAddCallback(
            stream,
            Some(callback),
            diary.context(),
            0,
        ));
        synchronize(stream);
        ok(cudaStreamDestroy(stream));
    }
    assert_eq!(diary.take(), [cudaSuccess]);
}

#[test]
fn a_waiting_host_function_holds_up_its_stream_alone() {
    let (first, second) = (Gate::default(), Gate::default());
    let (one, two) = (stream(cudaStreamNonBlocking), stream(cudaStreamNonBlocking));
    first.close(one);
    first.wait_for_arrival();
    second.close(two);
    second.wait_for_arrival();
    second.open();
    synchronize(two);
    // SAFETY: handles, checked by the calls.
    unsafe {
        expect(cudaErrorNotReady, cudaStreamQuery(one));
        first.open();
        synchronize(one);
        ok(cudaStreamDestroy(one));
        ok(cudaStreamDestroy(two));
    }
}
