//! [`Link`]: what joins two devices.

use crate::metal::device::Device;
use crate::metal::device_position::DevicePosition;

/// What joins two devices, as far as Metal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Both are the same GPU.
    SameDevice,
    /// Both are in one peer group: blits of each read private buffers of the other through remote views.
    Peers {
        /// The group's number (`peerGroupID`).
        group: u64,
        /// The first device's number in the group (`peerIndex`).
        from: u32,
        /// The second device's number in the group (`peerIndex`).
        to: u32,
    },
    /// Only system memory, which both devices see.
    Host,
}

impl Link {
    pub(super) fn between(
        from: (&Device, &DevicePosition),
        to: (&Device, &DevicePosition),
    ) -> Link {
        if from.0 == to.0 {
            return Link::SameDevice;
        }
        match (from.1.peers, to.1.peers) {
            (Some(from), Some(to)) if from.id == to.id => Link::Peers {
                group: from.id,
                from: from.index,
                to: to.index,
            },
            _ => Link::Host,
        }
    }
}
