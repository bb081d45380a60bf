//! [`BufferPlace`]: a buffer as the source or the destination of a transfer.

use std::ops::{Bound, RangeBounds};

use super::place::{End, Extent, Rectangle};
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;

/// A place in a buffer that a transfer reads or writes: [`Buffer::at`], [`Buffer::range`] or [`Buffer::rows`].
#[derive(Debug, Clone, Copy)]
pub struct BufferPlace<'b> {
    buffer: &'b Buffer,
    part: Part,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    At(usize),
    Range { start: usize, end: usize },
    Rows(Rectangle),
}

impl Buffer {
    /// The place of a transfer from the byte at `offset` on, as long as the other end of the copy is.
    pub fn at(&self, offset: usize) -> BufferPlace<'_> {
        self.place(Part::At(offset))
    }

    /// The place of a transfer of the bytes of `range`: `..` is the whole buffer.
    pub fn range(&self, range: impl RangeBounds<usize>) -> BufferPlace<'_> {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => self.len(),
        };
        self.place(Part::Range { start, end })
    }

    /// The place of a transfer of rows.
    pub fn rows(&self, rectangle: Rectangle) -> BufferPlace<'_> {
        self.place(Part::Rows(rectangle))
    }

    fn place(&self, part: Part) -> BufferPlace<'_> {
        BufferPlace { buffer: self, part }
    }
}

impl BufferPlace<'_> {
    pub(super) fn end(self, function: &'static str) -> Result<End> {
        match self.part {
            Part::At(offset) => Ok(End::buffer(self.buffer, offset, None)),
            Part::Range { start, end } => {
                let Some(length) = end.checked_sub(start) else {
                    let message = format!("the range {start}..{end} ends before it begins");
                    return Err(Error::OutOfRange(Failure::new(function, message)));
                };
                let extent = Some(Extent::bytes(length));
                Ok(End::buffer(self.buffer, start, extent))
            }
            Part::Rows(rectangle) => Ok(End::rectangle(self.buffer, rectangle)),
        }
    }
}
