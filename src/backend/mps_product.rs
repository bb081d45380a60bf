//! Products of matrices by Metal Performance Shaders.

use crate::backend::batch::Batch;
use crate::backend::choice::Faster;
use crate::backend::contest::{Contest, exponent};
use crate::backend::slices::MetalOps;
use crate::error::Result;
use crate::metal::buffer::Buffer;
use crate::metal::command::CommandBuffer;
use crate::metal::compute::DispatchType;
use crate::metal::dispatches::Work;
use crate::mps::{self, Matrix, MatrixMultiplication, MatrixMultiplicationDescriptor};
use crate::ops::{DataType, Matmul, Tensor, View};

/// The operation, in statistics.
const FUNCTION: &str = "Ops::matmul";

/// Matrices as MPS takes them: strides in elements.
#[derive(Clone, Copy)]
struct Stored<'a> {
    view: View<'a>,
    /// The columns are what lies side by side.
    is_transposed: bool,
    rows: usize,
    columns: usize,
    row: usize,
    count: usize,
    matrix: usize,
}

/// Elements from one row to the next, if the `size` elements of a row lie side by side. The stride of what has one element does not
/// matter.
fn row([size, stride]: [usize; 2], [others, row]: [usize; 2]) -> Option<usize> {
    let row = if others == 1 { size } else { row };
    ((stride == 1 || size == 1) && row >= size).then_some(row)
}

impl<'a> Stored<'a> {
    /// None if no two strides say where the elements are.
    fn of(tensor: &Tensor<'a>) -> Option<Stored<'a>> {
        let outer = tensor.rank().checked_sub(2)?;
        let (batches, last) = tensor.shape().split_at(outer);
        let (batch_strides, strides) = tensor.strides().split_at(outer);
        let [of_rows, of_columns] = [[last[0], strides[0]], [last[1], strides[1]]];
        let plain = row(of_columns, of_rows).map(|row| (false, row, last[0]));
        let turned = || row(of_rows, of_columns).map(|row| (true, row, last[1]));
        let (is_transposed, row, stored_rows) = plain.or_else(turned)?;
        let length = row.checked_mul(stored_rows)?;
        let (mut count, mut matrix) = (1usize, length);
        let sizes = batches.iter().zip(batch_strides).rev();
        for (&size, &stride) in sizes.filter(|(size, _)| **size != 1) {
            if count == 1 {
                matrix = stride;
            } else if stride != count.checked_mul(matrix)? {
                return None;
            }
            count = count.checked_mul(size)?;
        }
        (matrix % row == 0 && matrix >= length).then_some(Stored {
            view: tensor.view(),
            is_transposed,
            rows: last[0],
            columns: last[1],
            row,
            count,
            matrix,
        })
    }

    /// All matrices as the rows of one.
    fn joined(self) -> Option<Stored<'a>> {
        if self.count == 1 {
            return Some(self);
        }
        let rows = self.rows.checked_mul(self.count)?;
        let is_one = !self.is_transposed && self.matrix == self.rows * self.row;
        is_one.then_some(Stored {
            rows,
            count: 1,
            matrix: rows * self.row,
            ..self
        })
    }

    fn elements(&self) -> usize {
        self.count * self.rows * self.columns
    }

    fn matrix(&self, data_type: mps::DataType) -> Matrix {
        let [rows, columns] = match self.is_transposed {
            false => [self.rows, self.columns],
            true => [self.columns, self.rows],
        };
        let size = data_type.size();
        Matrix::new(self.view.buffer(), rows, columns, data_type)
            .with_offset(self.view.offset())
            .with_row_bytes(self.row.saturating_mul(size))
            .with_matrices(self.count, self.matrix.saturating_mul(size))
    }
}

/// The sizes before the last two, without ones before the others.
fn batches<'t>(tensor: &'t Tensor<'_>) -> &'t [usize] {
    let sizes = &tensor.shape()[..tensor.rank() - 2];
    let ones = sizes.iter().take_while(|size| **size == 1).count();
    &sizes[ones..]
}

/// A product that Metal Performance Shaders can compute.
pub(super) struct Product<'a> {
    data_type: DataType,
    element: mps::DataType,
    a: Stored<'a>,
    b: Stored<'a>,
    y: Stored<'a>,
    alpha: f32,
    beta: f32,
}

/// The elements' type, if Metal Performance Shaders compute with it.
pub(super) fn element(data_type: DataType) -> Option<mps::DataType> {
    match data_type {
        DataType::F32 => Some(mps::DataType::Float32),
        DataType::F16 => Some(mps::DataType::Float16),
        _ => None,
    }
}

impl<'a> Product<'a> {
    /// None for a product that they cannot compute, or that is wrong: then the kernels' call says why.
    pub(super) fn of(
        options: &Matmul<'a>,
        a: &Tensor<'a>,
        b: &Tensor<'a>,
        y: &Tensor<'a>,
    ) -> Option<Product<'a>> {
        let data_type = y.data_type();
        let element = element(data_type)?;
        let beta = match options.c {
            Some(c) if options.beta != 0.0 => {
                if !c.is_same_elements(y) || c.data_type() != data_type {
                    return None;
                }
                options.beta
            }
            _ => 0.0,
        };
        let has_no_more = options.bias.is_none()
            && options.activation.is_none()
            && options.scale_a.is_none()
            && options.scale_b.is_none();
        // With a factor of 0, neither A nor B is read.
        let is_simple = has_no_more
            && options.alpha.is_finite()
            && options.beta.is_finite()
            && options.alpha != 0.0
            && [a, b]
                .iter()
                .all(|of| of.data_type() == data_type && of.rank() <= y.rank())
            && [a, b, y].iter().all(|of| of.rank() >= 2 && of.count() > 0);
        if !is_simple || batches(a) != batches(y) {
            return None;
        }
        let [mut a_stored, b_stored, mut y_stored] =
            [Stored::of(a)?, Stored::of(b)?, Stored::of(y)?];
        if b_stored.count == 1 {
            (a_stored, y_stored) = (a_stored.joined()?, y_stored.joined()?);
        } else if batches(b) != batches(y) {
            return None;
        }
        let (a, b, y) = (a_stored, b_stored, y_stored);
        let fits =
            !y.is_transposed && a.columns == b.rows && [y.rows, y.columns] == [a.rows, b.columns];
        fits.then_some(Product {
            data_type,
            element,
            a,
            b,
            y,
            alpha: options.alpha,
            beta,
        })
    }

    fn sizes(&self) -> [usize; 4] {
        [self.y.count, self.y.rows, self.y.columns, self.a.columns]
    }
}

impl Contest for Product<'_> {
    fn class(&self) -> String {
        let letter = |of: &Stored<'_>| if of.is_transposed { 't' } else { 'n' };
        let (a, b) = (letter(&self.a), letter(&self.b));
        let sizes = self.sizes().map(exponent);
        format!("matmul {} {a}{b} {sizes:?}", self.data_type.name())
    }

    fn work(&self) -> Work {
        let multiply = |all: u64, size: &usize| all.saturating_mul(*size as u64);
        let elements = [&self.a, &self.b, &self.y].map(|of| of.elements() as u64);
        let bytes = elements.iter().sum::<u64>();
        Work {
            operation: FUNCTION,
            variant: Some(super::contest::MPS),
            data_type: self.data_type.name(),
            flops: self.sizes().iter().fold(2, multiply),
            bytes: bytes.saturating_mul(self.data_type.size() as u64),
        }
    }

    fn encode(&self, ops: &MetalOps, commands: &mut CommandBuffer) -> Result<()> {
        let transposes = [self.a.is_transposed, self.b.is_transposed];
        let sizes = [self.y.rows, self.y.columns, self.a.columns];
        let factors = [self.alpha, self.beta];
        let key = (transposes, sizes, factors.map(f32::to_bits));
        let kernel = ops.products.get(key, || {
            let descriptor = MatrixMultiplicationDescriptor {
                transpose_left: transposes[0],
                transpose_right: transposes[1],
                result_rows: sizes[0],
                result_columns: sizes[1],
                interior_columns: sizes[2],
                alpha: f64::from(factors[0]),
                beta: f64::from(factors[1]),
            };
            MatrixMultiplication::with_descriptor(ops.backend().metal_device(), &descriptor)
        })?;
        let [a, b, y] = [&self.a, &self.b, &self.y].map(|of| of.matrix(self.element));
        kernel.encode(commands, &a, &b, &y)
    }

    fn memory(&self) -> Vec<usize> {
        let bytes = |of: &Stored<'_>| of.elements() * self.data_type.size();
        [&self.a, &self.b, &self.y].map(bytes).to_vec()
    }

    fn rehearse(
        &self,
        ops: &MetalOps,
        commands: &mut CommandBuffer,
        memory: &[Buffer],
        who: Faster,
    ) -> Result<()> {
        let tensor = |buffer, of: &Stored<'_>| {
            let (rows, columns) = (of.rows, of.columns);
            match of.is_transposed {
                false => Tensor::new(buffer, self.data_type, &[of.count, rows, columns]),
                true => Tensor::new(buffer, self.data_type, &[of.count, columns, rows])?
                    .permute(&[0, 2, 1]),
            }
        };
        let a = tensor(&memory[0], &self.a)?;
        let b = tensor(&memory[1], &self.b)?;
        let y = tensor(&memory[2], &self.y)?;
        let options = Matmul::default();
        match (who, Product::of(&options, &a, &b, &y)) {
            (Faster::Mps, Some(product)) => product.encode(ops, commands),
            _ => {
                let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
                ops.backend().ops().matmul(&mut encoder, options, a, b, y)
            }
        }
    }
}

impl Batch<'_> {
    /// Queues [`Ops::matmul`](crate::ops::Ops::matmul), or the same product through Metal Performance Shaders
    /// ([`Choice`](crate::Choice)).
    ///
    /// # Errors
    ///
    /// See [`Batch::encode`].
    pub fn matmul<'a>(
        &mut self,
        options: Matmul<'a>,
        a: impl Into<Tensor<'a>>,
        b: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let (a, b, y) = (a.into(), b.into(), y.into());
        if self.queue_mps(Product::of(&options, &a, &b, &y))? {
            return Ok(());
        }
        self.encode(|ops, encoder| ops.matmul(encoder, options, a, b, y))
    }
}
