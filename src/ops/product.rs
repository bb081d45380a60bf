//! [`Product`]: a product with a weight matrix, whose kernel is chosen by the number of rows.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::device::Size;
use crate::ops::activations::rounded_bytes_for;
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{Constant, KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::{LaneExecution, LaunchTarget, Ops, ProductKernels, View, Weight, WeightType};

/// Lanes of a threadgroup of `matvec`, and the rows of weights and of activations that they work on.
const MATVEC_LANES: usize = 2 * SIMD_WIDTH;
const MATVEC_ROWS: usize = 2 * 4;
const MATVEC_COLUMNS: [usize; 2] = [1, 4];
/// Lanes of a threadgroup of `matvec_blocks` and `matvec_rounded_blocks`: few, so that the threadgroups of small weights suffice
/// for all cores.
const MATVEC_BLOCKS_LANES: usize = 8;
/// Rows of weights and of activations that a lane of `matvec_blocks` works on.
const MATVEC_BLOCKS_ROWS: usize = 4;
const MATVEC_BLOCKS_COLUMNS: [usize; 2] = [1, 32];
/// Rows of weights that a lane of `matvec_rounded_blocks` works on.
const MATVEC_ROUNDED_BLOCKS_ROWS: [usize; 2] = [4, 8];
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
    experts: u32,
    products_of_x: u32,
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

/// The activations of a product.
#[derive(Clone, Copy)]
pub(super) enum Factor<'a> {
    F32(View<'a>),
    /// As [`Ops::round_activations`] writes them.
    Int8(View<'a>),
}

impl<'a> Factor<'a> {
    fn view(self) -> View<'a> {
        match self {
            Factor::F32(view) | Factor::Int8(view) => view,
        }
    }
}

/// One product: what it multiplies, and what becomes of the result.
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    pub function: &'static str,
    pub weight: &'a Weight,
    pub x: Factor<'a>,
    pub y: View<'a>,
    /// Rows of y.
    pub m: usize,
    pub epilogue: Epilogue<'a>,
    /// Which part of the weight each row of y is made with; `None`: all of it.
    pub chosen: Option<Chosen<'a>>,
}

/// The matrices of several experts in one weight, of which each row of y takes one.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    /// The number of an expert for each row of y.
    pub numbers: View<'a>,
    pub experts: usize,
    /// Rows of y that one row of x makes.
    pub products_of_x: usize,
}

impl Ops {
    /// Encodes a product.
    pub(super) fn product(
        &self,
        target: &mut dyn LaunchTarget,
        product: &Product<'_>,
    ) -> Result<()> {
        let Product {
            function,
            weight,
            x,
            y,
            m,
            epilogue,
            chosen,
        } = *product;
        let Epilogue {
            bias,
            scale,
            accumulate,
        } = epilogue;
        if !scale.is_finite() {
            let message = format!("scale ({scale}) must be finite");
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        let (experts, products_of_x) =
            chosen.map_or((1, 1), |chosen| (chosen.experts, chosen.products_of_x));
        let (n, k) = (weight.rows() / experts, weight.columns());
        let weights = Operand::read(
            "the weights",
            weight.view(),
            weight.bytes(),
            weight.kind().alignment(),
        );
        // What is not there has no elements; it is left out if nothing comes after it.
        let bias_bytes = match bias {
            Some(_) => bytes4(function, "the bias", &[experts, n])?,
            None => 0,
        };
        let numbers_bytes = match chosen {
            Some(_) => bytes4(function, "chosen", &[m])?,
            None => 0,
        };
        let x_rows = m / products_of_x;
        let x_bytes = match x {
            Factor::F32(_) => bytes4(function, "x", &[x_rows, k])?,
            Factor::Int8(_) => rounded_bytes_for(function, weight.kind(), x_rows, k)?,
        };
        let is_rounded = matches!(x, Factor::Int8(_));
        let x = x.view();
        let numbers = chosen.map_or(x, |chosen| chosen.numbers);
        let all = [
            weights.moving(weight.bytes() / experts * experts.min(m)),
            Operand::read("x", x, x_bytes, 4),
            Operand::write("y", y, bytes4(function, "y", &[m, n])?, 4),
            Operand::read("the bias", bias.unwrap_or(x), bias_bytes, 4),
            Operand::read("chosen", numbers, numbers_bytes, 4),
        ];
        let operands = match (bias, chosen) {
            (_, Some(_)) => &all[..],
            (Some(_), None) => &all[..4],
            (None, None) => &all[..3],
        };
        if m == 0 {
            return Ok(());
        }
        let constants = [
            Constant::Bool(1, accumulate),
            Constant::Bool(2, bias.is_some()),
            Constant::Bool(3, chosen.is_some()),
        ];
        let kernels = self.product_kernels_of(m);
        let (kernel, grid) = if is_rounded {
            self.matvec_rounded(weight.kind(), m, n, chosen.is_some())
        } else if chosen.is_some() || kernels == ProductKernels::Vector {
            self.matvec(weight.kind(), m, n, chosen.is_some())
        } else {
            let columns = if m <= 32 { 32 } else { 64 };
            let name = weight.kind().kernels().matmul[usize::from(columns > 32)];
            let groups = Size::new(n.div_ceil(MATMUL_TILE_ROWS), m.div_ceil(columns), 1);
            let kernel = KernelName::new(Shader::Matmul, name);
            (kernel, Grid::of_lanes(groups, MATMUL_THREADS))
        };
        let kernel = constants.into_iter().fold(kernel, KernelName::with);
        let launch = Launch {
            function,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: Arguments {
                m: m as u32,
                n: n as u32,
                k: k as u32,
                scale,
                experts: experts as u32,
                products_of_x: products_of_x as u32,
            },
            operands,
            cost: Cost::new(weight.kind().name(), [2, m, n, k]),
            threadgroup_memory: 0,
            grid,
        };
        // SAFETY: the kernels read rows below experts * n of the weights and of x below m / products_of_x, of k elements each (of 44
        // bytes for each 32 if they are rounded), and write y[m, n]; the bias has [experts, n] elements, and each product has the
        // number of an expert.
        unsafe { launch.encode(target) }
    }

    /// The kernel for few rows of activations and its grid. If each row of y takes an expert, a threadgroup makes one row.
    fn matvec(&self, kind: WeightType, m: usize, n: usize, is_chosen: bool) -> (KernelName, Grid) {
        let (names, width) = (kind.kernels(), usize::from(m > 1 && !is_chosen));
        let (kernel, lanes, rows, columns) = match self.lanes {
            LaneExecution::InTurn => (
                KernelName::new(Shader::MatvecBlocks, names.matvec_blocks[width]),
                MATVEC_BLOCKS_LANES,
                MATVEC_BLOCKS_LANES * MATVEC_BLOCKS_ROWS,
                MATVEC_BLOCKS_COLUMNS[width],
            ),
            LaneExecution::Lockstep => (
                KernelName::new(Shader::Matvec, names.matvec[width]),
                MATVEC_LANES,
                MATVEC_ROWS,
                MATVEC_COLUMNS[width],
            ),
        };
        let groups = Size::new(n.div_ceil(rows), m.div_ceil(columns), 1);
        (kernel, Grid::of_lanes(groups, lanes))
    }

    /// The same for rounded activations, of any number of rows.
    fn matvec_rounded(
        &self,
        kind: WeightType,
        m: usize,
        n: usize,
        is_chosen: bool,
    ) -> (KernelName, Grid) {
        let (names, width) = (kind.kernels(), usize::from(m > 1 && !is_chosen));
        let (kernel, lanes, rows, columns) = match self.lanes {
            LaneExecution::InTurn => (
                KernelName::new(
                    Shader::MatvecRoundedBlocks,
                    names.matvec_rounded_blocks[width],
                ),
                MATVEC_BLOCKS_LANES,
                MATVEC_BLOCKS_LANES * MATVEC_ROUNDED_BLOCKS_ROWS[width],
                MATVEC_BLOCKS_COLUMNS[width],
            ),
            LaneExecution::Lockstep => (
                KernelName::new(Shader::MatvecRounded, names.matvec_rounded[width]),
                MATVEC_LANES,
                MATVEC_ROWS,
                MATVEC_COLUMNS[width],
            ),
        };
        let groups = Size::new(n.div_ceil(rows), m.div_ceil(columns), 1);
        (kernel, Grid::of_lanes(groups, lanes))
    }
}
