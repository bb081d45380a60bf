//! Kernels over matrices and vectors.

use super::kernel::Kernel;
use super::operand::{Matrix, Vector};
use crate::error::Result;
use crate::metal::access::Access;
use crate::metal::command::CommandBuffer;
use crate::metal::device::Device;
use crate::sys;

/// The most values that [`MatrixFindTopK`] finds in a row: Metal's limit.
pub const MAX_TOP_K: usize = sys::MTB_MPS_MAX_TOP_K as usize;

/// What a [`MatrixMultiplication`] computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixMultiplicationDescriptor {
    /// Whether the left matrix is stored transposed, as `interior_columns` x `result_rows`.
    pub transpose_left: bool,
    /// Whether the right matrix is stored transposed, as `result_columns` x `interior_columns`.
    pub transpose_right: bool,
    /// Rows of the result.
    pub result_rows: usize,
    /// Columns of the result.
    pub result_columns: usize,
    /// The length of the sums.
    pub interior_columns: usize,
    /// The product's factor.
    pub alpha: f64,
    /// The factor of what the result holds before. If it is zero, what the result holds does not matter.
    pub beta: f64,
}

/// `result = alpha * op(left) * op(right) + beta * result`, for each matrix of an array (`MPSMatrixMultiplication`). The operands are
/// all `Float32` or all `Float16`, and have equal numbers of matrices.
#[derive(Debug, Clone)]
pub struct MatrixMultiplication(Kernel);

impl MatrixMultiplication {
    /// `result = left * right`: `result_rows` x `interior_columns` by `interior_columns` x `result_columns`.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn new(
        device: &Device,
        result_rows: usize,
        result_columns: usize,
        interior_columns: usize,
    ) -> Result<MatrixMultiplication> {
        let descriptor = MatrixMultiplicationDescriptor {
            transpose_left: false,
            transpose_right: false,
            result_rows,
            result_columns,
            interior_columns,
            alpha: 1.0,
            beta: 0.0,
        };
        Self::with_descriptor(device, &descriptor)
    }

    /// The kernel that `descriptor` describes.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn with_descriptor(
        device: &Device,
        descriptor: &MatrixMultiplicationDescriptor,
    ) -> Result<MatrixMultiplication> {
        let descriptor = sys::mtb_mps_matrix_multiplication {
            transpose_left: descriptor.transpose_left,
            transpose_right: descriptor.transpose_right,
            result_rows: descriptor.result_rows,
            result_columns: descriptor.result_columns,
            interior_columns: descriptor.interior_columns,
            alpha: descriptor.alpha,
            beta: descriptor.beta,
        };
        let device = device.as_ptr();
        // SAFETY: returns an owned kernel, or NULL and an owned error.
        let kernel = unsafe {
            Kernel::create(|error| {
                sys::mtb_mps_matrix_multiplication_create(device, &descriptor, error)
            })
        };
        kernel.map(MatrixMultiplication)
    }

    /// Encodes the product (`encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:`).
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn encode(
        &self,
        commands: &mut CommandBuffer,
        left: &Matrix,
        right: &Matrix,
        result: &Matrix,
    ) -> Result<()> {
        let operands = [
            (&left.0, Access::Read),
            (&right.0, Access::Read),
            (&result.0, Access::Write),
        ];
        self.0
            .encode("MatrixMultiplication::encode", commands, &operands)
    }
}

/// What a [`MatrixVectorMultiplication`] computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixVectorMultiplicationDescriptor {
    /// Whether the matrix is stored transposed, as `columns` x `rows`.
    pub transpose: bool,
    /// The result's length.
    pub rows: usize,
    /// The vector's length.
    pub columns: usize,
    /// The product's factor.
    pub alpha: f64,
    /// The factor of what the result holds before. If it is zero, what the result holds does not matter.
    pub beta: f64,
}

/// `result = alpha * op(matrix) * vector + beta * result` (`MPSMatrixVectorMultiplication`). The operands are all `Float32` or all
/// `Float16`.
#[derive(Debug, Clone)]
pub struct MatrixVectorMultiplication(Kernel);

impl MatrixVectorMultiplication {
    /// `result = matrix * vector`, with a matrix of `rows` x `columns`.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn new(device: &Device, rows: usize, columns: usize) -> Result<MatrixVectorMultiplication> {
        let descriptor = MatrixVectorMultiplicationDescriptor {
            transpose: false,
            rows,
            columns,
            alpha: 1.0,
            beta: 0.0,
        };
        Self::with_descriptor(device, &descriptor)
    }

    /// The kernel that `descriptor` describes.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn with_descriptor(
        device: &Device,
        descriptor: &MatrixVectorMultiplicationDescriptor,
    ) -> Result<MatrixVectorMultiplication> {
        let descriptor = sys::mtb_mps_matrix_vector_multiplication {
            transpose: descriptor.transpose,
            rows: descriptor.rows,
            columns: descriptor.columns,
            alpha: descriptor.alpha,
            beta: descriptor.beta,
        };
        let device = device.as_ptr();
        // SAFETY: returns an owned kernel, or NULL and an owned error.
        let kernel = unsafe {
            Kernel::create(|error| {
                sys::mtb_mps_matrix_vector_multiplication_create(device, &descriptor, error)
            })
        };
        kernel.map(MatrixVectorMultiplication)
    }

    /// Encodes the product (`encodeToCommandBuffer:inputMatrix:inputVector:resultVector:`).
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn encode(
        &self,
        commands: &mut CommandBuffer,
        matrix: &Matrix,
        vector: &Vector,
        result: &Vector,
    ) -> Result<()> {
        let operands = [
            (&matrix.0, Access::Read),
            (&vector.0, Access::Read),
            (&result.0, Access::Write),
        ];
        self.0
            .encode("MatrixVectorMultiplication::encode", commands, &operands)
    }
}

macro_rules! softmax {
    ($(#[$doc:meta])* $name:ident, $function:literal, $is_logarithm:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name(Kernel);

        impl $name {
            /// The kernel, for matrices of any size.
            ///
            /// # Errors
            ///
            /// See [the module](crate::mps#errors).
            pub fn new(device: &Device) -> Result<$name> {
                let device = device.as_ptr();
                // SAFETY: returns an owned kernel, or NULL and an owned error.
                let kernel = unsafe {
                    Kernel::create(|error| {
                        sys::mtb_mps_matrix_softmax_create(device, $is_logarithm, error)
                    })
                };
                kernel.map($name)
            }

            /// Encodes the kernel (`encodeToCommandBuffer:inputMatrix:resultMatrix:`).
            ///
            /// # Errors
            ///
            /// See [the module](crate::mps#errors).
            pub fn encode(
                &self,
                commands: &mut CommandBuffer,
                input: &Matrix,
                result: &Matrix,
            ) -> Result<()> {
                let operands = [(&input.0, Access::Read), (&result.0, Access::Write)];
                self.0.encode($function, commands, &operands)
            }
        }
    };
}

softmax! {
    /// `result[i][j] = exp(input[i][j]) / sum over k of exp(input[i][k])` (`MPSMatrixSoftMax`). Input and result have one shape and one
    /// type, `Float32` or `Float16`.
    MatrixSoftMax, "MatrixSoftMax::encode", false
}

softmax! {
    /// `result[i][j] = input[i][j] - log(sum over k of exp(input[i][k]))` (`MPSMatrixLogSoftMax`). Input and result have one shape and
    /// one type, `Float32` or `Float16`.
    MatrixLogSoftMax, "MatrixLogSoftMax::encode", true
}

/// The largest values of each row, the largest first, and the columns where they stand (`MPSMatrixFindTopK`).
#[derive(Debug, Clone)]
pub struct MatrixFindTopK(Kernel);

impl MatrixFindTopK {
    /// A kernel that finds `number_of_top_k_values` values in each row, [`MAX_TOP_K`] at most.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn new(device: &Device, number_of_top_k_values: usize) -> Result<MatrixFindTopK> {
        let device = device.as_ptr();
        // SAFETY: returns an owned kernel, or NULL and an owned error.
        let kernel = unsafe {
            Kernel::create(|error| {
                sys::mtb_mps_matrix_find_top_k_create(device, number_of_top_k_values, error)
            })
        };
        kernel.map(MatrixFindTopK)
    }

    /// Encodes the search (`encodeToCommandBuffer:inputMatrix:resultIndexMatrix:resultValueMatrix:`). `indices` (`UInt32`) and `values`
    /// (the input's type, `Float32` or `Float16`) have as many columns as the kernel finds values; the input has no fewer.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn encode(
        &self,
        commands: &mut CommandBuffer,
        input: &Matrix,
        indices: &Matrix,
        values: &Matrix,
    ) -> Result<()> {
        let operands = [
            (&input.0, Access::Read),
            (&indices.0, Access::Write),
            (&values.0, Access::Write),
        ];
        self.0.encode("MatrixFindTopK::encode", commands, &operands)
    }
}
