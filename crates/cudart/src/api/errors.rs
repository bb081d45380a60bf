//! Calls: the last error, names and descriptions.

use std::ffi::c_char;

use crate::codes::{self, cudaError_t, cudaSuccess};
use crate::runtime::context::Context;
use crate::runtime::devices::Device;
use crate::runtime::failure::{forget_last, last, last_message};

/// The failure of the current device's work, which stays, or the thread's last error.
fn peek() -> cudaError_t {
    match Device::current().map_or(cudaSuccess, Context::failure) {
        cudaSuccess => last(),
        code => code,
    }
}

/// The thread's last error, which is forgotten. A failure of the device's work stays until the device is reset.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> cudaError_t {
    let code = peek();
    forget_last();
    code
}

/// The thread's last error, which stays.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> cudaError_t {
    peek()
}

/// The code's name, such as `cudaErrorInvalidValue`.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: cudaError_t) -> *const c_char {
    codes::name(error).as_ptr()
}

/// What the code says.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: cudaError_t) -> *const c_char {
    codes::description(error).as_ptr()
}

/// What went wrong in the thread's last call that failed, and with which values, or the compiler's log. NULL if
/// there is nothing to add to the code. It lives until the thread's next error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMetalGetLastErrorMessage() -> *const c_char {
    last_message()
}
