//! [`Context`]: all that a device has from its first use until it is reset.

use std::mem;
use std::sync::{Arc, Mutex, OnceLock};

use crate::codes::{cudaError_t, cudaErrorContextIsDestroyed, cudaSuccess};
use crate::runtime::device_state::DeviceState;
use crate::runtime::devices::{self, Device};
use crate::runtime::failure::Outcome;
use crate::runtime::lock::lock;
use crate::runtime::marker::Marker;
use crate::runtime::stream::{Role, Stream, Streams};
use crate::types::cudaStreamNonBlocking;

pub(crate) struct Context {
    pub(crate) state: Arc<DeviceState>,
    streams: Arc<Streams>,
    /// `None` after the reset.
    legacy: Mutex<Option<Arc<Stream>>>,
    /// Streams that were destroyed with work pending, until that is done.
    retired: Mutex<Vec<Arc<Stream>>>,
    /// The marker that streams made later come after too.
    fence: Mutex<Option<Marker>>,
}

type Slot = Mutex<Option<Arc<Context>>>;

/// Where the device's context is, from the device's first use until it is reset.
fn slot(device: &Device) -> &'static Slot {
    static SLOTS: OnceLock<Vec<Slot>> = OnceLock::new();
    let slots = SLOTS.get_or_init(|| devices::all().iter().map(|_| Slot::default()).collect());
    &slots[device.index as usize]
}

impl Context {
    /// The context of the calling thread's device.
    pub(crate) fn current() -> Outcome<Arc<Context>> {
        Context::of(Device::current()?)
    }

    /// What the device has, made at its first use. Fails with what the device's earlier work failed with.
    pub(crate) fn of(device: &'static Device) -> Outcome<Arc<Context>> {
        let context = Context::of_in_any_state(device)?;
        context.state.sticky.check()?;
        Ok(context)
    }

    /// The same, even if the device's work has failed.
    pub(crate) fn of_in_any_state(device: &'static Device) -> Outcome<Arc<Context>> {
        let mut slot = lock(slot(device));
        Ok(match &*slot {
            Some(context) => context.clone(),
            None => slot.insert(Context::new(device)?).clone(),
        })
    }

    /// What the device has, if it has been used, failed or not.
    pub(crate) fn in_use(device: &Device) -> Option<Arc<Context>> {
        lock(slot(device)).clone()
    }

    /// The contexts of all devices that have been used.
    pub(crate) fn all_in_use() -> impl Iterator<Item = Arc<Context>> {
        devices::all().iter().filter_map(Context::in_use)
    }

    /// The context that this state belongs to; `None` after a reset.
    pub(crate) fn holding(state: &Arc<DeviceState>) -> Option<Arc<Context>> {
        Context::in_use(state.device).filter(|context| Arc::ptr_eq(&context.state, state))
    }

    /// Forgets what the device has; the next use makes it anew.
    pub(crate) fn take(device: &Device) -> Option<Arc<Context>> {
        lock(slot(device)).take()
    }

    /// The failure of the device's earlier work, if there is one.
    pub(crate) fn failure(device: &Device) -> cudaError_t {
        Context::in_use(device).map_or(cudaSuccess, |context| context.state.sticky.get())
    }

    fn new(device: &'static Device) -> Outcome<Arc<Context>> {
        let state = Arc::new(DeviceState::new(device)?);
        let streams = Arc::new(Streams::default());
        let legacy = Stream::new(&state, Role::Legacy(streams.clone()), 0)?;
        streams.add(&legacy);
        Ok(Arc::new(Context {
            state,
            streams,
            legacy: Mutex::new(Some(legacy)),
            retired: Mutex::default(),
            fence: Mutex::default(),
        }))
    }

    /// The legacy default stream.
    pub(crate) fn legacy(&self) -> Outcome<Arc<Stream>> {
        let legacy = lock(&self.legacy).clone();
        legacy.ok_or_else(|| cudaErrorContextIsDestroyed.into())
    }

    /// A stream with these flags.
    pub(crate) fn new_stream(&self, flags: u32) -> Outcome<Arc<Stream>> {
        if flags != cudaStreamNonBlocking {
            return self.add_stream(Role::Blocking(self.legacy()?), flags);
        }
        let stream = self.add_stream(Role::NonBlocking, flags)?;
        // A stream that waits for the legacy stream thereby comes after the fence.
        if let Some(fence) = self.fence() {
            stream.wait_for(&fence)?;
        }
        Ok(stream)
    }

    /// A stream that does work of another device's stream.
    pub(crate) fn new_proxy(&self) -> Outcome<Arc<Stream>> {
        self.add_stream(Role::Proxy, cudaStreamNonBlocking)
    }

    fn add_stream(&self, role: Role, flags: u32) -> Outcome<Arc<Stream>> {
        let stream = Stream::new(&self.state, role, flags)?;
        self.streams.add(&stream);
        Ok(stream)
    }

    /// Every stream that has not been destroyed, or has work pending.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        self.streams.all()
    }

    /// The last piece of work that all later work of the device comes after.
    fn fence(&self) -> Option<Marker> {
        lock(&self.fence).clone()
    }

    pub(crate) fn keep_fence(&self, marker: &Marker) {
        *lock(&self.fence) = Some(marker.clone());
    }

    /// Keeps a destroyed stream until its work is done, since the legacy stream comes after that work.
    fn retire(&self, stream: Arc<Stream>) {
        let mut retired = lock(&self.retired);
        let (done, pending) = mem::take(&mut *retired)
            .into_iter()
            .chain([stream])
            .partition(|stream| stream.is_idle());
        *retired = pending;
        drop(retired);
        let _: Vec<Arc<Stream>> = done;
    }

    /// Waits for all work of the device's streams, and says whether any has failed.
    pub(crate) fn synchronize(&self) -> Outcome {
        self.wait()?;
        self.state.sticky.check()
    }

    /// Waits for all work of the device's streams, failed or not.
    pub(crate) fn wait(&self) -> Outcome {
        let mut streams = self.streams();
        streams.retain(|stream| !stream.is_proxy());
        for stream in streams {
            stream.wait()?;
        }
        let retired = mem::take(&mut *lock(&self.retired));
        for stream in retired {
            self.retire(stream);
        }
        Ok(())
    }

    /// Waits for all work, and releases the streams that the context holds.
    pub(crate) fn destroy(&self) -> Outcome {
        // What failed is forgotten with the context.
        for stream in self.streams() {
            stream.wait()?;
        }
        lock(&self.retired).clear();
        *lock(&self.legacy) = None;
        Ok(())
    }
}

/// Gives a stream back: its work goes on to its end.
pub(crate) fn retire(stream: Arc<Stream>) {
    match Context::holding(stream.state()) {
        Some(context) => context.retire(stream),
        // A reset has begun, and may not see this stream, so this waits. The reset forgets a failure of its work.
        None => _ = stream.wait(),
    }
}

#[cfg(all(test, software_metal))]
mod tests {
    use std::ffi::c_void;
    use std::sync::{Condvar, Mutex};
    use std::thread;
    use std::time::Duration;

    use metal_bridge::sys::{self, check};

    use super::Context;
    use crate::runtime::commands::commit;
    use crate::runtime::stream::Stream;
    use crate::types::cudaStreamNonBlocking;

    #[derive(Default)]
    struct Latch(Mutex<bool>, Condvar);

    unsafe extern "C" fn wait_for_latch(_: *const sys::mtb_completion, latch: *mut c_void) {
        // SAFETY: the latch outlives the work.
        let Latch(is_open, changed) = unsafe { &*latch.cast::<Latch>() };
        let guard = is_open.lock().unwrap();
        drop(changed.wait_while(guard, |is_open| !*is_open).unwrap());
    }

    /// Commits work that the GPU does at once, but whose completion waits until the latch is opened.
    fn commit_late(stream: &Stream, latch: &Latch) {
        let committed = stream.enqueue(|| {
            commit(stream.queue(), &stream.state().sticky, |commands| {
                let latch = std::ptr::from_ref(latch).cast_mut().cast();
                // SAFETY: the command buffer is being recorded by this thread; the function takes a latch.
                unsafe {
                    check(|error| {
                        sys::mtb_command_buffer_add_completed_callback(
                            commands,
                            Some(wait_for_latch),
                            latch,
                            None,
                            error,
                        )
                    })
                }
            })
        });
        committed.unwrap();
    }

    /// The same holds for a wait through a third stream, and for one for an event.
    #[test]
    fn waits_end_after_the_completion_of_earlier_work() {
        let context = Context::current().unwrap();
        let streams = [0; 3].map(|_| context.new_stream(cudaStreamNonBlocking).unwrap());
        let [late, between, last] = &streams;
        let latch = Latch::default();
        commit_late(late, &latch);
        between.wait_for(&late.record(false).unwrap()).unwrap();
        last.wait_for(&between.record(false).unwrap()).unwrap();
        let marker = last.record(true).unwrap();
        thread::scope(|scope| {
            let waiters = [
                scope.spawn(|| between.synchronize()),
                scope.spawn(|| last.synchronize()),
                scope.spawn(|| marker.wait()),
            ];
            marker.commands.wait().unwrap();
            thread::sleep(Duration::from_millis(20));
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
            *latch.0.lock().unwrap() = true;
            latch.1.notify_all();
            for waiter in waiters {
                waiter.join().unwrap().unwrap();
            }
        });
    }
}
