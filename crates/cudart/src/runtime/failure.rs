//! What fails inside a call, and the border of every call: panics are contained, errors noted for the thread.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use metal_bridge::{command_buffer_error as reason, sys};

use crate::codes::*;

/// A code for the caller, and the particulars for `cudaMetalGetLastErrorMessage`.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) code: cudaError_t,
    message: Option<String>,
}

pub(crate) type Outcome<T = ()> = Result<T, Failed>;

impl From<cudaError_t> for Failed {
    fn from(code: cudaError_t) -> Failed {
        Failed {
            code,
            message: None,
        }
    }
}

impl From<sys::OwnedError> for Failed {
    fn from(error: sys::OwnedError) -> Failed {
        Failed {
            code: code_of(&error),
            message: Some(error.to_string()),
        }
    }
}

impl Failed {
    pub(crate) fn new(code: cudaError_t, message: impl Into<String>) -> Failed {
        Failed {
            code,
            message: Some(message.into()),
        }
    }
}

/// The failure of an allocation: a size beyond the device's largest buffer counts as out of memory.
pub(crate) fn allocation_failed(error: sys::OwnedError) -> Failed {
    let code = match error.status {
        sys::MTB_OUT_OF_RANGE => cudaErrorMemoryAllocation,
        _ => code_of(&error),
    };
    Failed::new(code, error.to_string())
}

/// If `holds` is false, `Err(code)` with a message, which is made only then.
pub(crate) fn require(holds: bool, code: cudaError_t, message: impl FnOnce() -> String) -> Outcome {
    if holds {
        return Ok(());
    }
    Err(Failed::new(code, message()))
}

/// An error unless the flags of a call that knows none are 0.
pub(crate) fn require_no_flags(flags: c_uint) -> Outcome {
    require(flags == 0, cudaErrorInvalidValue, || {
        format!("flags must be 0, not {flags:#x}")
    })
}

fn code_of(error: &sys::OwnedError) -> cudaError_t {
    match error.status {
        sys::MTB_NO_DEVICE => cudaErrorNoDevice,
        sys::MTB_INVALID_ARGUMENT
        | sys::MTB_OUT_OF_RANGE
        | sys::MTB_MISALIGNED
        | sys::MTB_WRONG_DEVICE
        | sys::MTB_MISSING_ARGUMENT => cudaErrorInvalidValue,
        sys::MTB_OUT_OF_MEMORY | sys::MTB_OVER_BUDGET => cudaErrorMemoryAllocation,
        sys::MTB_COMPILE_FAILED => cudaErrorInvalidSource,
        sys::MTB_NOT_FOUND => cudaErrorSymbolNotFound,
        sys::MTB_COMMAND_BUFFER_FAILED => code_of_command_buffer(error.code),
        sys::MTB_UNSUPPORTED => cudaErrorNotSupported,
        sys::MTB_DEADLOCK => cudaErrorNotPermitted,
        _ => cudaErrorUnknown,
    }
}

fn code_of_command_buffer(error: i64) -> cudaError_t {
    match error {
        reason::TIMEOUT => cudaErrorLaunchTimeout,
        reason::PAGE_FAULT => cudaErrorIllegalAddress,
        reason::ACCESS_REVOKED | reason::DEVICE_REMOVED => cudaErrorDevicesUnavailable,
        reason::NOT_PERMITTED => cudaErrorNotPermitted,
        reason::OUT_OF_MEMORY => cudaErrorMemoryAllocation,
        reason::STACK_OVERFLOW => cudaErrorHardwareStackError,
        _ => cudaErrorLaunchFailure,
    }
}

thread_local! {
    static LAST: Cell<cudaError_t> = const { Cell::new(cudaSuccess) };
    static MESSAGE: RefCell<Option<CString>> = const { RefCell::new(None) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// The thread's last error.
pub(crate) fn last() -> cudaError_t {
    LAST.get()
}

pub(crate) fn forget_last() {
    LAST.set(cudaSuccess);
}

/// The message of the thread's last error; NULL if it has none. It lives until the thread's next error.
pub(crate) fn last_message() -> *const c_char {
    // C++ destructors of a thread run after Rust's: by then the message is gone, but the code is there.
    let message = MESSAGE.try_with(|message| {
        let message = message.borrow();
        message.as_ref().map_or(ptr::null(), |m| m.as_ptr())
    });
    message.unwrap_or(ptr::null())
}

fn note(failed: Failed) -> cudaError_t {
    LAST.set(failed.code);
    let message = failed.message.map(|text| {
        // A NUL ends a message for C in any case.
        let text = text.split('\0').next().unwrap_or_default();
        CString::new(text).unwrap_or_default()
    });
    // While the thread ends, its message may be gone already.
    _ = MESSAGE.try_with(|slot| slot.replace(message));
    failed.code
}

/// Runs the body of a call: what every function of the API does first and last.
pub(crate) fn call(body: impl FnOnce() -> Outcome) -> cudaError_t {
    if IN_HOST_FUNCTION.get() {
        return note(Failed::new(
            cudaErrorNotPermitted,
            "host functions and callbacks of streams must not call CUDA",
        ));
    }
    // SAFETY: takes nothing and may be called from any thread.
    if unsafe { sys::mtb_process_is_forked() } {
        return note(Failed::new(
            cudaErrorInitializationError,
            "this process is a child of fork(), and the devices belong to its parent: call exec, or use devices only after the fork",
        ));
    }
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => cudaSuccess,
        // As in CUDA, this is an answer, and not an error for cudaGetLastError.
        Ok(Err(failed)) if failed.code == cudaErrorNotReady => failed.code,
        Ok(Err(failed)) => note(failed),
        Err(payload) => {
            // A payload may panic when it is dropped.
            std::mem::forget(payload);
            note(Failed::new(cudaErrorUnknown, "a panic inside the runtime"))
        }
    }
}

/// Runs a host function, inside which every call of the API fails with `cudaErrorNotPermitted`.
pub(crate) fn as_host_function(body: impl FnOnce()) {
    IN_HOST_FUNCTION.set(true);
    body();
    IN_HOST_FUNCTION.set(false);
}
