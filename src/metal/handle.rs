//! Calls of the bridge with the crate's own error: handles, statuses, strings and timeouts.

use std::ffi::{CString, c_char};
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Failure, Result};
use crate::sys;
pub(crate) use crate::sys::Handle;

/// [`sys::create`] with the crate's own error.
///
/// # Safety
///
/// That of [`sys::create`].
pub(crate) unsafe fn create<T: sys::Object>(
    make: impl FnOnce(*mut *mut sys::mtb_error) -> *mut T,
) -> Result<Handle<T>> {
    // SAFETY: the caller's promise.
    Ok(unsafe { sys::create(make) }?)
}

/// [`sys::check`] with the crate's own error.
///
/// # Safety
///
/// That of [`sys::check`].
#[inline]
pub(crate) unsafe fn check(
    call: impl FnOnce(*mut *mut sys::mtb_error) -> sys::mtb_status,
) -> Result<()> {
    // SAFETY: the caller's promise.
    Ok(unsafe { sys::check(call) }?)
}

/// A C string of `string` for a call of the bridge; `function` and `what` name it in the error.
pub(crate) fn c_string(function: &'static str, what: &str, string: &str) -> Result<CString> {
    CString::new(string).map_err(|error| {
        let message = format!("{what} has a NUL at byte {}", error.nul_position());
        Error::InvalidArgument(Failure::new(function, message))
    })
}

/// A C string of `path` for a call of the bridge, whose paths are UTF-8.
pub(crate) fn c_path(function: &'static str, path: &Path) -> Result<CString> {
    let Some(utf8) = path.to_str() else {
        let message = format!("the path {} is not UTF-8", path.display());
        return Err(Error::InvalidArgument(Failure::new(function, message)));
    };
    c_string(function, "the path", utf8)
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
        let string = sys::text(raw);
        sys::mtb_string_free(raw);
        Some(string)
    }
}

/// A timeout as the bridge takes it.
pub(crate) fn nanoseconds(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos()).unwrap_or(sys::MTB_FOREVER)
}
