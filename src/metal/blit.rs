//! [`BlitEncoder`]: records copies and fills.

use std::fmt;
use std::ops::Range;

use super::access::Access;
use super::buffer::Buffer;
use super::handle::{Handle, c_string, check};
use super::recording::{Recording, Resource};
use crate::error::{Error, Failure, Result};
use crate::sys;

/// Records copies and fills (`MTLBlitCommandEncoder`). Dropping it ends it.
pub struct BlitEncoder<'a> {
    handle: Handle<sys::mtb_blit_encoder>,
    recording: &'a mut Recording,
}

impl<'a> BlitEncoder<'a> {
    pub(crate) fn new(
        handle: Handle<sys::mtb_blit_encoder>,
        recording: &'a mut Recording,
    ) -> BlitEncoder<'a> {
        BlitEncoder { handle, recording }
    }

    fn as_ptr(&self) -> *mut sys::mtb_blit_encoder {
        self.handle.as_ptr()
    }

    /// Encodes work of a layer above, which uses what `uses` names.
    pub(crate) fn encode<R: Resource>(
        &mut self,
        function: &'static str,
        uses: impl IntoIterator<Item = (R, Access)>,
        encode: impl FnOnce(*mut sys::mtb_blit_encoder) -> Result<()>,
    ) -> Result<()> {
        let raw = self.as_ptr();
        self.recording.encode(function, uses, || encode(raw))
    }

    /// Names the encoder in Metal's tools and errors (`label`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a label with a NUL.
    pub fn set_label(&mut self, label: &str) -> Result<()> {
        let label = c_string("BlitEncoder::set_label", "the label", label)?;
        // SAFETY: both are live; the label is copied.
        unsafe {
            check(|error| sys::mtb_blit_encoder_set_label(self.as_ptr(), label.as_ptr(), error))
        }
    }

    /// Copies `size` bytes (`copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:`). Offsets and size are
    /// multiples of 4; within one buffer the two ranges must not overlap.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard for CPU access conflicts, [`Error::ReadOnly`] for the destination,
    /// [`Error::OutOfRange`], [`Error::Misaligned`], [`Error::InvalidArgument`] for a size of zero and for an overlap,
    /// [`Error::WrongDevice`].
    pub fn copy(
        &mut self,
        source: &Buffer,
        source_offset: usize,
        destination: &Buffer,
        destination_offset: usize,
        size: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "BlitEncoder::copy";
        check_range(FUNCTION, source, source_offset, size)?;
        check_range(FUNCTION, destination, destination_offset, size)?;
        let (encoder, from, to) = (self.as_ptr(), source.as_ptr(), destination.as_ptr());
        let uses = [(source, Access::Read), (destination, Access::Write)];
        // SAFETY: the encoder and the buffers are live.
        let copy = || unsafe {
            check(|error| {
                sys::mtb_blit_encoder_copy(
                    encoder,
                    from,
                    source_offset,
                    to,
                    destination_offset,
                    size,
                    error,
                )
            })
        };
        self.recording.encode(FUNCTION, uses, copy)
    }

    /// Sets every byte of `range` to `value` (`fillBuffer:range:value:`). Its ends are multiples of 4.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard for CPU access lives, [`Error::ReadOnly`], [`Error::OutOfRange`],
    /// [`Error::Misaligned`], [`Error::InvalidArgument`] for an empty range, [`Error::WrongDevice`].
    pub fn fill(&mut self, buffer: &Buffer, range: Range<usize>, value: u8) -> Result<()> {
        const FUNCTION: &str = "BlitEncoder::fill";
        let length = range.end.saturating_sub(range.start);
        check_range(FUNCTION, buffer, range.start, length)?;
        let (encoder, filled) = (self.as_ptr(), buffer.as_ptr());
        // SAFETY: both are live.
        let fill = || unsafe {
            check(|error| {
                sys::mtb_blit_encoder_fill(encoder, filled, range.start, length, value, error)
            })
        };
        self.recording
            .encode(FUNCTION, [(buffer, Access::Write)], fill)
    }

    /// Makes what the GPU wrote to a managed buffer visible to the CPU once the command buffer has completed
    /// (`synchronizeResource:`). Does nothing for a shared buffer.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard for CPU access lives, [`Error::InvalidArgument`] for a private buffer,
    /// [`Error::WrongDevice`].
    pub fn synchronize(&mut self, buffer: &Buffer) -> Result<()> {
        let (encoder, synchronized) = (self.as_ptr(), buffer.as_ptr());
        // It writes the CPU's copy, so it must not meet a reader.
        let uses = (!buffer.is_read_only()).then_some((buffer, Access::Write));
        // SAFETY: both are live.
        let synchronize = || unsafe {
            check(|error| sys::mtb_blit_encoder_synchronize(encoder, synchronized, error))
        };
        self.recording
            .encode("BlitEncoder::synchronize", uses, synchronize)
    }

    /// Begins a named group of commands in Metal's tools (`pushDebugGroup:`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a name with a NUL.
    pub fn push_debug_group(&mut self, name: &str) -> Result<()> {
        let name = c_string("BlitEncoder::push_debug_group", "the name", name)?;
        // SAFETY: both are live; the name is copied.
        unsafe {
            check(|error| {
                sys::mtb_blit_encoder_push_debug_group(self.as_ptr(), name.as_ptr(), error)
            })
        }
    }

    /// Ends the group that was begun last (`popDebugGroup`). The end of the encoder ends those that are left.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidState`] if there is none.
    pub fn pop_debug_group(&mut self) -> Result<()> {
        // SAFETY: the encoder is live.
        unsafe { check(|error| sys::mtb_blit_encoder_pop_debug_group(self.as_ptr(), error)) }
    }

    /// Ends the encoder (`endEncoding`), as dropping it does.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`].
    pub fn end_encoding(self) -> Result<()> {
        // SAFETY: the encoder is live.
        unsafe { check(|error| sys::mtb_blit_encoder_end(self.as_ptr(), error)) }
    }
}

/// The bridge checks against the length that Metal knows, which for a mapped file goes to the end of its last page.
fn check_range(function: &'static str, buffer: &Buffer, offset: usize, size: usize) -> Result<()> {
    if offset
        .checked_add(size)
        .is_some_and(|end| end <= buffer.len())
    {
        return Ok(());
    }
    let message = format!(
        "the range ends past the end of the buffer: {size} bytes at offset {offset}, but it has {} bytes",
        buffer.len()
    );
    Err(Error::OutOfRange(Failure::new(function, message)))
}

impl Drop for BlitEncoder<'_> {
    /// The handle ends the encoder. This empty drop makes the borrow of the command buffer last until then: without
    /// it, a commit would compile before the encoder has ended.
    fn drop(&mut self) {}
}

impl fmt::Debug for BlitEncoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlitEncoder")
            .field("uses", &self.recording.len())
            .finish()
    }
}
