//! [`Event`]: what a program records in a stream.

use std::ffi::c_uint;
use std::sync::{Arc, Mutex};

use crate::codes::*;
use crate::runtime::device_state::DeviceState;
use crate::runtime::failure::{Failed, Outcome};
use crate::runtime::lock::lock;
use crate::runtime::marker::Marker;
use crate::runtime::registry::Registry;
use crate::types::cudaEventDisableTiming;

pub(crate) static EVENTS: Registry<Event> = Registry::new("event");

/// An event: the point of a stream that it has last recorded.
pub(crate) struct Event {
    pub(crate) state: Arc<DeviceState>,
    flags: c_uint,
    recorded: Mutex<Option<Marker>>,
}

impl Event {
    pub(crate) fn new(state: Arc<DeviceState>, flags: c_uint) -> Event {
        Event {
            state,
            flags,
            recorded: Mutex::default(),
        }
    }

    pub(crate) fn record(&self, marker: Marker) {
        *lock(&self.recorded) = Some(marker);
    }

    pub(crate) fn recorded(&self) -> Option<Marker> {
        lock(&self.recorded).clone()
    }

    pub(crate) fn device(&self) -> i32 {
        self.state.device.index
    }

    pub(crate) fn keeps_time(&self) -> bool {
        self.flags & cudaEventDisableTiming == 0
    }

    /// When the event happened, in seconds.
    pub(crate) fn time(&self) -> Outcome<f64> {
        let marker = self.recorded().filter(|_| self.keeps_time());
        let marker = marker.ok_or_else(|| {
            let message = "the event was not recorded, or was created with cudaEventDisableTiming";
            Failed::new(cudaErrorInvalidResourceHandle, message)
        })?;
        if !marker.commands.has_ended() {
            return Err(cudaErrorNotReady.into());
        }
        Ok(marker.commands.end_time())
    }
}
