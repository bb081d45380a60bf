//! [`QueueId`]: tells queues apart.

use std::ptr;

use crate::sys;

/// Tells queues apart. The id of a queue that is gone may be used again. The default id names no queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct QueueId(usize);

impl QueueId {
    pub(crate) fn new(queue: *mut sys::mtb_command_queue) -> QueueId {
        QueueId(queue.addr())
    }

    /// Whether this thread is inside a completion handler or a host function of the queue.
    pub(crate) fn is_in_callback(self) -> bool {
        // The default id names no queue, so it is never inside a callback; a build without a Metal has no other id.
        // SAFETY: the address is compared, and nothing is read there.
        self != Self::default()
            && unsafe { sys::mtb_command_queue_is_in_callback(ptr::without_provenance(self.0)) }
    }
}
