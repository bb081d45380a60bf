//! Work with memory of several devices: whose queue does it, and what it is ordered after.
//!
//! A queue takes memory of its own device, and copies between that and another device. What is with other devices' memory
//! alone is done there, in a queue that waits for the stream and that the stream waits for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::memory::pointers::Memory;
use crate::runtime::devices::{Context, lock};
use crate::runtime::failure::Outcome;
use crate::runtime::stream::{Role, Stream};
use crate::types::cudaStreamNonBlocking;

/// The streams that do one stream's work on other devices, by device. No two streams have one in common, since they would
/// wait for each other there.
#[derive(Default)]
pub(crate) struct Carriers(Mutex<BTreeMap<i32, Arc<Stream>>>);

impl Carriers {
    fn on(&self, context: &Arc<Context>) -> Outcome<Arc<Stream>> {
        let mut carriers = lock(&self.0);
        let index = context.device.index;
        match carriers.get(&index) {
            Some(carrier) if Arc::ptr_eq(&carrier.context, context) => Ok(carrier.clone()),
            // None yet, or one from before the device was reset.
            _ => {
                let carrier = Stream::new(context, Role::Carrier, cudaStreamNonBlocking)?;
                carriers.insert(index, carrier.clone());
                Ok(carrier)
            }
        }
    }

    /// Lets the one on a device that is reset go.
    pub(crate) fn forget(&self, context: &Arc<Context>) {
        lock(&self.0).retain(|_, carrier| !Arc::ptr_eq(&carrier.context, context));
    }
}

/// The devices whose own memory is among these.
pub(crate) fn owners<'a>(memories: &[&'a Memory]) -> impl Iterator<Item = &'a Arc<Context>> {
    memories.iter().filter_map(|memory| memory.owner())
}

/// Does `work` in the turn of `stream`, in a queue that takes all of `memories`.
pub(crate) fn in_turn<T>(
    stream: &Arc<Stream>,
    memories: &[&Memory],
    work: impl FnOnce(&Stream) -> Outcome<T>,
) -> Outcome<T> {
    for owner in owners(memories) {
        owner.sticky.check()?;
    }
    let context = match owners(memories).next() {
        Some(context) if !owners(memories).any(|owner| Arc::ptr_eq(owner, &stream.context)) => {
            context
        }
        _ => return work(stream),
    };
    let carrier = stream.carriers.on(context)?;
    carrier.wait_for(&stream.record(false)?)?;
    let done = work(&carrier)?;
    stream.wait_for(&carrier.record(false)?)?;
    Ok(done)
}

/// Does `work` in `stream` as CUDA's documentation has it for copies between devices that name no stream: after all that was
/// committed to these devices before, and before all that is committed to them later. The stream's own device is one
/// of them, where there is any.
pub(crate) fn alone_on<T>(
    devices: &[Arc<Context>],
    stream: &Arc<Stream>,
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<T> {
    if devices.is_empty() {
        return work();
    }
    let streams: Vec<Arc<Stream>> = devices
        .iter()
        .flat_map(|device| device.streams())
        // The blocking streams wait for the legacy one, and it for them; what carriers do is work of other streams.
        .filter(|other| !other.waits_for_legacy() && !other.is_carrier())
        .filter(|other| !Arc::ptr_eq(other, stream))
        .collect();
    for other in &streams {
        stream.wait_for(&other.record(false)?)?;
    }
    let done = work()?;
    let marker = stream.record(false)?;
    for other in &streams {
        other.wait_for(&marker)?;
    }
    for device in devices {
        device.keep_fence(&marker);
    }
    Ok(done)
}

/// The stream's device and these, where one of them is another: what a call that names no stream is [`alone_on`].
pub(crate) fn devices_of<'a>(
    stream: &Stream,
    others: impl Iterator<Item = &'a Arc<Context>>,
) -> Vec<Arc<Context>> {
    let mut devices = vec![stream.context.clone()];
    for other in others {
        if !devices.iter().any(|device| Arc::ptr_eq(device, other)) {
            devices.push(other.clone());
        }
    }
    if devices.len() == 1 {
        devices.clear();
    }
    devices
}
