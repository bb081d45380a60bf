//! Calls: events.

use std::ffi::c_uint;
use std::sync::Arc;

use crate::api::calls::calls;
use crate::api::out::out;
use crate::codes::*;
use crate::runtime::context::Context;
use crate::runtime::events::{EVENTS, Event};
use crate::runtime::failure::{Outcome, require, require_no_flags};
use crate::runtime::handles::{DefaultStream, stream};
use crate::types::*;

calls! {
    /// An event of the current device.
    cudaEventCreate = create(event: *mut cudaEvent_t);
    /// The same, with `cudaEventBlockingSync` (a hint) or `cudaEventDisableTiming`.
    cudaEventCreateWithFlags = create_with_flags(event: *mut cudaEvent_t, flags: c_uint);
    /// Destroys the event; work that waits for what it recorded still does.
    cudaEventDestroy = destroy(event: cudaEvent_t);
    /// Records the stream's present point. No thread waits.
    cudaEventRecord, cudaEventRecord_ptsz = record(event: cudaEvent_t, stream: cudaStream_t);
    /// The same; the only flags are `cudaEventRecordDefault`.
    cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz = record_with_flags(
        event: cudaEvent_t,
        stream: cudaStream_t,
        flags: c_uint,
    );
    /// `cudaSuccess` or `cudaErrorNotReady`.
    cudaEventQuery = query(event: cudaEvent_t);
    /// Waits until the recorded point is reached.
    cudaEventSynchronize = synchronize(event: cudaEvent_t);
    /// Milliseconds between the times at which two recorded points were reached.
    cudaEventElapsedTime = elapsed_time(ms: *mut f32, start: cudaEvent_t, end: cudaEvent_t);
}

unsafe fn create(event: *mut cudaEvent_t) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe { create_with_flags(event, cudaEventDefault) }
}

unsafe fn create_with_flags(event: *mut cudaEvent_t, flags: c_uint) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(event, "event") }?;
    require(
        flags & !(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess) == 0,
        cudaErrorInvalidValue,
        || format!("unknown event flags {flags:#x}"),
    )?;
    require(
        flags & cudaEventInterprocess == 0 || flags & cudaEventDisableTiming != 0,
        cudaErrorInvalidValue,
        || "an event for other processes needs cudaEventDisableTiming".to_owned(),
    )?;
    require(
        flags & cudaEventInterprocess == 0,
        cudaErrorNotSupported,
        || "this runtime does not share events between processes".to_owned(),
    )?;
    let created = Event::new(Context::current()?.state.clone(), flags);
    result.set(EVENTS.add(Arc::new(created)));
    Ok(())
}

unsafe fn destroy(event: cudaEvent_t) -> Outcome {
    EVENTS.remove(event).map(drop)
}

unsafe fn record(default: DefaultStream, event: cudaEvent_t, handle: cudaStream_t) -> Outcome {
    let event = EVENTS.get(event)?;
    let stream = stream(default, handle)?;
    require(
        Arc::ptr_eq(&event.state, stream.state()),
        cudaErrorInvalidResourceHandle,
        || {
            let (own, other) = (event.device(), stream.state().device.index);
            format!("the event is of device {own}, but the stream of device {other}")
        },
    )?;
    let marker = stream.record(event.keeps_time())?;
    event.record(marker);
    Ok(())
}

unsafe fn record_with_flags(
    default: DefaultStream,
    event: cudaEvent_t,
    handle: cudaStream_t,
    flags: c_uint,
) -> Outcome {
    // The other flag, cudaEventRecordExternal, is for captures, which the runtime does not have.
    require_no_flags(flags)?;
    // SAFETY: the caller's promise.
    unsafe { record(default, event, handle) }
}

unsafe fn query(event: cudaEvent_t) -> Outcome {
    let event = EVENTS.get(event)?;
    event.state.sticky.check()?;
    match event.recorded() {
        Some(marker) if !marker.commands.has_ended() => Err(cudaErrorNotReady.into()),
        Some(marker) => {
            // The work is done: this waits only until its failures have been noted.
            marker.wait()?;
            event.state.sticky.check()
        }
        None => Ok(()),
    }
}

unsafe fn synchronize(event: cudaEvent_t) -> Outcome {
    let event = EVENTS.get(event)?;
    if let Some(marker) = event.recorded() {
        marker.wait()?;
    }
    event.state.sticky.check()
}

unsafe fn elapsed_time(ms: *mut f32, start: cudaEvent_t, end: cudaEvent_t) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(ms, "ms") }?;
    let (start, end) = (EVENTS.get(start)?, EVENTS.get(end)?);
    require(
        Arc::ptr_eq(&start.state, &end.state),
        cudaErrorInvalidResourceHandle,
        || {
            let (first, second) = (start.device(), end.device());
            format!("the first event is of device {first}, but the second of device {second}")
        },
    )?;
    start.state.sticky.check()?;
    let milliseconds = (end.time()? - start.time()?) * 1e3;
    result.set(milliseconds as f32);
    Ok(())
}
