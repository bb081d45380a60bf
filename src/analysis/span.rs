//! What an access covers.

use std::ops::RangeInclusive;

use crate::error::{Error, Failure, Result};

/// The units of `unit` bytes that an access of `size` bytes at `offset` touches.
pub(super) fn units(
    offset: u64,
    size: u64,
    unit: u64,
    function: &'static str,
) -> Result<RangeInclusive<u64>> {
    let failure = |message: String| Failure::new(function, message);
    if size == 0 || size > 1024 {
        let message = format!("an access has 1 to 1024 bytes, not {size}");
        return Err(Error::InvalidArgument(failure(message)));
    }
    let Some(last) = offset.checked_add(size - 1) else {
        let message = format!("{size} bytes at {offset} are not inside 64 bits");
        return Err(Error::OutOfRange(failure(message)));
    };
    Ok(offset / unit..=last / unit)
}

/// The different units that accesses of one size touch together, in order.
pub(super) fn distinct_units(
    offsets: &[u64],
    size: u64,
    unit: u64,
    function: &'static str,
) -> Result<Vec<u64>> {
    let mut touched = Vec::new();
    for &offset in offsets {
        touched.extend(units(offset, size, unit, function)?);
    }
    touched.sort_unstable();
    touched.dedup();
    Ok(touched)
}
