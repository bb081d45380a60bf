//! Calls: streams.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::api::calls::calls;
use crate::api::out::{Out, out};
use crate::codes::*;
use crate::runtime::context::{Context, retire};
use crate::runtime::events::EVENTS;
use crate::runtime::failure::{Outcome, require};
use crate::runtime::handles::{DefaultStream, STREAMS, stream, stream_in_any_state};
use crate::runtime::stream::Stream;
use crate::types::*;

calls! {
    /// A blocking stream of the current device.
    cudaStreamCreate = create(stream: *mut cudaStream_t);
    /// A stream of the current device, `cudaStreamDefault` or `cudaStreamNonBlocking`.
    cudaStreamCreateWithFlags = create_with_flags(stream: *mut cudaStream_t, flags: c_uint);
    /// The same: Metal's queues have no priorities, so every one becomes 0, the only one of the range.
    cudaStreamCreateWithPriority = create_with_priority(
        stream: *mut cudaStream_t,
        flags: c_uint,
        priority: c_int,
    );
    /// Destroys a stream, and returns at once; the stream's work goes on to its end.
    cudaStreamDestroy = destroy(stream: cudaStream_t);
    /// `cudaSuccess` or `cudaErrorNotReady`.
    cudaStreamQuery, cudaStreamQuery_ptsz = query(stream: cudaStream_t);
    /// Waits for the stream's work.
    cudaStreamSynchronize, cudaStreamSynchronize_ptsz = synchronize(stream: cudaStream_t);
    /// Makes the stream's later work wait for what the event has last recorded. No thread waits.
    cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz = wait_event(
        stream: cudaStream_t,
        event: cudaEvent_t,
        flags: c_uint,
    );
    /// The flags that the stream was made with.
    cudaStreamGetFlags, cudaStreamGetFlags_ptsz = get_flags(stream: cudaStream_t, flags: *mut c_uint);
    /// The priority of every stream: 0.
    cudaStreamGetPriority, cudaStreamGetPriority_ptsz = get_priority(
        stream: cudaStream_t,
        priority: *mut c_int,
    );
}

unsafe fn create(stream: *mut cudaStream_t) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe { create_with_flags(stream, cudaStreamDefault) }
}

unsafe fn create_with_flags(stream: *mut cudaStream_t, flags: c_uint) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(stream, "stream") }?;
    let known = flags == cudaStreamDefault || flags == cudaStreamNonBlocking;
    require(known, cudaErrorInvalidValue, || {
        format!("flags must be cudaStreamDefault or cudaStreamNonBlocking, not {flags:#x}")
    })?;
    let created = Context::current()?.new_stream(flags)?;
    result.set(STREAMS.add(created));
    Ok(())
}

unsafe fn create_with_priority(
    stream: *mut cudaStream_t,
    flags: c_uint,
    _priority: c_int,
) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe { create_with_flags(stream, flags) }
}

unsafe fn destroy(handle: cudaStream_t) -> Outcome {
    STREAMS.remove(handle).map(retire)
}

unsafe fn query(default: DefaultStream, handle: cudaStream_t) -> Outcome {
    let stream = stream(default, handle)?;
    if !stream.is_idle() {
        return Err(cudaErrorNotReady.into());
    }
    // The work is done: this waits only until its failures have been noted.
    stream.synchronize()
}

unsafe fn synchronize(default: DefaultStream, handle: cudaStream_t) -> Outcome {
    stream_in_any_state(default, handle)?.synchronize()
}

unsafe fn wait_event(
    default: DefaultStream,
    handle: cudaStream_t,
    event: cudaEvent_t,
    flags: c_uint,
) -> Outcome {
    require(flags <= 1, cudaErrorInvalidValue, || {
        format!("flags must be cudaEventWaitDefault or cudaEventWaitExternal, not {flags:#x}")
    })?;
    let stream = stream(default, handle)?;
    match EVENTS.get(event)?.recorded() {
        Some(marker) => stream.wait_for(&marker),
        // As in CUDA, a wait for an event that was never recorded does nothing.
        None => Ok(()),
    }
}

unsafe fn get_flags(default: DefaultStream, handle: cudaStream_t, flags: *mut c_uint) -> Outcome {
    // SAFETY: the caller's promise.
    let result: Out<c_uint> = unsafe { out(flags, "flags") }?;
    let stream: Arc<Stream> = stream(default, handle)?;
    result.set(stream.flags);
    Ok(())
}

unsafe fn get_priority(
    default: DefaultStream,
    handle: cudaStream_t,
    priority: *mut c_int,
) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(priority, "priority") }?;
    stream(default, handle)?;
    result.set(0);
    Ok(())
}
