//! The bridge's C ABI (`metal_bridge::sys`) with owned handles, and its errors as values.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr::{self, NonNull};

use metal_bridge::sys;

/// Why a call of the bridge failed.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) status: sys::mtb_status,
    /// The `NSError` code where Metal gave an error, zero otherwise.
    pub(crate) code: i64,
    message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Copies the error behind `raw`; the caller keeps it.
    ///
    /// # Safety
    ///
    /// `raw` is NULL or a live error of the bridge.
    pub(crate) unsafe fn from_borrowed(raw: *const sys::mtb_error) -> Error {
        if raw.is_null() {
            // The bridge's contract: a failure without an error had no memory for one.
            return Error {
                status: sys::MTB_OUT_OF_MEMORY,
                code: 0,
                message: "no memory for the error itself".to_owned(),
            };
        }
        // SAFETY: `raw` is live; its strings live as long as it does and are copied here.
        let (status, code, function, message) = unsafe {
            (
                sys::mtb_error_status(raw),
                sys::mtb_error_code(raw),
                text(sys::mtb_error_function(raw)),
                text(sys::mtb_error_message(raw)),
            )
        };
        Error {
            status,
            code,
            message: format!("{message} (in {function})"),
        }
    }

    /// Takes over an error that a call of the bridge gave to its caller.
    ///
    /// # Safety
    ///
    /// `raw` is NULL or a live error that the caller owns; it is gone afterwards.
    unsafe fn from_owned(raw: *mut sys::mtb_error) -> Error {
        // SAFETY: as promised by the caller; `mtb_error_release` takes NULL.
        unsafe {
            let error = Error::from_borrowed(raw);
            sys::mtb_error_release(raw);
            error
        }
    }

    /// Whether Metal raised an exception: nobody knows then how far the call has come.
    pub(crate) fn is_exception(&self) -> bool {
        matches!(self.status, sys::MTB_EXCEPTION | sys::MTB_INTERNAL)
    }
}

/// Copies a string of the bridge's; empty for NULL.
///
/// # Safety
///
/// `raw` is NULL or a C string that lives during the call.
pub(crate) unsafe fn text(raw: *const c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: as promised by the caller.
    unsafe { CStr::from_ptr(raw) }
        .to_string_lossy()
        .into_owned()
}

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
    mtb_library: mtb_library_release,
    mtb_function: mtb_function_release,
    mtb_pipeline: mtb_pipeline_release,
    mtb_event: mtb_event_release,
    mtb_memory: mtb_memory_release,
    mtb_transfer: mtb_transfer_release,
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

// Not command buffers, encoders and transfers: one thread at a time, and Metal wants them where they began.
shareable! {
    mtb_device mtb_buffer mtb_queue mtb_library mtb_pipeline mtb_event mtb_memory
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
