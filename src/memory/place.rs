//! Where bytes are: in a buffer or at an address, in one row or in several.

use std::ptr;

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
    /// One row of `length` bytes.
    pub(super) fn row(offset: usize, length: usize) -> Rectangle {
        Rectangle {
            offset,
            pitch: length,
            width: length,
            height: 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// The end of the last row; `None` if no address reaches that far. The rectangle is not empty.
    fn end(&self) -> Option<usize> {
        let rows = self.pitch.checked_mul(self.height - 1)?;
        self.offset.checked_add(rows)?.checked_add(self.width)
    }

    /// Refuses rows that reach out of `length` bytes or into one another.
    fn check(&self, function: &'static str, what: &str, length: usize) -> Result<()> {
        let Rectangle {
            offset,
            pitch,
            width,
            height,
        } = *self;
        if self.is_empty() {
            return Ok(());
        }
        if height > 1 && pitch < width {
            let message = format!("rows of {width} bytes cannot begin every {pitch} bytes");
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        if self.end().is_some_and(|end| end <= length) {
            return Ok(());
        }
        let rows = if height == 1 {
            format!("{width} bytes")
        } else {
            format!("{height} rows of {width} bytes, {pitch} bytes apart,")
        };
        let message = format!("{rows} from {offset} on reach out of {what} of {length} bytes");
        Err(Error::OutOfRange(Failure::new(function, message)))
    }
}

/// One end of a transfer: a rectangle of a buffer or of host memory.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Buffer(&'a Buffer, Rectangle),
    /// The address of `length` bytes, and the rectangle in them.
    Host {
        bytes: *mut u8,
        length: usize,
        rectangle: Rectangle,
    },
}

impl<'a> Place<'a> {
    /// Rows in values that are read.
    pub(super) fn source<T>(values: &'a [T], pitch: usize, width: usize, height: usize) -> Self {
        Place::host(
            values.as_ptr().cast_mut(),
            values.len(),
            pitch,
            width,
            height,
        )
    }

    /// Rows in values that are written.
    pub(super) fn destination<T>(
        values: &'a mut [T],
        pitch: usize,
        width: usize,
        height: usize,
    ) -> Self {
        Place::host(values.as_mut_ptr(), values.len(), pitch, width, height)
    }

    /// Rows in `count` values at an address.
    pub(super) fn host<T>(
        values: *mut T,
        count: usize,
        pitch: usize,
        width: usize,
        height: usize,
    ) -> Self {
        Place::Host {
            bytes: values.cast(),
            // No slice is longer than the address space.
            length: count * size_of::<T>(),
            rectangle: Rectangle {
                offset: 0,
                pitch,
                width,
                height,
            },
        }
    }

    pub(super) fn buffer(&self) -> Option<&'a Buffer> {
        match *self {
            Place::Buffer(buffer, _) => Some(buffer),
            Place::Host { .. } => None,
        }
    }

    pub(super) fn rectangle(&self) -> Rectangle {
        match *self {
            Place::Buffer(_, rectangle) | Place::Host { rectangle, .. } => rectangle,
        }
    }

    /// Refuses what reaches out of the buffer or the memory. The bridge checks against the length that Metal knows,
    /// which for a mapped file goes to the end of its last page.
    pub(super) fn check(&self, function: &'static str) -> Result<()> {
        match *self {
            Place::Buffer(buffer, rectangle) => rectangle.check(function, "a buffer", buffer.len()),
            Place::Host {
                length, rectangle, ..
            } => rectangle.check(function, "host memory", length),
        }
    }

    pub(super) fn to_sys(self) -> sys::mtb_place {
        match self {
            Place::Buffer(buffer, rectangle) => sys::mtb_place {
                buffer: buffer.as_ptr(),
                offset: rectangle.offset,
                bytes: ptr::null_mut(),
                pitch: rectangle.pitch,
            },
            Place::Host {
                bytes, rectangle, ..
            } => sys::mtb_place {
                buffer: ptr::null_mut(),
                offset: rectangle.offset,
                bytes: bytes.cast(),
                pitch: rectangle.pitch,
            },
        }
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
        rectangle.check("test", "a buffer", 100)
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
}
