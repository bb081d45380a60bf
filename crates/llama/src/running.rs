//! [`Running`]: work of the devices that a session has committed.

use super::error::Result;
use metal_bridge::Submission;
use metal_bridge::devices::Collective;

/// Work of the devices, in the order of its commits.
#[derive(Debug, Default)]
pub(super) struct Running {
    work: Vec<Work>,
}

#[derive(Debug)]
enum Work {
    Pass(Submission),
    Send(Collective),
}

impl Running {
    /// Adds a pass through the layers of a device.
    pub fn computes(&mut self, pass: Submission) {
        self.work.push(Work::Pass(pass));
    }

    /// Adds a copy from a device to the next.
    pub fn sends(&mut self, send: Collective) {
        self.work.push(Work::Send(send));
    }

    /// Waits for all, also if one has failed: the others still use the session's buffers. Later failures follow from the first,
    /// whose error this is.
    pub fn wait(&self) -> Result<()> {
        let wait = |work: &Work| match work {
            Work::Pass(pass) => pass.wait(),
            Work::Send(send) => send.wait(),
        };
        let waited = self.work.iter().map(wait);
        Ok(waited.fold(Ok(()), metal_bridge::Result::and)?)
    }
}
