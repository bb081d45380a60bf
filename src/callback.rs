//! What calls from C into Rust have in common.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f` and keeps its panic, which the panic hook has reported, from unwinding into C.
pub(crate) fn contain_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // A payload may panic when it is dropped, too.
        mem::forget(payload);
    }
}
