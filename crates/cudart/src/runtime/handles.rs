//! From the handles of a call to the streams behind them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

use crate::codes::cudaErrorCudartUnloading;
use crate::runtime::context::{Context, retire};
use crate::runtime::devices::Device;
use crate::runtime::failure::{Failed, Outcome};
use crate::runtime::registry::Registry;
use crate::runtime::stream::Stream;
use crate::types::*;

pub(crate) static STREAMS: Registry<Stream> = Registry::new("stream");

/// Which stream 0 means in a call. The name of the called function tells, which depends on how the caller was
/// compiled.
#[derive(Clone, Copy)]
pub(crate) enum DefaultStream {
    Legacy,
    PerThread,
}

/// Which stream a call's work is for, and whether the call is one of the synchronous ones, which do not name
/// a stream.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    default: DefaultStream,
    handle: cudaStream_t,
    pub(crate) waits: bool,
}

impl Target {
    pub(crate) fn synchronous(default: DefaultStream) -> Target {
        Target {
            default,
            handle: ptr::null_mut(),
            waits: true,
        }
    }

    pub(crate) fn asynchronous(default: DefaultStream, handle: cudaStream_t) -> Target {
        Target {
            default,
            handle,
            waits: false,
        }
    }

    /// The stream. Fails with what its device's work has failed with.
    pub(crate) fn stream(self) -> Outcome<Arc<Stream>> {
        stream(self.default, self.handle)
    }
}

/// A thread's own streams, by device.
#[derive(Default)]
struct ThreadStreams(RefCell<HashMap<i32, Arc<Stream>>>);

thread_local! {
    static OWN: ThreadStreams = ThreadStreams::default();
}

impl Drop for ThreadStreams {
    fn drop(&mut self) {
        for stream in self.0.take().into_values() {
            retire(stream);
        }
    }
}

/// The calling thread's default stream on its device.
fn per_thread(context: &Context) -> Outcome<Arc<Stream>> {
    let found = OWN.try_with(|own| {
        let mut streams = own.0.borrow_mut();
        let index = context.state.device.index;
        match streams.get(&index) {
            Some(stream) if Arc::ptr_eq(stream.state(), &context.state) => Ok(stream.clone()),
            // There is no stream yet, or the device was reset since.
            _ => {
                let stream = context.new_stream(cudaStreamDefault)?;
                streams.insert(index, stream.clone());
                Ok(stream)
            }
        }
    });
    found.unwrap_or_else(|_| {
        let message = "this thread is exiting, and its default stream has been destroyed";
        Err(Failed::new(cudaErrorCudartUnloading, message))
    })
}

/// The stream that a call means. Fails with what its device's work has failed with.
pub(crate) fn stream(default: DefaultStream, handle: cudaStream_t) -> Outcome<Arc<Stream>> {
    let stream = stream_in_any_state(default, handle)?;
    stream.state().sticky.check()?;
    Ok(stream)
}

/// The same for calls that wait, even on a failed device: its pending work may still use the program's memory.
pub(crate) fn stream_in_any_state(
    default: DefaultStream,
    handle: cudaStream_t,
) -> Outcome<Arc<Stream>> {
    let default = match (handle.addr(), default) {
        (0, default) => default,
        (cudaStreamLegacy, _) => DefaultStream::Legacy,
        (cudaStreamPerThread, _) => DefaultStream::PerThread,
        _ => return STREAMS.get(handle),
    };
    let context = Context::of_in_any_state(Device::current()?)?;
    match default {
        DefaultStream::Legacy => context.legacy(),
        DefaultStream::PerThread => per_thread(&context),
    }
}
