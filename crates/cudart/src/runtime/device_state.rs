//! [`DeviceState`]: what streams, events and memory of a device share from its first use until it is reset.

use std::ptr;

use metal_bridge::sys::{self, Handle, create};

use crate::runtime::devices::Device;
use crate::runtime::failure::Outcome;
use crate::runtime::sticky::Sticky;

/// The state of a device, which its streams, events and memory hold. After a reset the device has another one.
pub(crate) struct DeviceState {
    pub(crate) device: &'static Device,
    pub(crate) memory: Handle<sys::mtb_memory>,
    pub(crate) sticky: Sticky,
}

impl DeviceState {
    pub(crate) fn new(device: &'static Device) -> Outcome<DeviceState> {
        // SAFETY: the device is live; the call returns an owned memory, or NULL and an owned error.
        let memory = unsafe {
            create(|error| sys::mtb_memory_create(device.handle.as_ptr(), ptr::null(), error))
        }?;
        Ok(DeviceState {
            device,
            memory,
            sticky: Sticky::default(),
        })
    }
}
