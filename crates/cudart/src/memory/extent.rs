//! [`extent`].

use crate::codes::cudaErrorInvalidValue;
use crate::runtime::failure::{Failed, Outcome};

/// Bytes from the first of the first row to the last of the last one.
pub(crate) fn extent(pitch: usize, width: usize, height: usize) -> Outcome<usize> {
    let extent = pitch
        .checked_mul(height - 1)
        .and_then(|bytes| bytes.checked_add(width));
    extent.ok_or_else(|| {
        let message =
            format!("{height} rows {pitch} bytes apart take more bytes than the address space has");
        Failed::new(cudaErrorInvalidValue, message)
    })
}
