//! Products with a weight matrix: the kernel is chosen by the number of rows.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{Constant, KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::{DataType, LaneExecution, LaunchTarget, Ops, Tensor, View, Weight, WeightType};

/// Up to this many rows of x the matrix-vector kernels are used: they read the weights once for four rows.
const MATVEC_MAX_ROWS: usize = 8;
/// Rows of weights that a lane of `matvec` or `matvec_blocks` works on.
const MATVEC_ROWS_PER_LANE: usize = 4;
/// Lanes of a threadgroup of `matvec_blocks`: few, so that the threadgroups of small weights suffice for all cores.
const MATVEC_BLOCKS_LANES: usize = 16;
/// Rows of weights of a tile of `matmul`, and its threads.
const MATMUL_TILE_ROWS: usize = 64;
const MATMUL_THREADS: usize = 64;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    m: u32,
    n: u32,
    k: u32,
    scale: f32,
}

/// What [`Ops::linear_with`] makes of a product: `y = [y +] scale * (x . W^T [+ bias])`.
#[derive(Debug, Clone, Copy)]
pub struct Epilogue<'a> {
    /// Added to each row: `[weight.rows()]` of f32.
    pub bias: Option<View<'a>>,
    /// What the product is multiplied by, its bias too.
    pub scale: f32,
    /// Whether what `y` holds already is added.
    pub accumulate: bool,
}

impl Default for Epilogue<'_> {
    /// The product alone.
    fn default() -> Self {
        Epilogue {
            bias: None,
            scale: 1.0,
            accumulate: false,
        }
    }
}

impl Epilogue<'_> {
    /// The product, added to what `y` holds already.
    pub const ADD: Epilogue<'static> = Epilogue {
        bias: None,
        scale: 1.0,
        accumulate: true,
    };
}

/// How `matvec` spreads over a device.
#[derive(Debug, Clone, Copy)]
struct MatvecTuning {
    /// Lanes that share a row of weights.
    lanes_per_row: usize,
    simdgroups: usize,
}

impl MatvecTuning {
    fn of(lanes: LaneExecution) -> MatvecTuning {
        match lanes {
            LaneExecution::Lockstep => MatvecTuning {
                lanes_per_row: SIMD_WIDTH,
                simdgroups: 2,
            },
            LaneExecution::InTurn => MatvecTuning {
                lanes_per_row: 1,
                simdgroups: 1,
            },
        }
    }
}

impl Ops {
    /// `y = x . W^T`: `x` is `[m, weight.columns()]`, `y` is `[m, weight.rows()]`, both f32.
    ///
    /// For up to 8 rows this runs a kernel `matvec_*`, whose time is that of reading the weights. If the device runs lanes one
    /// after another ([`LaneExecution::InTurn`]), it runs `matvec_blocks_*` instead for formats with blocks. For more rows it runs
    /// `matmul_*`, which uses simdgroup matrices. On a device without simdgroup matrices the kernels for few rows take any
    /// number of rows, four at a time. The arithmetic is f32 in all of them. The kernels for few rows multiply a block's sum by
    /// its scale, and not each term, for Q8_0 and Q4_0: the sum of `x` times the block's whole numbers must be finite.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange), [`Error::Misaligned`](crate::Error::Misaligned) and
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `x` or `y` does not fit in its buffer, is not on a
    /// multiple of 4 bytes, or `y` overlaps what is read; and those of the encoder.
    pub fn linear<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        m: usize,
    ) -> Result<()> {
        let epilogue = Epilogue::default();
        let (x, y) = (x.into(), y.into());
        self.product(target, "Ops::linear", weight, x, y, m, &epilogue)
    }

    /// `y += x . W^T`, as [`Ops::linear`] otherwise: the residual connection in the same dispatch.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::linear`].
    pub fn linear_add<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        m: usize,
    ) -> Result<()> {
        self.product(
            target,
            "Ops::linear_add",
            weight,
            x.into(),
            y.into(),
            m,
            &Epilogue::ADD,
        )
    }

    /// `y = [y +] scale * (x . W^T [+ bias])`, as `epilogue` says, and as [`Ops::linear`] otherwise: the bias of a layer, and
    /// the scales that some models have, in the same dispatch.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::linear`], also for the bias; [`Error::InvalidArgument`] if the scale is not finite.
    pub fn linear_with<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        m: usize,
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::linear_with";
        self.product(target, FUNCTION, weight, x.into(), y.into(), m, epilogue)
    }

    /// `y = x . W^T` on tensors: `x` is `[.., weight.columns()]`, `y` is `[.., weight.rows()]` with the same dimensions before
    /// the last, both f32, row-major and without gaps. Weights are of any [`WeightType`]. Kernels and arithmetic are those of
    /// [`Ops::linear`]. A bias or an activation takes an elementwise call after this one.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::linear`]; [`Error::Unsupported`] if `x` does not have elements of type f32;
    /// [`Error::InvalidArgument`] if `y` has another type, or if shapes do not fit or have gaps.
    pub fn matmul_weights<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::matmul_weights";
        let (x, y) = (x.into(), y.into());
        let m = rows_of(FUNCTION, weight, &x, &y)?;
        self.product(
            target,
            FUNCTION,
            weight,
            x.view(),
            y.view(),
            m,
            &Epilogue::default(),
        )
    }

    /// `y += x . W^T`, as [`Ops::matmul_weights`] otherwise. Kernels are those of [`Ops::linear`].
    ///
    /// # Errors
    ///
    /// Those of [`Ops::matmul_weights`].
    pub fn matmul_weights_add<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::matmul_weights_add";
        let (x, y) = (x.into(), y.into());
        let m = rows_of(FUNCTION, weight, &x, &y)?;
        self.product(
            target,
            FUNCTION,
            weight,
            x.view(),
            y.view(),
            m,
            &Epilogue::ADD,
        )
    }

    #[allow(clippy::too_many_arguments)]
    fn product(
        &self,
        target: &mut dyn LaunchTarget,
        function: &'static str,
        weight: &Weight,
        x: View<'_>,
        y: View<'_>,
        m: usize,
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        let Epilogue {
            bias,
            scale,
            accumulate,
        } = *epilogue;
        if !scale.is_finite() {
            let message = format!("scale ({scale}) must be finite");
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        let (n, k) = (weight.rows(), weight.columns());
        let all = [
            Operand::read(
                "the weights",
                weight.view(),
                weight.bytes(),
                weight.kind().alignment(),
            ),
            Operand::read("x", x, bytes4(function, "x", &[m, k])?, 4),
            Operand::write("y", y, bytes4(function, "y", &[m, n])?, 4),
            // The last one, which is left out without a bias.
            Operand::read(
                "the bias",
                bias.unwrap_or(x),
                bytes4(function, "the bias", &[n])?,
                4,
            ),
        ];
        let operands = &all[..3 + usize::from(bias.is_some())];
        if m == 0 {
            return Ok(());
        }
        let accumulate = Constant::Bool(1, accumulate);
        let has_bias = Constant::Bool(2, bias.is_some());
        let (kernel, grid) = if m <= MATVEC_MAX_ROWS || !self.has_matrices {
            let columns = if m == 1 { 1 } else { 4 };
            let (kernel, lanes, rows) = self.matvec(weight.kind(), columns);
            let groups = Size::new(n.div_ceil(rows), m.div_ceil(columns), 1);
            (
                kernel.with(accumulate).with(has_bias),
                Grid::Threadgroups {
                    groups,
                    threadgroup: lanes.into(),
                },
            )
        } else {
            let columns = if m <= 32 { 32 } else { 64 };
            let name = weight.kind().kernels().matmul[usize::from(columns > 32)];
            let kernel = KernelName::new(Shader::Matmul, name)
                .with(accumulate)
                .with(has_bias);
            let groups = Size::new(n.div_ceil(MATMUL_TILE_ROWS), m.div_ceil(columns), 1);
            (
                kernel,
                Grid::Threadgroups {
                    groups,
                    threadgroup: MATMUL_THREADS.into(),
                },
            )
        };
        let launch = Launch {
            function,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: Arguments {
                m: m as u32,
                n: n as u32,
                k: k as u32,
                scale,
            },
            operands,
            cost: Cost::new(weight.kind().name(), [2, m, n, k]),
            threadgroup_memory: 0,
            grid,
        };
        // SAFETY: the kernels read rows below n of the weights and below m of x, of k elements each, and write y[m, n]; the bias has n elements.
        unsafe { launch.encode(target) }
    }

    /// The kernel for few rows of activations, the lanes of its threadgroups, and the rows of weights that these work on.
    fn matvec(&self, kind: WeightType, columns: usize) -> (KernelName, usize, usize) {
        let (names, width) = (kind.kernels(), usize::from(columns > 1));
        if self.lanes == LaneExecution::InTurn && kind.block_elements() > 1 {
            let kernel = KernelName::new(Shader::MatvecBlocks, names.matvec_blocks[width]);
            let rows = MATVEC_BLOCKS_LANES * MATVEC_ROWS_PER_LANE;
            return (kernel, MATVEC_BLOCKS_LANES, rows);
        }
        let tuning = MatvecTuning::of(self.lanes);
        let kernel = KernelName::new(Shader::Matvec, names.matvec[width])
            .with(Constant::Uint(0, tuning.lanes_per_row as u32));
        let lanes = tuning.simdgroups * SIMD_WIDTH;
        let rows = lanes / tuning.lanes_per_row * MATVEC_ROWS_PER_LANE;
        (kernel, lanes, rows)
    }
}

/// The number of rows of `x`, if it and `y` are what a product with `weight` takes and gives.
fn rows_of(
    function: &'static str,
    weight: &Weight,
    x: &Tensor<'_>,
    y: &Tensor<'_>,
) -> Result<usize> {
    let invalid = |message| Err(Error::InvalidArgument(Failure::new(function, message)));
    if x.data_type() != DataType::F32 {
        let message = format!(
            "x has elements of type {}, but weights are multiplied by f32",
            x.data_type().name()
        );
        return Err(Error::Unsupported(Failure::new(function, message)));
    }
    if y.data_type() != DataType::F32 {
        return invalid(format!(
            "y has elements of type {}, but the product has f32",
            y.data_type().name()
        ));
    }
    let (n, k) = (weight.rows(), weight.columns());
    for (name, tensor, size) in [("x", x, k), ("y", y, n)] {
        if tensor.shape().last() != Some(&size) {
            return invalid(format!(
                "{name} has the shape {:?}, but weights of {n} rows and {k} columns need [.., {size}]",
                tensor.shape()
            ));
        }
        if !tensor.layout().is_contiguous() {
            return invalid(format!(
                "{name} has the strides {:?} for the shape {:?}: it must be row-major without gaps",
                tensor.strides(),
                tensor.shape()
            ));
        }
    }
    let [x_rows, y_rows] = [x, y].map(|tensor| &tensor.shape()[..tensor.rank() - 1]);
    if x_rows != y_rows {
        return invalid(format!(
            "y has the shape {:?}, but x of shape {:?} needs the same sizes before the last",
            y.shape(),
            x.shape()
        ));
    }
    Ok(x.count() / k)
}
