//! [`Elements`]: what an operation takes of a buffer.

use std::ops::Range;

use metal_bridge::Buffer;
use metal_bridge::ops::DataType;

use crate::error::{Error, Result};

/// A range of a shared buffer, counted in elements of a type from the start of the buffer. It may be empty.
#[derive(Debug, Clone)]
pub struct Elements<'b> {
    pub(crate) buffer: &'b Buffer,
    pub(crate) range: Range<usize>,
    pub(crate) data_type: DataType,
}

impl<'b> Elements<'b> {
    /// The elements `range` of `buffer`, of this type. The operation that takes them checks them.
    pub fn new(buffer: &'b Buffer, range: Range<usize>, data_type: DataType) -> Elements<'b> {
        Elements {
            buffer,
            range,
            data_type,
        }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The bytes from the start of the buffer, if they are in it.
    pub(crate) fn bytes(&self, operation: &'static str) -> Result<Range<usize>> {
        let Range { start, end } = self.range;
        let size = self.data_type.size();
        let length = self.buffer.len();
        let inside = end.checked_mul(size).is_some_and(|end| end <= length);
        if start <= end && inside {
            return Ok(start * size..end * size);
        }
        let name = self.data_type.name();
        let message = format!(
            "the elements {start}..{end} of {name} are not in the buffer, which has {length} bytes"
        );
        Err(Error::InvalidArgument { operation, message })
    }

    /// The `part`th of `parts` ranges of nearly equal lengths, the longer ones first.
    pub(crate) fn part(&self, part: usize, parts: usize) -> Elements<'b> {
        let within = part_of(self.len(), part, parts);
        let start = self.range.start;
        Elements {
            range: start + within.start..start + within.end,
            ..self.clone()
        }
    }
}

/// The `part`th of `parts` ranges that `count` elements are divided into.
pub(crate) fn part_of(count: usize, part: usize, parts: usize) -> Range<usize> {
    let (each, longer) = (count / parts, count % parts);
    let start = |part: usize| part * each + part.min(longer);
    start(part)..start(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_elements_in_order() {
        for (count, parts) in [(0, 1), (0, 3), (1, 3), (7, 3), (9, 3), (64, 5), (2, 64)] {
            let mut end = 0;
            for part in 0..parts {
                let range = part_of(count, part, parts);
                assert_eq!(range.start, end);
                assert!(range.len() <= count.div_ceil(parts));
                end = range.end;
            }
            assert_eq!(end, count);
        }
    }
}
