//! [`Pages`].

use std::mem::ManuallyDrop;

use crate::codes::cudaErrorMemoryAllocation;
use crate::memory::addresses::Range;
use crate::memory::system::map;
use crate::runtime::failure::{Failed, Outcome};

/// Zeroed memory for CPU and devices. Dropping it gives the memory back to the system; nobody gets its addresses
/// before another [`Range`] does.
#[derive(Debug)]
pub(crate) struct Pages(ManuallyDrop<Range>);

impl Pages {
    pub(crate) fn new(length: usize) -> Outcome<Pages> {
        let range = Range::take(length)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range is ours, and nobody uses what is there.
        let mapped = unsafe { map(range.start, range.length, access, libc::MAP_FIXED) };
        if mapped.is_none() {
            let reason = std::io::Error::last_os_error();
            let message = format!("no memory for {length} bytes: {reason}");
            return Err(Failed::new(cudaErrorMemoryAllocation, message));
        }
        Ok(Pages(ManuallyDrop::new(range)))
    }

    pub(crate) fn start(&self) -> usize {
        self.0.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let flags = libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the range is ours, and nobody uses what is there any more.
        let emptied = unsafe { map(self.0.start, self.0.length, libc::PROT_NONE, flags) };
        // If this fails, memory is left there, and nobody may get the range again.
        if emptied.is_some() {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}
