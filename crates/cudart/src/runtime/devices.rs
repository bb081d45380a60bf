//! The process's devices, and each thread's current one.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, OnceLock};

use metal_bridge::sys::{self, Handle, create, text};

use crate::codes::*;
use crate::runtime::failure::{Failed, Outcome};

/// A device of the system, for as long as the process lives.
pub(crate) struct Device {
    pub(crate) index: i32,
    pub(crate) handle: Handle<sys::mtb_device>,
    pub(crate) name: String,
    pub(crate) limits: sys::mtb_device_info,
    /// The flags of `cudaSetDeviceFlags`.
    pub(crate) flags: AtomicU32,
    /// The devices whose memory this one may use.
    pub(crate) peers: Mutex<BTreeSet<i32>>,
}

// SAFETY: the only pointer in it, the name in `limits`, is not used: `name` is the copy.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();

thread_local! {
    static CURRENT: Cell<i32> = const { Cell::new(0) };
}

/// All devices; empty without a Metal. If Metal cannot tell now, as without a free file descriptor, the next call asks again: the
/// numbers of devices are for as long as the process lives.
pub(crate) fn known() -> Outcome<&'static [Device]> {
    if let Some(devices) = DEVICES.get() {
        return Ok(devices);
    }
    let found = find()?;
    Ok(DEVICES.get_or_init(|| found))
}

/// All devices; empty without a Metal, and as long as Metal cannot tell.
pub(crate) fn all() -> &'static [Device] {
    known().unwrap_or_default()
}

fn find() -> Outcome<Vec<Device>> {
    // SAFETY: takes nothing and may be called from any thread.
    let count = unsafe { sys::mtb_device_count() };
    let mut handles = Vec::new();
    let mut failure = None;
    for index in 0..count {
        // SAFETY: returns an owned device, or NULL and an owned error.
        match unsafe { create(|error| sys::mtb_device_create_at(index, error)) } {
            Ok(handle) => handles.push(handle),
            Err(error) => failure = Some(error),
        }
    }
    // A device that cannot be had hides no other.
    if let Some(error) = failure.filter(|_| handles.is_empty()) {
        return Err(error.into());
    }
    if handles.is_empty() {
        // SAFETY: as above.
        match unsafe { create(|error| sys::mtb_device_create_default(error)) } {
            Ok(handle) => handles.push(handle),
            Err(error) if error.status == sys::MTB_NO_DEVICE => {}
            Err(error) => return Err(error.into()),
        }
    }
    let numbered = (0..).zip(handles);
    Ok(numbered
        .map(|(index, handle)| Device::new(index, handle))
        .collect())
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
            peers: Mutex::default(),
        }
    }

    /// The device of this number.
    pub(crate) fn at(index: i32) -> Outcome<&'static Device> {
        let devices = known()?;
        if devices.is_empty() {
            return Err(cudaErrorNoDevice.into());
        }
        let found = usize::try_from(index).ok().and_then(|i| devices.get(i));
        found.ok_or_else(|| {
            let message = format!(
                "there is no device {index}: the system has {}",
                devices.len()
            );
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

    /// Bytes that the process has allocated on the device.
    pub(crate) fn allocated(&self) -> u64 {
        // SAFETY: the device is live.
        unsafe { sys::mtb_device_current_allocated_size(self.handle.as_ptr()) }
    }
}
