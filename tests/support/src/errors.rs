//! Errors that a call has to give.

use metal_bridge::Error;

/// Asserts the variant of an error and that its text says what was wrong.
///
/// # Panics
///
/// If there is no error, or another one.
#[track_caller]
pub fn assert_error<T>(result: Result<T, Error>, is: fn(&Error) -> bool, says: &str) {
    match result {
        Ok(_) => panic!("no error where {says:?} was wrong"),
        Err(error) => {
            assert!(is(&error), "another error than expected: {error:?}");
            assert!(
                error.to_string().contains(says),
                "{error} does not say {says:?}"
            );
        }
    }
}
