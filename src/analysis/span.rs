//! What an access covers.

use std::ops::RangeInclusive;

use crate::error::{Error, Failure, Result};

/// Refuses a size that no access has.
pub(super) fn check_size(size: u64, function: &'static str) -> Result<()> {
    if (1..=1024).contains(&size) {
        return Ok(());
    }
    let message = format!("an access has 1 to 1024 bytes, not {size}");
    Err(Error::InvalidArgument(Failure::new(function, message)))
}

/// The units of `unit` bytes that an access of `size` bytes at `offset` touches. `size` has been checked.
pub(super) fn units(
    offset: u64,
    size: u64,
    unit: u64,
    function: &'static str,
) -> Result<RangeInclusive<u64>> {
    let Some(last) = offset.checked_add(size - 1) else {
        let message = format!("{size} bytes at {offset} are not inside 64 bits");
        return Err(Error::OutOfRange(Failure::new(function, message)));
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
