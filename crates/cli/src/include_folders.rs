//! The folders of `-I`, for programs that compile through Metal.

use std::env;
use std::path::PathBuf;

use crate::failure::Failure;

/// Tells Metal where to find the files that sources include. Must run before anything has used Metal.
pub fn expose(include: &[PathBuf]) -> Result<(), Failure> {
    let include = env::join_paths(include).map_err(|error| Failure::new(format!("-I: {error}")))?;
    // SAFETY: the program has not started a thread yet.
    unsafe { env::set_var("SOFTWARE_METAL_INCLUDE", include) };
    Ok(())
}
