//! How activations are stored that weights are multiplied by.

use crate::error::{Error, Failure, Result};
use crate::ops::WeightType;
use crate::ops::launch::elements;

/// Elements that are rounded together, and what they take: a byte each, the scale, and the scaled sums of both halves.
pub(super) const BLOCK: usize = 32;
const BLOCK_BYTES: usize = BLOCK + 3 * size_of::<f32>();

/// What weights are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Activations {
    /// The activations as they are: [`Ops::linear`](crate::ops::Ops::linear) and its like.
    #[default]
    F32,
    /// Rounded to whole numbers from -127 to 127 in blocks of 32, each with a scale of its own:
    /// [`Ops::linear_rounded`](crate::ops::Ops::linear_rounded). An element is off by a 254th of the largest element of its block at
    /// most. Blocks whose elements are all smaller than 2^-119 become zeros.
    Int8,
}

impl Activations {
    /// Elements that are rounded together: rows of this type have a multiple of so many.
    pub const fn block(self) -> usize {
        match self {
            Activations::F32 => 1,
            Activations::Int8 => BLOCK,
        }
    }

    /// Bytes of `rows` rows of `columns` elements: 4 an element, or 44 for each 32. `None` if they are too many to count, or
    /// if the columns do not fill whole blocks of rounded ones.
    pub const fn bytes(self, rows: usize, columns: usize) -> Option<usize> {
        let bytes = match self {
            Activations::F32 => size_of::<f32>(),
            Activations::Int8 => BLOCK_BYTES,
        };
        if columns % self.block() != 0 {
            return None;
        }
        match (columns / self.block()).checked_mul(bytes) {
            Some(row) => row.checked_mul(rows),
            None => None,
        }
    }
}

/// Bytes of rounded activations that weights of this format are multiplied by.
pub(super) fn rounded_bytes_for(
    function: &'static str,
    kind: WeightType,
    rows: usize,
    columns: usize,
) -> Result<usize> {
    if !kind.has_blocks() {
        let message = format!(
            "weights of type {} are multiplied by f32, not by rounded activations",
            kind.name()
        );
        return Err(Error::Unsupported(Failure::new(function, message)));
    }
    rounded_bytes(function, rows, columns)
}

/// Bytes of rounded activations.
pub(super) fn rounded_bytes(function: &'static str, rows: usize, columns: usize) -> Result<usize> {
    elements(function, "x", &[rows, columns])?;
    elements(function, "x", &[rows, columns / BLOCK, BLOCK_BYTES])
}
