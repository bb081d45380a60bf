//! Whether this process may use Metal at all: a child of `fork` may not.

use crate::error::{Error, Failure, Result};
use crate::sys;

/// Whether this process is a child of `fork` whose parent has used Metal: a wait here could never end.
pub(crate) fn is_forked() -> bool {
    // SAFETY: takes nothing and may be called from any thread.
    cfg!(metal_backend) && unsafe { sys::mtb_process_is_forked() }
}

/// Refuses a call in a child of `fork`, before it takes a lock that a thread of the parent may have held at the fork.
pub(crate) fn check_process(function: &'static str) -> Result<()> {
    if !is_forked() {
        return Ok(());
    }
    let why = "this process is a child of fork(), and Metal's objects belong to its parent: call exec, or use Metal only after the fork";
    Err(Error::InvalidState(Failure::new(function, why)))
}
