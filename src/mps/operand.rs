//! What kernels work on: elements in buffers.

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::sys;

/// The type of an element (`MPSDataType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `f32`.
    Float32,
    /// `f16`, of the crate `half`.
    Float16,
    /// `bf16`, of the same crate: for [`NdArray`] alone. Needs macOS 14.
    BFloat16,
    /// `u32`, for the columns that [`MatrixFindTopK`](super::MatrixFindTopK) finds.
    UInt32,
}

impl DataType {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            DataType::Float32 | DataType::UInt32 => 4,
            DataType::Float16 | DataType::BFloat16 => 2,
        }
    }

    pub(super) fn to_sys(self) -> sys::mtb_data_type {
        match self {
            DataType::Float32 => sys::MTB_TYPE_FLOAT,
            DataType::Float16 => sys::MTB_TYPE_HALF,
            DataType::BFloat16 => sys::MTB_TYPE_BFLOAT,
            DataType::UInt32 => sys::MTB_TYPE_UINT,
        }
    }
}

const MAX_RANK: usize = sys::MTB_MPS_MAX_RANK as usize;

/// Elements in a buffer, of any form. Each encode checks them.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    buffer: Buffer,
    offset: usize,
    data_type: DataType,
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
}

impl Operand {
    /// Elements without gaps, from the start of the buffer.
    pub(super) fn packed(buffer: &Buffer, shape: &[usize], data_type: DataType) -> Operand {
        let mut operand = Operand {
            buffer: buffer.clone(),
            offset: 0,
            data_type,
            rank: shape.len(),
            shape: [0; MAX_RANK],
            strides: [0; MAX_RANK],
        };
        let mut stride = data_type.size();
        for (dimension, &size) in shape.iter().enumerate().rev() {
            operand.shape[dimension] = size;
            operand.strides[dimension] = stride;
            // Too long for any buffer: the encode refuses it.
            stride = stride.saturating_mul(size);
        }
        operand
    }

    pub(super) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(super) fn to_sys(&self) -> sys::mtb_mps_array {
        sys::mtb_mps_array {
            buffer: self.buffer.as_ptr(),
            offset: self.offset,
            data_type: self.data_type.to_sys(),
            rank: self.rank,
            shape: self.shape,
            strides: self.strides,
        }
    }

    /// The bridge checks against the length that Metal knows, which for a mapped file goes to the end of its last page.
    pub(super) fn check_end(&self, function: &'static str) -> Result<()> {
        let reach = (0..self.rank).map(|i| {
            let steps = self.shape[i].saturating_sub(1);
            steps.saturating_mul(self.strides[i])
        });
        let bytes = reach.fold(self.data_type.size(), usize::saturating_add);
        let length = self.buffer.len();
        if self.offset.saturating_add(bytes) <= length {
            return Ok(());
        }
        let message = format!(
            "an operand ends past the end of its buffer: {bytes} bytes at offset {} of {length}",
            self.offset
        );
        Err(Error::OutOfRange(Failure::new(function, message)))
    }
}

/// Rows of elements in a buffer, or an array of such matrices (`MPSMatrix`). The element in row `i` and column `j` of matrix `k` lies
/// at byte `offset + k * matrix_bytes + i * row_bytes + j * data_type.size()`.
#[derive(Debug, Clone)]
pub struct Matrix(pub(super) Operand);

impl Matrix {
    /// One matrix without gaps between its rows, from the start of `buffer`.
    pub fn new(buffer: &Buffer, rows: usize, columns: usize, data_type: DataType) -> Matrix {
        Matrix(Operand::packed(buffer, &[1, rows, columns], data_type))
    }

    /// The same, `offset` bytes into the buffer: a multiple of an element's size.
    pub fn with_offset(mut self, offset: usize) -> Matrix {
        self.0.offset = offset;
        self
    }

    /// The same, with `row_bytes` bytes from row to row: a multiple of an element's size. The matrices of an array follow each other
    /// without gaps.
    pub fn with_row_bytes(mut self, row_bytes: usize) -> Matrix {
        self.0.strides[1] = row_bytes;
        self.0.strides[0] = row_bytes.saturating_mul(self.0.shape[1]);
        self
    }

    /// An array of `matrices` such matrices, with `matrix_bytes` bytes from one to the next: a multiple of the bytes from row to row.
    pub fn with_matrices(mut self, matrices: usize, matrix_bytes: usize) -> Matrix {
        self.0.shape[0] = matrices;
        self.0.strides[0] = matrix_bytes;
        self
    }
}

/// Elements that follow each other in a buffer (`MPSVector`).
#[derive(Debug, Clone)]
pub struct Vector(pub(super) Operand);

impl Vector {
    /// `length` elements from the start of `buffer`.
    pub fn new(buffer: &Buffer, length: usize, data_type: DataType) -> Vector {
        Vector(Operand::packed(buffer, &[length], data_type))
    }

    /// The same, `offset` bytes into the buffer: a multiple of an element's size.
    pub fn with_offset(mut self, offset: usize) -> Vector {
        self.0.offset = offset;
        self
    }
}

/// Elements of up to four dimensions that follow each other in a buffer, the last dimension the fastest (`MPSNDArray`,
/// `MPSGraphTensorData`).
#[derive(Debug, Clone)]
pub struct NdArray(pub(super) Operand);

impl NdArray {
    /// Elements from the start of `buffer`; `shape` has the size of each dimension, the slowest first.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for no dimension, and for more than four.
    pub fn new(buffer: &Buffer, shape: &[usize], data_type: DataType) -> Result<NdArray> {
        if (1..=MAX_RANK).contains(&shape.len()) {
            return Ok(NdArray(Operand::packed(buffer, shape, data_type)));
        }
        let message = format!(
            "the array has {} dimensions, not 1 to {MAX_RANK}",
            shape.len()
        );
        Err(Error::InvalidArgument(Failure::new(
            "NdArray::new",
            message,
        )))
    }

    /// The same, `offset` bytes into the buffer: a multiple of an element's size. Another offset than zero needs macOS 15.
    pub fn with_offset(mut self, offset: usize) -> NdArray {
        self.0.offset = offset;
        self
    }
}
