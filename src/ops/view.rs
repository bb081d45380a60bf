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

    /// Whether `extent` from here and the `other_extent` of `other` may have a byte in common.
    pub(crate) fn overlaps(&self, extent: Extent, other: &View<'_>, other_extent: Extent) -> bool {
        self.buffer.is_same(other.buffer)
            && extent.bytes > 0
            && other_extent.bytes > 0
            && self.offset < other.offset.saturating_add(other_extent.bytes)
            && other.offset < self.offset.saturating_add(extent.bytes)
            && !self.interleaves(extent, other, other_extent)
    }

    /// Whether the runs of the other lie in the gaps of this one: columns of one matrix, for example.
    fn interleaves(&self, extent: Extent, other: &View<'_>, other_extent: Extent) -> bool {
        let pitch = extent.pitch;
        if pitch == 0 || pitch != other_extent.pitch {
            return false;
        }
        // How far behind a run of this one the next of the other begins.
        let behind = (other.offset % pitch + pitch - self.offset % pitch) % pitch;
        behind >= extent.width && pitch - behind >= other_extent.width
    }
}

/// Bytes from the first to the last, of which those count that are in runs of `width` bytes, `pitch` bytes apart. A pitch of 0:
/// all count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) bytes: usize,
    pub(crate) pitch: usize,
    pub(crate) width: usize,
}

impl From<usize> for Extent {
    fn from(bytes: usize) -> Extent {
        Extent {
            bytes,
            pitch: 0,
            width: bytes,
        }
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
