//! [`Marker`], a point of a stream, and [`Awaited`]: the work that a stream is ordered after, for callers who ask how it has
//! ended.
//!
//! A queue goes on as soon as the GPU has signalled what it waits for. The signalling queue's completions may be called after
//! that. A call that says whether a stream is done, or whether its work has failed, waits for those completions too.

use std::collections::BTreeMap;
use std::sync::Arc;

use metal_bridge::sys::{self, Handle};

use crate::runtime::commands::Committed;
use crate::runtime::failure::Outcome;

/// A point of a stream: reached when all that was committed to it before is done.
#[derive(Clone)]
pub(crate) struct Marker {
    /// The stream's number.
    pub(crate) stream: u64,
    /// The stream's event, which gets this value.
    pub(crate) event: Arc<Handle<sys::mtb_event>>,
    pub(crate) value: u64,
    pub(crate) commands: Arc<Committed>,
    /// What the stream had waited for until then.
    pub(crate) awaited: Awaited,
}

impl Marker {
    /// Waits until it is reached, and all that comes before it has ended.
    pub(crate) fn wait(&self) -> Outcome {
        self.commands.wait()?;
        self.awaited.wait()
    }
}

/// For each other stream, by its number: the latest marker that was waited for and whose completion has not been
/// called. It stands for the markers before it, since the completions of a queue come in the queue's order.
#[derive(Clone, Default)]
pub(crate) struct Awaited(BTreeMap<u64, (u64, Arc<Committed>)>);

impl Awaited {
    /// Adds a marker, and what its own stream has waited for.
    pub(crate) fn add(&mut self, marker: &Marker) {
        self.join(&marker.awaited);
        self.insert(marker.stream, marker.value, &marker.commands);
    }

    pub(crate) fn join(&mut self, other: &Awaited) {
        for (stream, (value, commands)) in &other.0 {
            self.insert(*stream, *value, commands);
        }
    }

    fn insert(&mut self, stream: u64, value: u64, commands: &Arc<Committed>) {
        self.0.retain(|_, (_, commands)| !commands.has_ended());
        if commands.has_ended() {
            return;
        }
        let slot = self.0.entry(stream).or_insert((value, commands.clone()));
        if slot.0 < value {
            *slot = (value, commands.clone());
        }
    }

    /// Waits for the completions. If the GPU is past the waits already, this takes hardly any time.
    pub(crate) fn wait(&self) -> Outcome {
        self.0
            .values()
            .try_for_each(|(_, commands)| commands.wait())
    }
}
