//! [`Weight`]: a matrix of weights in a buffer, in one of the element formats of GGUF.

use std::ops::Range;

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::ops::View;

/// The kernels of a format of weights, by their names.
pub(super) struct WeightKernels {
    pub embed: &'static str,
    /// `matvec`, for one row of activations and for four at a time, on devices that run lanes in lockstep.
    pub matvec: [&'static str; 2],
    /// `matvec_blocks`, for one row of activations and for up to 32, on devices that run lanes in turn.
    pub matvec_blocks: [&'static str; 2],
    /// As `matvec` and `matvec_blocks`, for activations rounded to 8 bits. Formats without blocks have none.
    pub matvec_rounded: [&'static str; 2],
    pub matvec_rounded_blocks: [&'static str; 2],
    /// `matmul`, for tiles of 32 and of 64 rows of activations.
    pub matmul: [&'static str; 2],
}

/// Defines [`WeightType`]. `EACH_FORMAT` of `shaders/weights.h` lists the same formats for the kernels, by the same names.
macro_rules! weight_types {
    ($($(#[$doc:meta])+ $kind:ident $name:literal: $elements:literal in $bytes:literal bytes at multiples of $alignment:literal;)+) => {
        /// How the elements of a weight matrix are stored. A row is contiguous and follows the one before it.
        ///
        /// The names are those of GGUF. Scales and offsets are f16 unless the format says otherwise. `metal-bridge` unpacks a
        /// quantized element to the f32 that the format defines.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types)]
        pub enum WeightType {
            $($(#[$doc])+ $kind,)+
        }

        impl WeightType {
            /// Every type, for those who go through all of them.
            pub const ALL: [WeightType; [$($name),+].len()] = [$(WeightType::$kind),+];

            /// GGUF's name in lower case, such as `q8_0`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(WeightType::$kind => $name,)+
                }
            }

            /// Elements that are stored together: the number of columns has to be a multiple of it.
            pub const fn block_elements(self) -> usize {
                match self {
                    $(WeightType::$kind => $elements,)+
                }
            }

            /// Bytes of a block.
            pub const fn block_bytes(self) -> usize {
                match self {
                    $(WeightType::$kind => $bytes,)+
                }
            }

            /// A matrix's offset in its buffer has to be a multiple of this many bytes.
            pub const fn alignment(self) -> usize {
                match self {
                    $(WeightType::$kind => $alignment,)+
                }
            }

            pub(super) const fn kernels(self) -> &'static WeightKernels {
                match self {
                    $(WeightType::$kind => &WeightKernels {
                        embed: concat!("embed_", $name),
                        matvec: [concat!("matvec_", $name, "_1"), concat!("matvec_", $name, "_4")],
                        matvec_blocks: [concat!("matvec_blocks_", $name, "_1"), concat!("matvec_blocks_", $name, "_32")],
                        matvec_rounded: [concat!("matvec_rounded_", $name, "_1"), concat!("matvec_rounded_", $name, "_4")],
                        matvec_rounded_blocks: [
                            concat!("matvec_rounded_blocks_", $name, "_1"),
                            concat!("matvec_rounded_blocks_", $name, "_32"),
                        ],
                        matmul: [concat!("matmul_", $name, "_32"), concat!("matmul_", $name, "_64")],
                    },)+
                }
            }
        }
    };
}

weight_types! {
    /// 32-bit floats.
    F32 "f32": 1 in 4 bytes at multiples of 4;
    /// 16-bit floats.
    F16 "f16": 1 in 2 bytes at multiples of 2;
    /// The upper 16 bits of 32-bit floats.
    BF16 "bf16": 1 in 2 bytes at multiples of 2;
    /// Blocks of 32 elements in 34 bytes: a scale `d`, then 32 signed bytes `q`; an element is `d * q`.
    Q8_0 "q8_0": 32 in 34 bytes at multiples of 2;
    /// Blocks of 32 elements in 18 bytes: a scale `d`, then 16 bytes whose low nibbles are elements 0 to 15 and whose high
    /// nibbles are elements 16 to 31; an element is `d * (nibble - 8)`.
    Q4_0 "q4_0": 32 in 18 bytes at multiples of 2;
    /// As `Q4_0`, with an offset `m` behind the scale; an element is `d * nibble + m`.
    Q4_1 "q4_1": 32 in 20 bytes at multiples of 2;
    /// As `Q4_0`, with a fifth bit of each element between the scale and the nibbles; an element is `d * (q - 16)`.
    Q5_0 "q5_0": 32 in 22 bytes at multiples of 2;
    /// As `Q4_1`, with a fifth bit of each element between the offset and the nibbles; an element is `d * q + m`.
    Q5_1 "q5_1": 32 in 24 bytes at multiples of 2;
    /// As `Q4_0`, but a nibble chooses one of 16 levels, which are closer together near zero; an element is `d * level`.
    IQ4_NL "iq4_nl": 32 in 18 bytes at multiples of 2;
    /// Microscaling FP4 of the Open Compute Project: blocks of 32 elements in 17 bytes, the exponent of a power of two (E8M0)
    /// and 16 bytes of floats of four bits (E2M1), in the order of `Q4_0`.
    MXFP4 "mxfp4": 32 in 17 bytes at multiples of 1;
    /// Blocks of 256 elements of two bits in 84 bytes; each 16 have a scale and an offset of four bits.
    Q2_K "q2_k": 256 in 84 bytes at multiples of 2;
    /// Blocks of 256 elements of three bits in 110 bytes; each 16 have a scale of six bits.
    Q3_K "q3_k": 256 in 110 bytes at multiples of 2;
    /// Blocks of 256 elements of four bits in 144 bytes; each 32 have a scale and an offset of six bits.
    Q4_K "q4_k": 256 in 144 bytes at multiples of 2;
    /// Blocks of 256 elements of five bits in 176 bytes; each 32 have a scale and an offset of six bits.
    Q5_K "q5_k": 256 in 176 bytes at multiples of 2;
    /// Blocks of 256 elements of six bits in 210 bytes; each 16 have a scale of eight bits.
    Q6_K "q6_k": 256 in 210 bytes at multiples of 2;
    /// Blocks of 256 elements in 136 bytes that choose levels as in `IQ4_NL`; each 32 have a scale of six bits.
    IQ4_XS "iq4_xs": 256 in 136 bytes at multiples of 2;
}

impl WeightType {
    /// Whether elements are stored in blocks: the quantized formats, which
    /// [`Ops::linear_rounded`](crate::ops::Ops::linear_rounded) takes.
    pub const fn has_blocks(self) -> bool {
        self.block_elements() > 1
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

    /// These rows, as a matrix of their own over the same buffer: one of several matrices that a file keeps as one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the matrix does not have these rows, and those of [`Weight::new`].
    pub fn rows_of(&self, rows: Range<usize>) -> Result<Weight> {
        if rows.start > rows.end || rows.end > self.rows {
            let message = format!("rows {rows:?} of a matrix of {} rows", self.rows);
            return Err(Error::OutOfRange(Failure::new("Weight::rows_of", message)));
        }
        let row_bytes = self.bytes() / self.rows;
        Weight::new(
            self.buffer.clone(),
            self.offset + rows.start * row_bytes,
            rows.len(),
            self.columns,
            self.kind,
        )
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
