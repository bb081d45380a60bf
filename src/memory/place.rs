//! Where the bytes of a transfer are, and how many: in a buffer or at an address, in one row or in several.

use std::fmt;
use std::ptr;

use super::host_memory::HostMemory;
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::sys;

/// Rows of bytes in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rectangle {
    /// Where the first row begins, in bytes from the start of the buffer.
    pub offset: usize,
    /// Bytes from the start of a row to the start of the next: no fewer than `width`.
    pub pitch: usize,
    /// Bytes of a row that are copied.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Rectangle {
    fn extent(&self) -> Extent {
        Extent {
            width: self.width,
            height: self.height,
        }
    }

    /// The end of the last row; `None` if no address reaches that far. The rectangle is not empty.
    fn end(&self) -> Option<usize> {
        let rows = self.pitch.checked_mul(self.height - 1)?;
        self.offset.checked_add(rows)?.checked_add(self.width)
    }

    /// Refuses rows that end past `length` bytes or reach into one another.
    fn check(&self, function: &'static str, what: &str, length: usize) -> Result<()> {
        let Rectangle {
            offset,
            pitch,
            width,
            height,
        } = *self;
        let extent = self.extent();
        if extent.is_empty() {
            return Ok(());
        }
        if height > 1 && pitch < width {
            let message = format!(
                "the pitch ({pitch} bytes) must be at least the row's width ({width} bytes)"
            );
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        if self.end().is_some_and(|end| end <= length) {
            return Ok(());
        }
        let apart = match height {
            1 => String::new(),
            _ => format!(", {pitch} bytes apart,"),
        };
        let message = format!(
            "{extent} at offset {offset}{apart} end past the end of the {what}, which has {length} bytes"
        );
        Err(Error::OutOfRange(Failure::new(function, message)))
    }
}

/// What an end covers: `height` rows of `width` bytes. Bytes that are not in rows count as one row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub width: usize,
    pub height: usize,
}

impl Extent {
    pub fn bytes(count: usize) -> Extent {
        Extent {
            width: count,
            height: 1,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// Whether this is one row with the bytes of all of `rows`.
    fn holds(&self, rows: Extent) -> bool {
        self.height == 1 && rows.width.checked_mul(rows.height) == Some(self.width)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.height {
            1 => write!(f, "{} bytes", self.width),
            height => write!(f, "{height} rows of {} bytes", self.width),
        }
    }
}

/// The memory that an end of a transfer is in.
enum Bytes {
    Buffer(Buffer),
    Host { address: *mut u8, length: usize },
}

/// One end of a transfer, as sources and destinations describe themselves.
pub struct End {
    bytes: Bytes,
    offset: usize,
    /// `None` for rows without gaps.
    pitch: Option<usize>,
    /// `None`: the same as the extent of the transfer's other end.
    pub(super) extent: Option<Extent>,
    /// What the bridge may assume of a source in host memory.
    pub(super) host_memory: sys::mtb_host_memory,
    /// What keeps host memory valid, if it is not borrowed.
    pub(super) owner: Option<Box<dyn HostMemory>>,
}

impl End {
    fn new(bytes: Bytes, offset: usize, extent: Option<Extent>) -> End {
        End {
            bytes,
            offset,
            pitch: None,
            extent,
            host_memory: sys::MTB_HOST_BORROWED,
            owner: None,
        }
    }

    /// The bytes of `buffer` from `offset` on: `extent`, or as many as the other end has.
    pub(super) fn buffer(buffer: &Buffer, offset: usize, extent: Option<Extent>) -> End {
        End::new(Bytes::Buffer(buffer.clone()), offset, extent)
    }

    pub(super) fn rectangle(buffer: &Buffer, rectangle: Rectangle) -> End {
        let end = End::buffer(buffer, rectangle.offset, Some(rectangle.extent()));
        let pitch = (rectangle.height != 1).then_some(rectangle.pitch);
        End { pitch, ..end }
    }

    /// All of `count` values at an address.
    pub(super) fn host<T>(values: *mut T, count: usize) -> End {
        // No slice is longer than the address space.
        let length = count * size_of::<T>();
        let address = values.cast();
        let bytes = Bytes::Host { address, length };
        End::new(bytes, 0, Some(Extent::bytes(length)))
    }

    pub(super) fn owned_by(self, owner: impl HostMemory + 'static) -> End {
        let owner: Option<Box<dyn HostMemory>> = Some(Box::new(owner));
        End { owner, ..self }
    }

    /// As many rows as the other end has, `pitch` bytes apart.
    pub(super) fn in_rows(self, pitch: usize) -> End {
        let (pitch, extent) = (Some(pitch), None);
        End {
            pitch,
            extent,
            ..self
        }
    }

    /// The extent of a copy from this end to an end whose extent is `destination`.
    pub(super) fn common_extent(
        &self,
        function: &'static str,
        destination: Option<Extent>,
    ) -> Result<Extent> {
        let message = match (self.extent, destination) {
            (Some(one), None) | (None, Some(one)) => return Ok(one),
            (Some(from), Some(to)) if from == to || from.holds(to) => return Ok(to),
            (Some(from), Some(to)) if to.holds(from) => return Ok(from),
            (Some(from), Some(to)) => {
                format!("the source has {from}, but the destination has {to}")
            }
            (None, None) => {
                "neither the source nor the destination says how many bytes to copy".to_owned()
            }
        };
        Err(Error::InvalidArgument(Failure::new(function, message)))
    }

    pub(super) fn as_buffer(&self) -> Option<&Buffer> {
        match &self.bytes {
            Bytes::Buffer(buffer) => Some(buffer),
            Bytes::Host { .. } => None,
        }
    }

    /// Where `extent` is at this end. Refuses what reaches out of the buffer or the memory: the bridge checks against the
    /// length that Metal knows, which for a mapped file goes to the end of its last page.
    pub(super) fn place(&self, function: &'static str, extent: Extent) -> Result<sys::mtb_place> {
        let (buffer, bytes, length, what) = match &self.bytes {
            Bytes::Buffer(buffer) => (buffer.as_ptr(), ptr::null_mut(), buffer.len(), "buffer"),
            Bytes::Host { address, length } => (ptr::null_mut(), *address, *length, "host memory"),
        };
        let rectangle = Rectangle {
            offset: self.offset,
            pitch: self.pitch.unwrap_or(extent.width),
            width: extent.width,
            height: extent.height,
        };
        rectangle.check(function, what, length)?;
        Ok(sys::mtb_place {
            buffer,
            offset: self.offset,
            bytes: bytes.cast(),
            pitch: rectangle.pitch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offset: usize, pitch: usize, width: usize, height: usize) -> Result<()> {
        let rectangle = Rectangle {
            offset,
            pitch,
            width,
            height,
        };
        rectangle.check("test", "buffer", 100)
    }

    #[test]
    fn rows_stay_inside_and_apart() {
        check(0, 100, 100, 1).unwrap();
        check(10, 0, 90, 1).unwrap();
        check(0, 10, 10, 10).unwrap();
        check(5, 45, 5, 3).unwrap();
        // The last row need not be as long as a pitch.
        check(0, 33, 1, 4).unwrap();
        for (offset, pitch, width, height) in [
            (1, 100, 100, 1),
            (0, 34, 1, 4),
            (usize::MAX, 1, 1, 1),
            (0, usize::MAX, 1, 3),
            (0, usize::MAX / 2, 1, 3),
            (101, 1, 1, 1),
        ] {
            let checked = check(offset, pitch, width, height);
            assert!(matches!(checked, Err(Error::OutOfRange(_))), "{checked:?}");
        }
        let checked = check(0, 9, 10, 2);
        assert!(
            matches!(checked, Err(Error::InvalidArgument(_))),
            "{checked:?}"
        );
    }

    #[test]
    fn nothing_fits_everywhere() {
        check(1000, 0, 0, 1).unwrap();
        check(1000, 0, 10, 0).unwrap();
    }

    #[test]
    fn the_size_comes_from_the_end_that_has_one() {
        let rows = |width, height| Some(Extent { width, height });
        let common = |from, to| {
            let source = End {
                extent: from,
                ..End::host(ptr::null_mut::<u8>(), 0)
            };
            source.common_extent("test", to)
        };
        for (from, to, size) in [
            (rows(12, 1), None, (12, 1)),
            (None, rows(12, 1), (12, 1)),
            (rows(12, 1), rows(12, 1), (12, 1)),
            (None, rows(4, 3), (4, 3)),
            (rows(4, 3), rows(4, 3), (4, 3)),
            // The bytes of rows without gaps.
            (rows(12, 1), rows(4, 3), (4, 3)),
            (rows(4, 3), rows(12, 1), (4, 3)),
        ] {
            let extent = common(from, to).unwrap();
            assert_eq!((extent.width, extent.height), size);
        }
        for (from, to, says) in [
            (None, None, "neither"),
            (
                rows(12, 1),
                rows(13, 1),
                "the source has 12 bytes, but the destination has 13 bytes",
            ),
            (
                rows(4, 3),
                rows(3, 4),
                "has 3 rows of 4 bytes, but the destination has 4 rows of 3 bytes",
            ),
            (rows(13, 1), rows(4, 3), "has 13 bytes, but"),
            (rows(0, 1), rows(usize::MAX, 2), "has 0 bytes, but"),
        ] {
            let Err(Error::InvalidArgument(failure)) = common(from, to) else {
                panic!("{says:?} was not an error");
            };
            assert!(failure.message().contains(says), "{failure}");
        }
    }
}
