//! The process's devices, each thread's current one, and what a device has from its first use until it is reset.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use metal_bridge::sys;

use crate::codes::*;
use crate::runtime::bridge::{Handle, create, text};
use crate::runtime::commands::Sticky;
use crate::runtime::failure::{Failed, Outcome};
use crate::runtime::stream::{Marker, Role, Stream};

/// A device of the system, for as long as the process lives.
pub(crate) struct Device {
    pub(crate) index: i32,
    pub(crate) handle: Handle<sys::mtb_device>,
    pub(crate) name: String,
    pub(crate) limits: sys::mtb_device_info,
    /// Of `cudaSetDeviceFlags`.
    pub(crate) flags: AtomicU32,
    context: Mutex<Option<Arc<Context>>>,
    /// The devices whose memory this one may use.
    pub(crate) peers: Mutex<BTreeSet<i32>>,
}

// SAFETY: the only pointer in it, the name in `limits`, is not used: `name` is the copy.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// What a device has from its first use until it is reset.
pub(crate) struct Context {
    pub(crate) device: &'static Device,
    pub(crate) memory: Handle<sys::mtb_memory>,
    pub(crate) sticky: Sticky,
    legacy: Mutex<Option<Arc<Stream>>>,
    streams: Mutex<Streams>,
    /// What streams that are made later come after too.
    fence: Mutex<Option<Marker>>,
}

#[derive(Default)]
struct Streams {
    all: Vec<Weak<Stream>>,
    /// Destroyed with work pending: kept until that is done.
    retired: Vec<Arc<Stream>>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();

thread_local! {
    static CURRENT: Cell<i32> = const { Cell::new(0) };
}

/// All devices; empty without a Metal.
pub(crate) fn all() -> &'static [Device] {
    DEVICES.get_or_init(find)
}

fn find() -> Vec<Device> {
    // SAFETY: takes nothing and may be called from any thread.
    let count = unsafe { sys::mtb_device_count() };
    let mut handles: Vec<_> = (0..count)
        // SAFETY: returns an owned device, or NULL and an owned error.
        .filter_map(|index| unsafe { create(|error| sys::mtb_device_create_at(index, error)) }.ok())
        .collect();
    if handles.is_empty() {
        // SAFETY: as above.
        handles.extend(unsafe { create(|error| sys::mtb_device_create_default(error)) });
    }
    let numbered = (0..).zip(handles);
    numbered
        .map(|(index, handle)| Device::new(index, handle))
        .collect()
}

impl Device {
    fn new(index: i32, handle: Handle<sys::mtb_device>) -> Device {
        let mut info = MaybeUninit::<sys::mtb_device_info>::uninit();
        // SAFETY: the device is live; the call fills the structure, whose name lives as long as the device.
        let (limits, name) = unsafe {
            sys::mtb_device_get_info(handle.as_ptr(), info.as_mut_ptr());
            let info = info.assume_init();
            (info, text(info.name))
        };
        Device {
            index,
            handle,
            name,
            limits,
            flags: AtomicU32::new(0),
            context: Mutex::default(),
            peers: Mutex::default(),
        }
    }

    /// The device of this number.
    pub(crate) fn at(index: i32) -> Outcome<&'static Device> {
        let devices = all();
        if devices.is_empty() {
            return Err(cudaErrorNoDevice.into());
        }
        let found = usize::try_from(index).ok().and_then(|i| devices.get(i));
        found.ok_or_else(|| {
            let message = format!("device {index}, where there are {}", devices.len());
            Failed::new(cudaErrorInvalidDevice, message)
        })
    }

    /// The calling thread's device.
    pub(crate) fn current() -> Outcome<&'static Device> {
        Device::at(CURRENT.get())
    }

    pub(crate) fn make_current(&self) {
        CURRENT.set(self.index);
    }

    /// What the device has, made at its first use. Fails with what the device's earlier work failed with.
    pub(crate) fn context(&'static self) -> Outcome<Arc<Context>> {
        let context = self.context_in_any_state()?;
        context.sticky.check()?;
        Ok(context)
    }

    /// The same, failed or not.
    pub(crate) fn context_in_any_state(&'static self) -> Outcome<Arc<Context>> {
        let mut slot = lock(&self.context);
        Ok(match &*slot {
            Some(context) => context.clone(),
            None => slot.insert(Context::new(self)?).clone(),
        })
    }

    /// What the device has, where it has been used, failed or not.
    pub(crate) fn context_in_use(&self) -> Option<Arc<Context>> {
        lock(&self.context).clone()
    }

    /// Forgets what the device has; the next use makes it anew.
    pub(crate) fn take_context(&self) -> Option<Arc<Context>> {
        lock(&self.context).take()
    }

    /// The failure of the device's earlier work, if there is one.
    pub(crate) fn failure(&self) -> cudaError_t {
        lock(&self.context)
            .as_ref()
            .map_or(cudaSuccess, |context| context.sticky.get())
    }

    /// Bytes that the process has allocated on the device.
    pub(crate) fn allocated(&self) -> u64 {
        // SAFETY: the device is live.
        unsafe { sys::mtb_device_current_allocated_size(self.handle.as_ptr()) }
    }
}

impl Context {
    /// The context of the calling thread's device.
    pub(crate) fn current() -> Outcome<Arc<Context>> {
        Device::current()?.context()
    }

    fn new(device: &'static Device) -> Outcome<Arc<Context>> {
        // SAFETY: the device is live; the call returns an owned memory, or NULL and an owned error.
        let memory = unsafe {
            create(|error| sys::mtb_memory_create(device.handle.as_ptr(), ptr::null(), error))
        }?;
        let context = Arc::new(Context {
            device,
            memory,
            sticky: Sticky::default(),
            legacy: Mutex::default(),
            streams: Mutex::default(),
            fence: Mutex::default(),
        });
        let legacy = Stream::new(&context, Role::Legacy, 0)?;
        *lock(&context.legacy) = Some(legacy);
        Ok(context)
    }

    /// The legacy default stream.
    pub(crate) fn legacy(&self) -> Outcome<Arc<Stream>> {
        let legacy = lock(&self.legacy).clone();
        legacy.ok_or_else(|| cudaErrorContextIsDestroyed.into())
    }

    pub(crate) fn add_stream(&self, stream: &Arc<Stream>) {
        let mut streams = lock(&self.streams);
        streams.all.retain(|known| known.strong_count() > 0);
        streams.all.push(Arc::downgrade(stream));
    }

    /// Every stream that has not been destroyed, or has work pending.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        let streams = lock(&self.streams);
        streams.all.iter().filter_map(Weak::upgrade).collect()
    }

    /// The last piece of work that all later work of the device comes after.
    pub(crate) fn fence(&self) -> Option<Marker> {
        lock(&self.fence).clone()
    }

    pub(crate) fn keep_fence(&self, marker: &Marker) {
        *lock(&self.fence) = Some(marker.clone());
    }

    /// Keeps a destroyed stream until its work is done.
    pub(crate) fn retire(&self, stream: Arc<Stream>) {
        let mut streams = lock(&self.streams);
        let (done, pending) = std::mem::take(&mut streams.retired)
            .into_iter()
            .chain([stream])
            .partition(|stream| stream.is_idle());
        streams.retired = pending;
        drop(streams);
        let _: Vec<Arc<Stream>> = done;
    }

    /// Waits for all work of the device's streams, and says whether any has failed.
    pub(crate) fn synchronize(&self) -> Outcome {
        self.wait()?;
        self.sticky.check()
    }

    /// Waits for all work of the device's streams, failed or not.
    pub(crate) fn wait(&self) -> Outcome {
        let mut streams = self.streams();
        streams.retain(|stream| !stream.is_carrier());
        for stream in streams {
            stream.wait()?;
        }
        let retired = std::mem::take(&mut lock(&self.streams).retired);
        for stream in retired {
            self.retire(stream);
        }
        Ok(())
    }

    /// Waits for all work and lets the default stream go: streams hold the context, and it holds that one.
    pub(crate) fn destroy(&self) -> Outcome {
        // What failed is forgotten with the context.
        for stream in self.streams() {
            stream.wait()?;
        }
        lock(&self.streams).retired.clear();
        *lock(&self.legacy) = None;
        Ok(())
    }
}
