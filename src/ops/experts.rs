//! Mixtures of experts: the choice of experts, the products with their weights, and the sum of what they give.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{KernelName, SIMD_WIDTH};
use crate::ops::product::{Chosen, Epilogue, Factor, Product};
use crate::ops::shader::Shader;
use crate::ops::{LaunchTarget, Ops, View, Weight};

/// How many experts there are, and how many of them a row goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertShape {
    /// The experts.
    pub experts: usize,
    /// Those that a row goes to: from 1 to all of them.
    pub used: usize,
}

impl ExpertShape {
    fn check(&self, function: &'static str) -> Result<()> {
        let ExpertShape { experts, used } = *self;
        if used == 0 || used > experts {
            let message = format!("a row cannot go to {used} of {experts} experts");
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        Ok(())
    }

    /// What products of `rows` rows with the matrices of all experts, one after the other in `weight`, need.
    pub(super) fn check_products(
        &self,
        function: &'static str,
        weight: &Weight,
        rows: usize,
    ) -> Result<()> {
        self.check(function)?;
        if weight.rows() % self.experts != 0 {
            let message = format!(
                "{} rows of weights do not divide evenly among {} experts",
                weight.rows(),
                self.experts
            );
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        // The bytes of `chosen` are as many as those of a row of one element a slot.
        bytes4(function, "chosen", &[rows, self.used])?;
        Ok(())
    }
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ChoiceArguments {
    experts: u32,
    used: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct MixArguments {
    used: u32,
    columns: u32,
    scale: f32,
}

impl Ops {
    /// `chosen[r]` = the numbers of the `used` largest of `logits[r]`, the largest first and the first one of equals;
    /// `shares[r]` = the softmax of these logits alone (Shazeer et al. 2017, arXiv:1701.06538). `logits` is `[rows, experts]` of
    /// f32, `chosen` is `[rows, used]` of u32, `shares` is `[rows, used]` of f32. Kernel `choose_experts`.
    ///
    /// If a logit of a row is NaN, all shares of the row are NaN, also if that expert is not among the chosen ones; the numbers
    /// are still those of different experts. An infinite largest logit also makes the row's shares NaN.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the experts are fewer than those used, or none is; otherwise as for [`Ops::linear`].
    pub fn choose_experts<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        logits: impl Into<View<'a>>,
        chosen: impl Into<View<'a>>,
        shares: impl Into<View<'a>>,
        rows: usize,
        shape: &ExpertShape,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::choose_experts";
        shape.check(FUNCTION)?;
        let ExpertShape { experts, used } = *shape;
        let logits_bytes = bytes4(FUNCTION, "logits", &[rows, experts])?;
        let bytes = bytes4(FUNCTION, "chosen", &[rows, used])?;
        let operands = [
            Operand::read("logits", logits.into(), logits_bytes, 4),
            Operand::write("chosen", chosen.into(), bytes, 4),
            Operand::write("shares", shares.into(), bytes, 4),
        ];
        if rows == 0 {
            return Ok(());
        }
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self
                .pipelines
                .pipeline(KernelName::new(Shader::Experts, "choose_experts"))?,
            arguments: ChoiceArguments {
                experts: experts as u32,
                used: used as u32,
            },
            operands: &operands,
            cost: Cost::new("f32", [rows, experts, used]),
            threadgroup_memory: 0,
            grid: Grid::Threadgroups {
                groups: rows.into(),
                threadgroup: SIMD_WIDTH.into(),
            },
        };
        // SAFETY: the kernel reads logits[rows, experts] and writes `used` numbers below `experts`, and shares, a row.
        unsafe { launch.encode(target) }
    }

    /// `y[r, s] = x[r, s] . W[chosen[r, s]]^T [+ bias[chosen[r, s]]]`, scaled and added as `epilogue` says, for `rows` rows of
    /// `used` slots: `weight` has the matrices of all experts one after the other, each of `weight.rows() / experts` rows, and
    /// only those of chosen experts are read. `x` is `[rows, used, weight.columns()]`, or `[rows, weight.columns()]` if
    /// `is_shared`: then all slots of a row have the same. `y` is `[rows, used, weight.rows() / experts]`, a bias `[experts,
    /// weight.rows() / experts]`. Kernels `matvec_*`, or `matvec_blocks_*`, as [`Ops::linear`] says.
    ///
    /// A number past the experts gives the last one: numbers are data on the device, which this call cannot see.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the weight's rows do not divide evenly among the experts, or as for
    /// [`Ops::choose_experts`]; otherwise as for [`Ops::linear_with`].
    #[allow(clippy::too_many_arguments)]
    pub fn linear_chosen<'a>(
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
        const FUNCTION: &str = "Ops::linear_chosen";
        shape.check_products(FUNCTION, weight, rows)?;
        let ExpertShape { experts, used } = *shape;
        self.product(
            target,
            &Product {
                function: FUNCTION,
                weight,
                x: Factor::F32(x.into()),
                y: y.into(),
                m: rows * used,
                epilogue: *epilogue,
                chosen: Some(Chosen {
                    numbers: chosen.into(),
                    experts,
                    products_of_x: if is_shared { used } else { 1 },
                }),
            },
        )
    }

    /// `y[r] += scale * sum over s of shares[r, s] * x[r, s]`: what the chosen experts give, added to the residual stream. `x` is
    /// `[rows, used, columns]`, `shares` is `[rows, used]`, `y` is `[rows, columns]`, all f32. Kernel `mix_experts`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the scale is not finite; otherwise as for [`Ops::linear`].
    #[allow(clippy::too_many_arguments)]
    pub fn mix_experts<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        x: impl Into<View<'a>>,
        shares: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        rows: usize,
        used: usize,
        columns: usize,
        scale: f32,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::mix_experts";
        if !scale.is_finite() {
            let message = format!("scale ({scale}) must be finite");
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let x_bytes = bytes4(FUNCTION, "x", &[rows, used, columns])?;
        let shares_bytes = bytes4(FUNCTION, "shares", &[rows, used])?;
        let y_bytes = bytes4(FUNCTION, "y", &[rows, columns])?;
        let operands = [
            Operand::read("x", x.into(), x_bytes, 4),
            Operand::read("shares", shares.into(), shares_bytes, 4),
            Operand::write("y", y.into(), y_bytes, 4),
        ];
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self
                .pipelines
                .pipeline(KernelName::new(Shader::Experts, "mix_experts"))?,
            arguments: MixArguments {
                used: used as u32,
                columns: columns as u32,
                scale,
            },
            operands: &operands,
            cost: Cost::new("f32", [2, rows, used, columns]),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: Size::new(columns, rows, 1),
                threadgroup: SIMD_WIDTH.into(),
            },
        };
        // SAFETY: the kernel reads x[rows, used, columns] and shares[rows, used], and writes y[rows, columns].
        unsafe { launch.encode(target) }
    }
}
