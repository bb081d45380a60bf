//! [`Handle`]: one reference to an object of the bridge, released when it is dropped; and the calls that make them.

use std::ffi::{CString, c_char};
use std::ptr::{self, NonNull};
use std::time::Duration;

use crate::error::{Error, Failure, Result, text};
use crate::sys;

/// A kind of object that the bridge counts references to.
pub(crate) trait Object {
    /// Gives one reference back.
    ///
    /// # Safety
    ///
    /// `raw` is live, and the caller owns one reference, which is gone afterwards.
    unsafe fn release(raw: *mut Self);
}

/// One owned reference to an object of the bridge.
pub(crate) struct Handle<T: Object>(NonNull<T>);

impl<T: Object> Handle<T> {
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
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
            impl Object for sys::$object {
                unsafe fn release(raw: *mut Self) {
                    // SAFETY: as promised by the caller.
                    unsafe { sys::$release(raw) }
                }
            }
        )*
    };
}

objects! {
    mtb_device: mtb_device_release,
    mtb_buffer: mtb_buffer_release,
    mtb_queue: mtb_queue_release,
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
}

macro_rules! shareable {
    ($($object:ident)*) => {
        $(
            // SAFETY: metal_bridge.h, "Threads", and metal_bridge_memory.h: objects of this kind may be used from any
            // thread, at the same time.
            unsafe impl Send for Handle<sys::$object> {}
            // SAFETY: as above.
            unsafe impl Sync for Handle<sys::$object> {}
        )*
    };
}

// Not command buffers, encoders, transfers and constant values: one thread at a time, and Metal wants them where they
// began.
shareable! {
    mtb_device mtb_buffer mtb_queue mtb_library mtb_function mtb_pipeline mtb_event
    mtb_memory mtb_arena mtb_residency_set
}

/// Makes a call that returns a handle.
///
/// # Safety
///
/// `make` calls a function of the bridge that returns an owned handle, or NULL and an owned error, and passes on the
/// place for the error.
pub(crate) unsafe fn create<T: Object>(
    make: impl FnOnce(*mut *mut sys::mtb_error) -> *mut T,
) -> Result<Handle<T>> {
    let mut error = ptr::null_mut();
    match NonNull::new(make(&mut error)) {
        Some(raw) => Ok(Handle(raw)),
        // SAFETY: the call failed, so `error` is NULL or an error that is ours.
        None => Err(unsafe { Error::from_owned(error) }),
    }
}

/// Makes a call that returns a status.
///
/// # Safety
///
/// `call` calls a function of the bridge that sets an owned error wherever it does not return `MTB_OK`, and passes on
/// the place for the error.
#[inline]
pub(crate) unsafe fn check(
    call: impl FnOnce(*mut *mut sys::mtb_error) -> sys::mtb_status,
) -> Result<()> {
    let mut error = ptr::null_mut();
    if call(&mut error) == sys::MTB_OK {
        return Ok(());
    }
    // SAFETY: the call failed, so `error` is NULL or an error that is ours.
    Err(unsafe { Error::from_owned(error) })
}

/// A C string of `string` for a call of the bridge; `function` and `what` name it in the error.
pub(crate) fn c_string(function: &'static str, what: &str, string: &str) -> Result<CString> {
    CString::new(string).map_err(|error| {
        let message = format!("{what} has a NUL at byte {}", error.nul_position());
        Error::InvalidArgument(Failure::new(function, message))
    })
}

/// Copies and frees a string that the bridge gave to its caller; `None` for NULL.
///
/// # Safety
///
/// `raw` is NULL or a string that is the caller's to free; it is gone afterwards.
pub(crate) unsafe fn take_string(raw: *mut c_char) -> Option<String> {
    if raw.is_null() {
        return None;
    }
    // SAFETY: as promised by the caller.
    unsafe {
        let string = text(raw);
        sys::mtb_string_free(raw);
        Some(string)
    }
}

/// A timeout as the bridge takes it.
pub(crate) fn nanoseconds(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos()).unwrap_or(sys::MTB_FOREVER)
}
