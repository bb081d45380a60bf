//! Calls of the program's own functions, which may throw C++ exceptions and panic: `native/contained.cpp`.

use std::ffi::c_void;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

unsafe extern "C-unwind" {
    /// Calls `function`, and keeps C++ exceptions from leaving it.
    fn metal_cudart_call_contained(
        function: unsafe extern "C-unwind" fn(*mut c_void),
        context: *mut c_void,
    );
}

/// Calls `function`; neither an exception nor a panic leaves it.
///
/// # Safety
///
/// `context` is what `function` takes.
pub(crate) unsafe fn contain(
    function: unsafe extern "C-unwind" fn(*mut c_void),
    context: *mut c_void,
) {
    // A Rust panic passes through the C++ below and ends here.
    let call = AssertUnwindSafe(|| {
        // SAFETY: the caller's promise.
        unsafe { metal_cudart_call_contained(function, context) }
    });
    let Err(payload) = catch_unwind(call) else {
        return;
    };
    // A payload may panic when it is dropped, and so may the payload of that panic, which is leaked.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}
