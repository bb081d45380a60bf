//! Rounding activations to 8 bits, and products with them.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::device::Size;
use crate::ops::activations::{BLOCK, rounded_bytes};
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{KernelName, SIMD_WIDTH};
use crate::ops::product::{Chosen, Epilogue, Factor, Product};
use crate::ops::shader::Shader;
use crate::ops::{ExpertShape, LaunchTarget, Ops, View, Weight};

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    k: u32,
}

impl Ops {
    /// Rounds each block of 32 elements of `x` to 8 bits: `scale` = the largest magnitude / 127, and `number` = `x` * (127 / the
    /// largest magnitude), rounded to the nearest whole number, ties to even. `x` is `[rows, columns]` of f32. `rounded` takes
    /// [`Activations::bytes`](crate::ops::Activations::bytes) bytes, for [`Ops::linear_rounded`]: for each row the numbers of all elements, a byte each, then the
    /// scales of its blocks and, for each 16 elements, the sum of their numbers times the scale, both f32. One rounding
    /// serves all products with a row. Kernel `round_activations`.
    ///
    /// A block whose elements are all smaller than 2^-119 becomes zeros. A block with an element that is not finite has NaN for
    /// its scale, and every product with its row is NaN.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the columns do not fill whole blocks; otherwise as for [`Ops::linear`].
    pub fn round_activations<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        x: impl Into<View<'a>>,
        rounded: impl Into<View<'a>>,
        rows: usize,
        columns: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::round_activations";
        if columns % BLOCK != 0 {
            let message =
                format!("rows of {columns} elements do not divide into blocks of {BLOCK}");
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let operands = [
            Operand::read("x", x.into(), bytes4(FUNCTION, "x", &[rows, columns])?, 4),
            Operand::write(
                "rounded",
                rounded.into(),
                rounded_bytes(FUNCTION, rows, columns)?,
                4,
            ),
        ];
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self.pipelines.pipeline(KernelName::new(
                Shader::RoundActivations,
                "round_activations",
            ))?,
            arguments: Arguments { k: columns as u32 },
            operands: &operands,
            // The magnitude, the product, its rounding, the sum.
            cost: Cost::new("f32", [4, rows, columns]),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: Size::new(columns / BLOCK, rows, 1),
                threadgroup: SIMD_WIDTH.into(),
            },
        };
        // SAFETY: the kernel reads x[rows, columns], and writes as many rows of whole blocks.
        unsafe { launch.encode(target) }
    }

    /// `y = [y +] scale * (x . W^T [+ bias])` as [`Ops::linear_with`], for activations that [`Ops::round_activations`] has rounded
    /// to 8 bits: `x` is `[m, weight.columns()]` in its format, `y` is `[m, weight.rows()]` of f32. Whole numbers are multiplied and
    /// summed up in 32 bits, without rounding; these sums are scaled and added up as f32. Beside the error of f32 sums there is
    /// that of rounding `x`; products of scales below 2^-126 lose bits, too. Kernels `matvec_rounded_*`, or `matvec_rounded_blocks_*` on a device that runs lanes one after
    /// another, for any number of rows: [`ProductKernels`](super::ProductKernels) choose nothing here.
    ///
    /// A row of `y` has the same bits whatever the other rows of `x` are, and however many they are.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the weights are not of a format [with blocks](crate::ops::WeightType::has_blocks); otherwise those of
    /// [`Ops::linear_with`].
    pub fn linear_rounded<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        m: usize,
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        self.product(
            target,
            &Product {
                function: "Ops::linear_rounded",
                weight,
                x: Factor::Int8(x.into()),
                y: y.into(),
                m,
                epilogue: *epilogue,
                chosen: None,
            },
        )
    }

    /// [`Ops::linear_chosen`] for activations that [`Ops::round_activations`] has rounded to 8 bits, with the arithmetic of
    /// [`Ops::linear_rounded`]. Kernels `matvec_rounded_*`, or `matvec_rounded_blocks_*` on a device that runs lanes one after another.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] as for [`Ops::linear_rounded`]; otherwise those of [`Ops::linear_chosen`].
    #[allow(clippy::too_many_arguments)]
    pub fn linear_chosen_rounded<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        chosen: impl Into<View<'a>>,
        x: impl Into<View<'a>>,
        is_shared: bool,
        y: impl Into<View<'a>>,
        rows: usize,
        shape: &ExpertShape,
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::linear_chosen_rounded";
        shape.check_products(FUNCTION, weight, rows)?;
        self.product(
            target,
            &Product {
                function: FUNCTION,
                weight,
                x: Factor::Int8(x.into()),
                y: y.into(),
                m: rows * shape.used,
                epilogue: *epilogue,
                chosen: Some(Chosen {
                    numbers: chosen.into(),
                    experts: shape.experts,
                    products_of_x: if is_shared { shape.used } else { 1 },
                }),
            },
        )
    }
}
