//! Calls: host functions and callbacks of streams.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use metal_bridge::sys::{self, create};

use crate::api::calls::calls;
use crate::codes::*;
use crate::runtime::commands::{Committed, Completion};
use crate::runtime::contained::contain;
use crate::runtime::failure::{Failed, Outcome, as_host_function, require_no_flags};
use crate::runtime::handles::{DefaultStream, stream};
use crate::runtime::stream::Stream;
use crate::runtime::timeline::Ends;
use crate::types::*;

calls! {
    /// Makes the stream call a function after its earlier work and before its later work. If the device's work has
    /// failed, the function is not called.
    cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz = launch(
        stream: cudaStream_t,
        function: cudaHostFn_t,
        user_data: *mut c_void,
    );
    /// Makes the stream call a function with the state of the device's work, failed or not.
    cudaStreamAddCallback, cudaStreamAddCallback_ptsz = add_callback(
        stream: cudaStream_t,
        callback: cudaStreamCallback_t,
        user_data: *mut c_void,
        flags: c_uint,
    );
}

/// What a stream is to call.
enum Function {
    Host(unsafe extern "C-unwind" fn(*mut c_void)),
    Callback(
        unsafe extern "C-unwind" fn(cudaStream_t, cudaError_t, *mut c_void),
        cudaStream_t,
    ),
}

struct HostCall {
    function: Function,
    user_data: *mut c_void,
    /// The stream's work before the call.
    earlier: Ends,
    completion: Arc<Completion>,
}

impl HostCall {
    fn call(&self) {
        // The work is done: this waits only until its failures have been noted. A wait that fails has nothing to
        // wait for.
        _ = self.earlier.wait();
        let state = self.completion.device_failure();
        match self.function {
            Function::Host(_) if state != cudaSuccess => {}
            // SAFETY: the program's own function, with the data that it gave for it.
            Function::Host(function) => unsafe { function(self.user_data) },
            // SAFETY: as above.
            Function::Callback(function, stream) => unsafe {
                function(stream, state, self.user_data);
            },
        }
    }
}

unsafe extern "C-unwind" fn call_function(context: *mut c_void) {
    // SAFETY: the context is a host call, which lives until the destructor.
    unsafe { &*context.cast::<HostCall>() }.call();
}

unsafe extern "C" fn run(context: *mut c_void) {
    as_host_function(|| {
        // SAFETY: the context is what `call_function` takes.
        unsafe { contain(call_function, context) };
    });
}

unsafe extern "C" fn end(told: *const sys::mtb_completion, context: *mut c_void) {
    // SAFETY: the context is a host call, which holds a reference to its completion; the bridge lends both for the call.
    unsafe {
        let call = &*context.cast::<HostCall>();
        sys::complete::<Completion>(told, Arc::as_ptr(&call.completion).cast_mut().cast());
    }
}

unsafe extern "C" fn release(context: *mut c_void) {
    // SAFETY: the context is a boxed host call, given back once.
    drop(unsafe { Box::from_raw(context.cast::<HostCall>()) });
}

fn enqueue(stream: &Stream, function: Function, user_data: *mut c_void) -> Outcome {
    stream.enqueue_after(|progress| {
        let completion = Completion::new(&stream.state().sticky);
        let call = HostCall {
            function,
            user_data,
            earlier: progress.ends(),
            completion: completion.clone(),
        };
        let context: *mut c_void = Box::into_raw(Box::new(call)).cast();
        // SAFETY: the queue is live, and the context, which the bridge takes over, is one that all three functions take;
        // the call returns an owned command buffer, or NULL and an owned error.
        let commands = unsafe {
            create(|error| {
                sys::mtb_command_queue_call_host_function(
                    stream.queue().as_ptr(),
                    Some(run),
                    Some(end),
                    context,
                    Some(release),
                    error,
                )
            })
        }?;
        Ok(Committed::new(commands, completion))
    })
}

unsafe fn launch(
    default: DefaultStream,
    handle: cudaStream_t,
    function: cudaHostFn_t,
    user_data: *mut c_void,
) -> Outcome {
    let stream = stream(default, handle)?;
    let function =
        function.ok_or_else(|| Failed::new(cudaErrorInvalidValue, "the function is NULL"))?;
    enqueue(&stream, Function::Host(function), user_data)
}

unsafe fn add_callback(
    default: DefaultStream,
    handle: cudaStream_t,
    callback: cudaStreamCallback_t,
    user_data: *mut c_void,
    flags: c_uint,
) -> Outcome {
    require_no_flags(flags)?;
    let stream = stream(default, handle)?;
    let callback =
        callback.ok_or_else(|| Failed::new(cudaErrorInvalidValue, "the callback is NULL"))?;
    enqueue(&stream, Function::Callback(callback, handle), user_data)
}
