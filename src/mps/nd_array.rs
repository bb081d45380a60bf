//! Arrays of several dimensions, and their products.

use super::kernel::Kernel;
use super::operand::NdArray;
use crate::error::Result;
use crate::metal::command::CommandBuffer;
use crate::metal::device::Device;
use crate::sys;

/// What an [`NdArrayMatrixMultiplication`] computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NdArrayMatrixMultiplicationDescriptor {
    /// Whether the left matrices are stored transposed.
    pub transpose_left: bool,
    /// Whether the right matrices are stored transposed.
    pub transpose_right: bool,
    /// The product's factor.
    pub alpha: f64,
    /// The factor of an addend, if the kernel takes one.
    pub beta: Option<f64>,
}

impl Default for NdArrayMatrixMultiplicationDescriptor {
    /// `left * right`.
    fn default() -> Self {
        NdArrayMatrixMultiplicationDescriptor {
            transpose_left: false,
            transpose_right: false,
            alpha: 1.0,
            beta: None,
        }
    }
}

/// `result = alpha * op(left) * op(right) + beta * addend`, of the matrices in the last two dimensions
/// (`MPSNDArrayMatrixMultiplication`). Arrays with fewer than four dimensions count as having sizes of 1 before them. Where the left or
/// the right array has size 1 in another dimension than the last two, its matrix counts for all of the other one's. The operands are
/// all `Float32`, all `Float16` or all `BFloat16`; the addend has the result's shape. Needs macOS 15.
#[derive(Debug, Clone)]
pub struct NdArrayMatrixMultiplication(Kernel);

impl NdArrayMatrixMultiplication {
    /// The kernel, for arrays of any shape.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn new(
        device: &Device,
        descriptor: &NdArrayMatrixMultiplicationDescriptor,
    ) -> Result<NdArrayMatrixMultiplication> {
        let descriptor = sys::mtb_mps_array_multiplication {
            transpose_left: descriptor.transpose_left,
            transpose_right: descriptor.transpose_right,
            has_addend: descriptor.beta.is_some(),
            alpha: descriptor.alpha,
            beta: descriptor.beta.unwrap_or(0.0),
        };
        let device = device.as_ptr();
        // SAFETY: returns an owned kernel, or NULL and an owned error.
        let kernel = unsafe {
            Kernel::create(|error| {
                sys::mtb_mps_array_multiplication_create(device, &descriptor, error)
            })
        };
        kernel.map(NdArrayMatrixMultiplication)
    }

    /// Encodes the products (`encodeToCommandBuffer:sourceArrays:destinationArray:`). `addend` is given if and only if the descriptor
    /// has a `beta`.
    ///
    /// # Errors
    ///
    /// See [the module](crate::mps#errors).
    pub fn encode(
        &self,
        commands: &mut CommandBuffer,
        left: &NdArray,
        right: &NdArray,
        addend: Option<&NdArray>,
        result: &NdArray,
    ) -> Result<()> {
        let read = [Some(left), Some(right), addend];
        self.0.encode_arrays(
            "NdArrayMatrixMultiplication::encode",
            commands,
            &read,
            result,
        )
    }
}
