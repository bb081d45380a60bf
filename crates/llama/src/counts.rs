//! [`Counts`].

use std::ops::{Add, Sub};

/// What a session has asked of the GPU so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Command buffers committed, but not those of copies between devices.
    pub command_buffers: u64,
    /// Kernels dispatched in them.
    pub dispatches: u64,
    /// Tokens of drafts that were computed.
    pub drafted: u64,
    /// Those of them that became part of a text.
    pub accepted: u64,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            command_buffers: self.command_buffers + more.command_buffers,
            dispatches: self.dispatches + more.dispatches,
            drafted: self.drafted + more.drafted,
            accepted: self.accepted + more.accepted,
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    /// What has been asked since `before`.
    fn sub(self, before: Self) -> Self {
        Self {
            command_buffers: self.command_buffers - before.command_buffers,
            dispatches: self.dispatches - before.dispatches,
            drafted: self.drafted - before.drafted,
            accepted: self.accepted - before.accepted,
        }
    }
}
