//! [`View`]: an address in a buffer, and the checks that every operation makes before it binds one.

use std::ops::Range;

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;

/// An address in a buffer where an operation reads or writes. The operation determines the type and number of the
/// elements, and checks that the buffer holds them.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    buffer: &'a Buffer,
    offset: usize,
}

impl<'a> View<'a> {
    /// `offset` bytes into `buffer`.
    pub fn new(buffer: &'a Buffer, offset: usize) -> View<'a> {
        View { buffer, offset }
    }

    /// The buffer.
    pub fn buffer(&self) -> &'a Buffer {
        self.buffer
    }

    /// Bytes from the start of the buffer.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Checks that `bytes` bytes from here are inside the buffer and that the address is aligned. `function` and `what` name
    /// the argument in errors.
    pub(crate) fn check(
        &self,
        function: &'static str,
        what: &str,
        bytes: usize,
        alignment: usize,
    ) -> Result<()> {
        let length = self.buffer.len();
        if self.offset % alignment != 0 {
            let message = format!(
                "{what} at offset {}, which is not a multiple of {alignment}",
                self.offset
            );
            return Err(Error::Misaligned(Failure::new(function, message)));
        }
        if self
            .offset
            .checked_add(bytes)
            .is_none_or(|end| end > length)
        {
            let message = format!(
                "{what} takes {bytes} bytes at offset {} of a buffer of {length}",
                self.offset
            );
            return Err(Error::OutOfRange(Failure::new(function, message)));
        }
        Ok(())
    }

    /// Where the `bytes` bytes from here lie in the buffer.
    pub(crate) fn range(&self, bytes: usize) -> Range<usize> {
        self.offset..self.offset.saturating_add(bytes)
    }

    /// Whether the `bytes` bytes from here and the `other_bytes` bytes of `other` have any in common.
    pub(crate) fn overlaps(&self, bytes: usize, other: &View<'_>, other_bytes: usize) -> bool {
        self.buffer.is_same(other.buffer)
            && self.offset < other.offset.saturating_add(other_bytes)
            && other.offset < self.offset.saturating_add(bytes)
    }
}

impl<'a> From<&'a Buffer> for View<'a> {
    fn from(buffer: &'a Buffer) -> View<'a> {
        View::new(buffer, 0)
    }
}

/// What an error says of two operands with bytes in common.
pub(crate) fn overlap(a: &str, a_bytes: Range<usize>, b: &str, b_bytes: Range<usize>) -> String {
    format!("{a} and {b} overlap in their buffer: bytes {a_bytes:?} and {b_bytes:?}")
}
