//! [`Counts`].

use std::ops::Sub;

/// What a session has asked of the GPU so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Command buffers committed, but not those of copies between devices.
    pub command_buffers: u64,
    /// Kernels dispatched in them.
    pub dispatches: u64,
}

impl Sub for Counts {
    type Output = Self;

    /// What has been asked since `before`.
    fn sub(self, before: Self) -> Self {
        Self {
            command_buffers: self.command_buffers - before.command_buffers,
            dispatches: self.dispatches - before.dispatches,
        }
    }
}
