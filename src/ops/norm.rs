//! RMS norm.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{Constant, KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::{LaneExecution, LaunchTarget, Ops, View};

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    columns: u32,
    epsilon: f32,
}

/// What a norm reads and writes.
struct Rows<'a> {
    x: View<'a>,
    weight: View<'a>,
    y: View<'a>,
    /// Added to x first.
    residual: Option<View<'a>>,
    /// Whether what y holds already is added.
    accumulate: bool,
    rows: usize,
    columns: usize,
}

impl Ops {
    /// `y = x / sqrt(mean(x^2) + epsilon) * weight` for each row (Zhang and Sennrich 2019, arXiv:1910.07467): `x` and `y` are
    /// `[rows, columns]`, `weight` is `[columns]`, all f32. `y` may be `x`. Kernel `rms_norm`.
    /// The sum of the squares is f32, as in ggml: it is infinity for rows with values above 1.8e19 or so, and `y` is 0 then.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for no columns or an epsilon that is negative or not finite; otherwise as for
    /// [`Ops::linear`].
    #[allow(clippy::too_many_arguments)]
    pub fn rms_norm<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        x: impl Into<View<'a>>,
        weight: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        rows: usize,
        columns: usize,
        epsilon: f32,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::rms_norm";
        let rows = Rows {
            x: x.into(),
            weight: weight.into(),
            y: y.into(),
            residual: None,
            accumulate: false,
            rows,
            columns,
        };
        self.norm(target, FUNCTION, &rows, epsilon)
    }

    /// `x += residual`, then `y = rms_norm(x)`, in one dispatch: `residual` has the shape of `x`. Kernel `rms_norm` with its
    /// function constant `add_residual`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::rms_norm`]; here `x`, `residual` and `y` have to lie apart.
    #[allow(clippy::too_many_arguments)]
    pub fn add_rms_norm<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        x: impl Into<View<'a>>,
        residual: impl Into<View<'a>>,
        weight: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        rows: usize,
        columns: usize,
        epsilon: f32,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::add_rms_norm";
        let rows = Rows {
            x: x.into(),
            weight: weight.into(),
            y: y.into(),
            residual: Some(residual.into()),
            accumulate: false,
            rows,
            columns,
        };
        self.norm(target, FUNCTION, &rows, epsilon)
    }

    /// `y += rms_norm(x)`: the norm of what a layer adds to the residual stream. Kernel `rms_norm` with its function constant
    /// `accumulate`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::rms_norm`]; here `y` has to lie apart from `x`.
    #[allow(clippy::too_many_arguments)]
    pub fn rms_norm_add<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        x: impl Into<View<'a>>,
        weight: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        rows: usize,
        columns: usize,
        epsilon: f32,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::rms_norm_add";
        let rows = Rows {
            x: x.into(),
            weight: weight.into(),
            y: y.into(),
            residual: None,
            accumulate: true,
            rows,
            columns,
        };
        self.norm(target, FUNCTION, &rows, epsilon)
    }

    fn norm(
        &self,
        target: &mut dyn LaunchTarget,
        function: &'static str,
        operands: &Rows<'_>,
        epsilon: f32,
    ) -> Result<()> {
        let Rows {
            x,
            weight,
            y,
            residual,
            accumulate,
            rows,
            columns,
        } = *operands;
        let bytes = bytes4(function, "x", &[rows, columns])?;
        let weight = Operand::read("weight", weight, bytes4(function, "weight", &[columns])?, 4);
        let y = Operand::write("y", y, bytes, 4);
        // With a residual, x is written too, so y has to lie apart from it.
        let operands: &[Operand<'_>] = match residual {
            None if accumulate => &[Operand::read("x", x, bytes, 4), weight, y],
            None => &[Operand::read("x", x, bytes, 4), weight, y.in_place()],
            Some(residual) => &[
                Operand::write("x", x, bytes, 4),
                weight,
                y,
                Operand::read("residual", residual, bytes, 4),
            ],
        };
        if columns == 0 {
            let message = "columns must be at least 1, not 0";
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            let message = format!("epsilon ({epsilon}) must be finite and not negative");
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        if rows == 0 {
            return Ok(());
        }
        let kernel = KernelName::new(Shader::Norm, "rms_norm")
            .with(Constant::Bool(0, residual.is_some()))
            .with(Constant::Bool(1, accumulate));
        let pipeline = self.pipelines.pipeline(kernel)?;
        let most = match self.lanes {
            // Where lanes run in turn, each barrier costs a thread as much as some elements.
            LaneExecution::InTurn => SIMD_WIDTH,
            LaneExecution::Lockstep => {
                pipeline.max_total_threads_per_threadgroup() / SIMD_WIDTH * SIMD_WIDTH
            }
        };
        let launch = Launch {
            function,
            pipeline: &pipeline,
            arguments: Arguments {
                columns: columns as u32,
                epsilon,
            },
            operands,
            // Square, sum, quotient and weight, and the sum with the residual.
            cost: Cost::new(
                "f32",
                [
                    rows,
                    columns,
                    4 + usize::from(residual.is_some() || accumulate),
                ],
            ),
            threadgroup_memory: 0,
            grid: Grid::Threadgroups {
                groups: rows.into(),
                threadgroup: columns
                    .div_ceil(4)
                    .next_multiple_of(SIMD_WIDTH)
                    .min(most)
                    .into(),
            },
        };
        // SAFETY: the kernel reads and writes rows below `rows` of `columns` elements.
        unsafe { launch.encode(target) }
    }
}
