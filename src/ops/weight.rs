//! [`Weight`]: a matrix of weights in a buffer, in one of the element formats of GGUF.

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::ops::View;

/// How the elements of a weight matrix are stored. A row is contiguous and follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WeightType {
    /// 32-bit floats.
    F32,
    /// 16-bit floats.
    F16,
    /// Blocks of 32 elements in 34 bytes: an f16 scale `d`, then 32 signed bytes `q`; an element is `d * q`.
    Q8_0,
    /// Blocks of 32 elements in 18 bytes: an f16 scale `d`, then 16 bytes whose low nibbles are elements 0 to 15 and
    /// whose high nibbles are elements 16 to 31; an element is `d * (nibble - 8)`.
    Q4_0,
}

impl WeightType {
    /// Every type, for those who go through all of them.
    pub const ALL: [WeightType; 4] = [
        WeightType::F32,
        WeightType::F16,
        WeightType::Q8_0,
        WeightType::Q4_0,
    ];

    /// `f32`, `f16`, `q8_0` or `q4_0`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            WeightType::F32 => "f32",
            WeightType::F16 => "f16",
            WeightType::Q8_0 => "q8_0",
            WeightType::Q4_0 => "q4_0",
        }
    }

    /// Elements that are stored together: the number of columns has to be a multiple of it.
    pub const fn block_elements(self) -> usize {
        match self {
            WeightType::F32 | WeightType::F16 => 1,
            WeightType::Q8_0 | WeightType::Q4_0 => 32,
        }
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> usize {
        match self {
            WeightType::F32 => 4,
            WeightType::F16 => 2,
            WeightType::Q8_0 => 34,
            WeightType::Q4_0 => 18,
        }
    }

    /// A matrix's offset in its buffer has to be a multiple of this many bytes.
    pub const fn alignment(self) -> usize {
        match self {
            WeightType::F32 => 4,
            WeightType::F16 | WeightType::Q8_0 | WeightType::Q4_0 => 2,
        }
    }

    /// Bytes of a row of `columns` elements; `None` if they do not fill whole blocks, or the bytes are too many to
    /// count.
    pub const fn row_bytes(self, columns: usize) -> Option<usize> {
        if columns % self.block_elements() != 0 {
            return None;
        }
        (columns / self.block_elements()).checked_mul(self.block_bytes())
    }

    /// Bytes of a matrix of `rows` by `columns` elements; `None` as for [`WeightType::row_bytes`].
    pub const fn bytes(self, rows: usize, columns: usize) -> Option<usize> {
        match self.row_bytes(columns) {
            Some(row) => row.checked_mul(rows),
            None => None,
        }
    }
}

/// A matrix of weights, `[rows, columns]` row-major, in a buffer that it keeps alive. Clones share the buffer.
#[derive(Debug, Clone)]
pub struct Weight {
    buffer: Buffer,
    offset: usize,
    rows: usize,
    columns: usize,
    kind: WeightType,
}

impl Weight {
    /// The matrix of `rows` by `columns` elements that starts `offset` bytes into `buffer`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if a dimension is zero, over 2^32 - 1, or leaves a block unfilled;
    /// [`Error::Misaligned`] if `offset` is not a multiple of [`WeightType::alignment`]; [`Error::OutOfRange`] if the
    /// buffer ends before the matrix.
    pub fn new(
        buffer: Buffer,
        offset: usize,
        rows: usize,
        columns: usize,
        kind: WeightType,
    ) -> Result<Weight> {
        const FUNCTION: &str = "Weight::new";
        let invalid = |message: String| Error::InvalidArgument(Failure::new(FUNCTION, message));
        if rows == 0
            || columns == 0
            || u32::try_from(rows).is_err()
            || u32::try_from(columns).is_err()
        {
            return Err(invalid(format!(
                "the matrix has {rows} rows and {columns} columns: both must be from 1 to 2^32 - 1"
            )));
        }
        if columns % kind.block_elements() != 0 {
            let block = kind.block_elements();
            return Err(invalid(format!(
                "a row of {columns} elements does not divide into {kind:?} blocks of {block}"
            )));
        }
        // If the bytes are too many to count, no buffer has as many.
        let bytes = kind.bytes(rows, columns).unwrap_or(usize::MAX);
        View::new(&buffer, offset).check(FUNCTION, "the matrix", bytes, kind.alignment())?;
        Ok(Weight {
            buffer,
            offset,
            rows,
            columns,
            kind,
        })
    }

    /// Rows: what a product with the matrix gives for each vector.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns: what a product with the matrix takes.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How the elements are stored.
    pub fn kind(&self) -> WeightType {
        self.kind
    }

    /// The bytes that the matrix takes.
    pub fn bytes(&self) -> usize {
        self.rows * (self.columns / self.kind.block_elements()) * self.kind.block_bytes()
    }

    /// Where the matrix starts.
    pub fn view(&self) -> View<'_> {
        View::new(&self.buffer, self.offset)
    }
}
