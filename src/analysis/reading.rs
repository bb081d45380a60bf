//! Where profiles come from.

use serde_json::Value;

use super::plausible::{check_figures, check_numbers};
use super::profile::Profile;
use crate::error::{Error, Failure, Result};
use crate::sys;

impl Profile {
    /// What this process has counted so far; `None` unless it runs on the software Metal with `SOFTWARE_METAL_PROFILE` set.
    /// A launch is counted once its command buffer has completed.
    ///
    /// # Errors
    ///
    /// Those of [`from_json`](Self::from_json), of which none is expected here.
    pub fn of_process() -> Result<Option<Profile>> {
        if !cfg!(metal_backend) {
            return Ok(None);
        }
        // SAFETY: takes nothing, may be called from any thread, and gives a string of our own or null.
        let raw = unsafe { sys::mtb_profile_copy() };
        if raw.is_null() {
            return Ok(None);
        }
        // SAFETY: a C string that lives until it is freed below.
        let text = unsafe { sys::text(raw) };
        // SAFETY: it is ours, and nothing refers to it any more.
        unsafe { sys::mtb_string_free(raw) };
        Profile::from_json(&text).map(Some)
    }

    /// Reads the file that a process wrote because of `SOFTWARE_METAL_PROFILE`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the text is not a profile of this version, or has figures that nobody can have counted.
    pub fn from_json(text: &str) -> Result<Profile> {
        const VERSION: u32 = 1;
        let invalid =
            |message: String| Error::InvalidArgument(Failure::new("Profile::from_json", message));
        let no_profile = |error| invalid(format!("the text is not a profile: {error}"));
        let value: Value = serde_json::from_str(text).map_err(no_profile)?;
        check_numbers(&value).map_err(invalid)?;
        let profile: Profile = serde_json::from_value(value).map_err(no_profile)?;
        if profile.version != VERSION {
            let version = profile.version;
            return Err(invalid(format!(
                "the profile has version {version}, and this is a reader of version {VERSION}"
            )));
        }
        check_figures(&profile).map_err(invalid)?;
        Ok(profile)
    }
}
