//! Owned references to the bridge's objects, and its errors as values: for every layer that makes calls of the C ABI.

use std::ffi::CStr;
use std::fmt;
use std::ptr::{self, NonNull};

use super::*;

/// A kind of object that the bridge counts references to.
pub trait Object {
    /// Gives one reference back.
    ///
    /// # Safety
    ///
    /// `raw` is live, and the caller owns one reference, which is gone afterwards.
    unsafe fn release(raw: *mut Self);
}

/// One owned reference to an object of the bridge, released when it is dropped. [`create`] makes them.
pub struct Handle<T: Object>(NonNull<T>);

impl<T: Object> Handle<T> {
    /// The object, which lives at least as long as the handle.
    pub fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl Handle<mtb_command_buffer> {
    /// Another reference to the command buffer.
    pub fn retain(&self) -> Handle<mtb_command_buffer> {
        // SAFETY: the object is live.
        unsafe { mtb_command_buffer_retain(self.as_ptr()) };
        Handle(self.0)
    }
}

impl<T: Object> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the handle owns its reference, and nothing can use it after the drop.
        unsafe { T::release(self.0.as_ptr()) }
    }
}

macro_rules! objects {
    ($($object:ident: $release:ident,)*) => {
        $(
            impl Object for $object {
                unsafe fn release(raw: *mut Self) {
                    // SAFETY: as promised by the caller.
                    unsafe { $release(raw) }
                }
            }
        )*
    };
}

objects! {
    mtb_device: mtb_device_release,
    mtb_buffer: mtb_buffer_release,
    mtb_command_queue: mtb_command_queue_release,
    mtb_command_buffer: mtb_command_buffer_release,
    mtb_compute_encoder: mtb_compute_encoder_release,
    mtb_blit_encoder: mtb_blit_encoder_release,
    mtb_library: mtb_library_release,
    mtb_function: mtb_function_release,
    mtb_constant_values: mtb_constant_values_release,
    mtb_pipeline: mtb_pipeline_release,
    mtb_event: mtb_event_release,
    mtb_memory: mtb_memory_release,
    mtb_transfer: mtb_transfer_release,
    mtb_arena: mtb_arena_release,
    mtb_residency_set: mtb_residency_set_release,
    mtb_mps_kernel: mtb_mps_kernel_release,
    mtb_indirect_command_buffer: mtb_indirect_command_buffer_release,
    mtb_dynamic_library: mtb_dynamic_library_release,
    mtb_function_handle: mtb_function_handle_release,
    mtb_visible_function_table: mtb_visible_function_table_release,
}

macro_rules! shareable {
    ($($object:ident)*) => {
        $(
            // SAFETY: metal_bridge.h, "Threads", and metal_bridge_memory.h, metal_bridge_mps.h, metal_bridge_functions.h: objects of this
            // kind may be used from any thread, at the same time; who sets functions of a table sees to it that nobody else does.
            unsafe impl Send for Handle<$object> {}
            // SAFETY: as above.
            unsafe impl Sync for Handle<$object> {}
        )*
    };
}

// Command buffers, encoders, transfers and constant values are left out: one thread at a time may use them, and Metal
// wants that to be the thread on which they began.
shareable! {
    mtb_device mtb_buffer mtb_command_queue mtb_library mtb_function mtb_pipeline mtb_event
    mtb_memory mtb_arena mtb_residency_set mtb_mps_kernel
    mtb_dynamic_library mtb_function_handle mtb_visible_function_table
}

// SAFETY: metal_bridge_indirect.h, "Threads": any thread may use and release it, one at a time.
unsafe impl Send for Handle<mtb_indirect_command_buffer> {}

/// Makes a call that returns a handle.
///
/// # Errors
///
/// The call's own.
///
/// # Safety
///
/// `make` calls a function of the bridge that returns an owned handle, or NULL and an owned error, and passes on the
/// pointer to the error.
pub unsafe fn create<T: Object>(
    make: impl FnOnce(*mut *mut mtb_error) -> *mut T,
) -> Result<Handle<T>, OwnedError> {
    let mut error = ptr::null_mut();
    match NonNull::new(make(&mut error)) {
        Some(raw) => Ok(Handle(raw)),
        // SAFETY: the call failed, so `error` is NULL or an error that is ours.
        None => Err(unsafe { OwnedError::take(error) }),
    }
}

/// Makes a call that returns a status.
///
/// # Errors
///
/// The call's own.
///
/// # Safety
///
/// `call` calls a function of the bridge that sets an owned error if it does not return `MTB_OK`, and passes on the
/// pointer to the error.
#[inline]
pub unsafe fn check(
    call: impl FnOnce(*mut *mut mtb_error) -> mtb_status,
) -> Result<(), OwnedError> {
    let mut error = ptr::null_mut();
    if call(&mut error) == MTB_OK {
        return Ok(());
    }
    // SAFETY: the call failed, so `error` is NULL or an error that is ours.
    Err(unsafe { OwnedError::take(error) })
}

/// Why a call of the bridge, or a command buffer, failed: a copy of what an [`mtb_error`] says.
#[derive(Debug)]
pub struct OwnedError {
    pub status: mtb_status,
    /// The `NSError` code if Metal gave an error, zero otherwise.
    pub code: i64,
    /// The `NSError` domain if Metal gave an error, `metal_bridge` otherwise.
    pub domain: String,
    /// The call that failed.
    pub function: String,
    pub message: String,
}

impl OwnedError {
    /// Copies the error behind `raw`; the caller keeps it.
    ///
    /// # Safety
    ///
    /// `raw` is NULL or a live error of the bridge.
    pub unsafe fn copy(raw: *const mtb_error) -> OwnedError {
        if raw.is_null() {
            // Every failure has an error: the bridge is at fault.
            return OwnedError {
                status: MTB_INTERNAL,
                code: 0,
                domain: "metal_bridge".to_owned(),
                function: "metal_bridge".to_owned(),
                message: "the bridge gave no error".to_owned(),
            };
        }
        // SAFETY: `raw` is live; its strings live as long as it does and are copied here.
        unsafe {
            OwnedError {
                status: mtb_error_status(raw),
                code: mtb_error_code(raw),
                domain: text(mtb_error_domain(raw)),
                function: text(mtb_error_function(raw)),
                message: text(mtb_error_message(raw)),
            }
        }
    }

    /// Takes over an error that a call of the bridge gave to its caller.
    ///
    /// # Safety
    ///
    /// `raw` is NULL or a live error that the caller owns; it is gone afterwards.
    pub unsafe fn take(raw: *mut mtb_error) -> OwnedError {
        // SAFETY: as promised by the caller; `mtb_error_release` takes NULL.
        unsafe {
            let error = OwnedError::copy(raw);
            mtb_error_release(raw);
            error
        }
    }
}

impl fmt::Display for OwnedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (in {})", self.message, self.function)
    }
}

impl std::error::Error for OwnedError {}

/// Copies a string of the bridge's; empty for NULL.
///
/// # Safety
///
/// `raw` is NULL or a C string that lives during the call.
pub unsafe fn text(raw: *const c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: as promised by the caller.
    unsafe { CStr::from_ptr(raw) }
        .to_string_lossy()
        .into_owned()
}
