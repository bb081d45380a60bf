//! Lists whose length a file gives: an error if there is no memory for one.

use super::error::GgufError;

/// An empty list with a capacity of `count` elements.
pub(super) fn with_capacity<T>(
    count: usize,
    what: impl FnOnce() -> String,
) -> Result<Vec<T>, GgufError> {
    let mut list = Vec::new();
    match list.try_reserve_exact(count) {
        Ok(()) => Ok(list),
        Err(_) => Err(GgufError::OutOfMemory {
            what: what(),
            bytes: (count as u64).saturating_mul(size_of::<T>() as u64),
        }),
    }
}

/// `elements` in a list, or the error that there is no memory for it.
pub(super) fn collected<T>(
    what: &str,
    elements: impl ExactSizeIterator<Item = T>,
) -> Result<Vec<T>, GgufError> {
    let mut list = with_capacity(elements.len(), || what.into())?;
    list.extend(elements);
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_memory_holds_is_an_error() {
        let error = with_capacity::<u64>(usize::MAX / 16, || "a tale".into()).unwrap_err();
        let message = "there is no memory for a tale, which takes 9223372036854775800 bytes";
        assert_eq!(error.to_string(), message);
    }
}
