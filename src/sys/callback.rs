//! What calls from C into Rust have in common.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f` and keeps its panic, which the panic hook has reported, from unwinding into C.
pub fn contain_panic(f: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        return;
    };
    // A payload may panic when it is dropped, and so may the payload of that panic, which is leaked.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::panic_any;

    #[test]
    fn payloads_that_panic_are_contained() {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                panic!("expected: the test's payload panics in its drop");
            }
        }
        contain_panic(|| panic_any(Bad));
    }
}
