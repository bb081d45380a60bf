//! The product of matrices.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch, Operand, elements};
use crate::ops::pipelines::{KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::tensor::layout::Walk;
use crate::ops::tensor::matmul_options::{FUNCTION, Matmul, invalid, kernel_of};
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{self, read_operand, require_type, write_operand};
use crate::ops::{LaneExecution, Ops};

/// `Strides` of `shaders/tensor/gemm.metal`.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct Strides {
    row: u64,
    column: u64,
}

impl Strides {
    /// The last two strides of a tensor.
    fn of(tensor: &Tensor<'_>) -> Strides {
        let strides = tensor.strides();
        let [row, column] = [2, 1].map(|back| strides[strides.len() - back] as u64);
        Strides { row, column }
    }
}

/// `Arguments` of `shaders/tensor/gemm.metal`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    batches: walk::Arguments,
    y: Strides,
    a: Strides,
    b: Strides,
    c: Strides,
    scale_a: Strides,
    scale_b: Strides,
    bias: Strides,
    m: u32,
    n: u32,
    k: u32,
    group: u32,
    alpha: f32,
    beta: f32,
    flags: u32,
    y_type: u32,
    activation: u32,
    unused: u32,
}

/// Most rows of the kernel `gemv`.
const FEW_ROWS: usize = 4;

/// Threads of a threadgroup of `gemm` along each side, and rows and columns of its tile.
fn tile(lanes: LaneExecution) -> (usize, usize) {
    match lanes {
        LaneExecution::InTurn => (1, 128),
        LaneExecution::Lockstep => (16, 64),
    }
}

impl Ops {
    /// `y = activation(alpha A B + beta C + bias)`: `a` is `[.., m, k]`, `b` is `[.., k, n]` and `y` is `[.., m, n]`, each of any
    /// strides; [`Tensor::permute`] transposes. The dimensions before the last two count matrices, and those of `a` and `b`
    /// broadcast to those of `y`. Kernel `gemm` of the type of `a`; up to four rows, or up to four columns of matrices of one
    /// type, take the kernel `gemv`, which is bound by the time that the larger matrix takes to read.
    ///
    /// | `a` | `b` | `y`, C and the bias | sums |
    /// |---|---|---|---|
    /// | `f32`, `f16`, `bf16` | the same | the same, or `f32` | `f32` |
    /// | `i8`, `u8` | `i8` | `i32` | exact, modulo 2^32 |
    /// | `i8`, `u8` | `i8` | `f32`, `f16`, `bf16` | exact if they fit into `i32`, times the scales; `f32` between groups |
    ///
    /// With `u = 2^-24` and `g(t) = t u / (1 - t u)`, sums of floats are wrong by at most `g(k + 2) |A| |B|`, element by element;
    /// scaled sums of integers by `g(k / 16 + groups + 3) |A| |B|`, where A and B are scaled. Each of alpha, beta C, the bias and the
    /// activation adds roundings of `f32`, and the type of `y` one more.
    /// If `k` or `alpha` is 0 the product is 0, and no scale is read. Results of `i32` take `alpha` 1, `beta` 0 or 1, and neither scales nor an activation.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for types, activations or options that a product does not have; [`Error::InvalidArgument`] if
    /// shapes do not fit, if `y` overlaps an operand otherwise than by being C, if positions of `y` share an element, or for
    /// factors that are not finite; [`Error::OutOfRange`] if elements are not inside their buffer, or for 2^31 rows, columns or
    /// matrices and more; [`Error::Misaligned`] if they do not begin at a multiple of their size.
    pub fn matmul<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        options: Matmul<'a>,
        a: impl Into<Tensor<'a>>,
        b: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        Product::new(options, a.into(), b.into(), y.into())?.encode(self, encoder)
    }
}

/// A product whose types and shapes fit.
struct Product<'a> {
    options: Matmul<'a>,
    /// With the dimensions of `y` before the last two.
    a: Tensor<'a>,
    b: Tensor<'a>,
    y: Tensor<'a>,
    /// The names of `a` and `b`, and of their scales, as the caller knows them.
    names: [&'static str; 4],
    kernels: [&'static str; 2],
    activation: u32,
    m: usize,
    n: usize,
    k: usize,
    /// Elements of k that have the same scales; none if all have.
    group: Option<usize>,
}

impl<'a> Product<'a> {
    fn new(mut options: Matmul<'a>, a: Tensor<'a>, b: Tensor<'a>, y: Tensor<'a>) -> Result<Self> {
        let kernels = kernel_of(&a, &b, &y)?;
        for (name, tensor) in [("a", &a), ("b", &b), ("y", &y)] {
            if tensor.rank() < 2 {
                return invalid(format!(
                    "{name} of shape {:?} is not a matrix",
                    tensor.shape()
                ));
            }
        }
        let [m, k] = last_two(&a);
        let [rows, n] = last_two(&b);
        if rows != k {
            return invalid(format!("a has {k} columns, but b has {rows} rows"));
        }
        if last_two(&y) != [m, n] {
            return invalid(format!(
                "y has matrices of {:?}, but the product has {:?}",
                last_two(&y),
                [m, n]
            ));
        }
        elements(FUNCTION, "a product", &[m, n, k])?;
        let whole = |name, tensor: Tensor<'a>| {
            let batches = &y.shape()[..y.rank() - 2];
            tensor.broadcast(FUNCTION, name, &[batches, &last_two(&tensor)].concat())
        };
        let (a, b) = (whole("a", a)?, whole("b", b)?);
        // What is not read need not even be there.
        if options.beta == 0.0 {
            options.c = None;
        }
        for (name, tensor, shape) in [
            ("c", &mut options.c, y.shape()),
            ("bias", &mut options.bias, &[n]),
        ] {
            if let Some(tensor) = tensor {
                require_type(FUNCTION, name, tensor, y.data_type())?;
                *tensor = tensor.broadcast(FUNCTION, name, shape)?;
                *tensor = tensor.broadcast(FUNCTION, name, y.shape())?;
            }
        }
        let activation = options.check(&a, &y)?;
        let group = options.group(m, n, k)?;
        // Without a product there is nothing to scale, not even by what is not finite.
        if k == 0 || options.alpha == 0.0 {
            (options.scale_a, options.scale_b) = (None, None);
        }
        let product = Product {
            options,
            a,
            b,
            y,
            names: ["a", "b", "scale_a", "scale_b"],
            kernels,
            activation,
            m,
            n,
            k,
            group,
        };
        let has_few_columns = n <= FEW_ROWS && m > FEW_ROWS && a.data_type() == b.data_type();
        Ok(if has_few_columns {
            product.transposed()
        } else {
            product
        })
    }

    /// The same elements as rows instead of columns.
    fn transposed(self) -> Self {
        let turned = |tensor: Tensor<'a>| {
            let mut order: Vec<usize> = (0..tensor.rank()).collect();
            order.swap(tensor.rank() - 2, tensor.rank() - 1);
            tensor.permute(&order).expect("an order of its dimensions")
        };
        let options = self.options;
        let [a, b, scale_a, scale_b] = self.names;
        Product {
            options: Matmul {
                c: options.c.map(turned),
                bias: options.bias.map(turned),
                scale_a: options.scale_b,
                scale_b: options.scale_a,
                ..options
            },
            a: turned(self.b),
            b: turned(self.a),
            y: turned(self.y),
            names: [b, a, scale_b, scale_a],
            m: self.n,
            n: self.m,
            ..self
        }
    }

    fn operands(&self) -> Result<Vec<Operand<'a>>> {
        let y = &self.y;
        y.require_own_elements(FUNCTION, "y")?;
        let write = write_operand(FUNCTION, "y", y)?;
        let mut operands = vec![write];
        let Matmul {
            c,
            bias,
            scale_a,
            scale_b,
            ..
        } = self.options;
        let [a_name, b_name, scale_a_name, scale_b_name] = self.names;
        let inputs = [
            (a_name, Some(self.a)),
            (b_name, Some(self.b)),
            ("c", c),
            ("bias", bias),
            (scale_a_name, scale_a),
            (scale_b_name, scale_b),
        ];
        for (name, tensor) in inputs {
            // For what is not there the kernel gets an offset that it does not look at.
            let Some(tensor) = tensor else {
                operands.push(Operand::read(name, y.view(), 0, 1));
                continue;
            };
            let may_be = (name == "c").then_some(y);
            if tensor.require_apart(FUNCTION, name, y, may_be)? {
                operands[0] = write.in_place();
            }
            operands.push(read_operand(FUNCTION, name, &tensor)?);
        }
        Ok(operands)
    }

    /// Checks the tensors and encodes the dispatch.
    fn encode(self, ops: &Ops, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        let operands = self.operands()?;
        if self.y.count() == 0 {
            return operands
                .iter()
                .try_for_each(|operand| operand.check(FUNCTION));
        }
        let batch_axes: Vec<usize> = (0..self.y.rank() - 2).collect();
        let c = self.options.c.unwrap_or(self.y);
        let layouts = [self.y, self.a, self.b, c].map(|tensor| tensor.layout().along(&batch_axes));
        let batches = Walk::new(&layouts);
        let count = batches.shape.iter().product::<usize>();
        if i32::try_from(count).is_err() {
            let message = format!(
                "y of shape {:?} has too many matrices for a grid",
                self.y.shape()
            );
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        }
        let has_few_rows = self.m <= FEW_ROWS;
        let (shader, kernel) = match has_few_rows {
            true => (Shader::Gemv, self.kernels[1]),
            false => (Shader::Gemm, self.kernels[0]),
        };
        let launch = Launch {
            function: FUNCTION,
            pipeline: &ops.pipelines.pipeline(KernelName::new(shader, kernel))?,
            arguments: self.arguments(&batches, &c),
            operands: &operands,
            cost: Cost::new(self.a.data_type().name(), [2, self.y.count(), self.k]),
            threadgroup_memory: 0,
            grid: self.grid(ops.lanes, has_few_rows, count),
        };
        // SAFETY: both kernels read A, B and C and write y at rows below m, columns below n and elements below k of the
        // matrices of the walk: the positions of the tensors, which are inside the extents of the operands. Of the bias and the
        // scales they read what the shapes have that were checked.
        unsafe { launch.encode(encoder) }
    }

    fn grid(&self, lanes: LaneExecution, has_few_rows: bool, batches: usize) -> Grid {
        if has_few_rows {
            // Each of the columns that lie side by side along k has a simdgroup.
            let (threads, columns) = match (lanes, are_neighbours(&self.b, 2)) {
                (LaneExecution::InTurn, _) => (1, 256),
                (LaneExecution::Lockstep, true) => (256, 256 / SIMD_WIDTH),
                (LaneExecution::Lockstep, false) => (256, 256),
            };
            return Grid::of_groups(Size::new(self.n.div_ceil(columns), 1, batches), threads);
        }
        let (threads, tile) = tile(lanes);
        Grid::Threadgroups {
            groups: Size::new(self.n.div_ceil(tile), self.m.div_ceil(tile), batches),
            threadgroup: Size::new(threads, threads, 1),
        }
    }

    /// `Flags` of the kernel, in their order.
    fn flags(&self) -> u32 {
        let Matmul {
            c,
            bias,
            scale_a,
            scale_b,
            ..
        } = &self.options;
        let flags = [
            c.is_some(),
            bias.is_some(),
            scale_a.is_some(),
            scale_b.is_some(),
            self.group.is_some(),
            are_neighbours(&self.a, 1),
            are_neighbours(&self.b, 1),
            are_neighbours(&self.b, 2),
        ];
        flags
            .iter()
            .rev()
            .fold(0, |bits, flag| bits << 1 | u32::from(*flag))
    }

    fn arguments(&self, batches: &Walk<{ walk::MAX_TENSORS }>, c: &Tensor<'_>) -> Arguments {
        let options = &self.options;
        let scales = |tensor: &Option<Tensor<'_>>| match tensor {
            Some(tensor) if tensor.rank() == 2 => Strides::of(tensor),
            Some(tensor) => Strides {
                row: tensor.strides()[0] as u64,
                column: 0,
            },
            None => Strides::default(),
        };
        Arguments {
            batches: walk::Arguments::of_rows(batches),
            y: Strides::of(&self.y),
            a: Strides::of(&self.a),
            b: Strides::of(&self.b),
            c: Strides::of(c),
            scale_a: scales(&options.scale_a),
            scale_b: scales(&options.scale_b),
            bias: options
                .bias
                .as_ref()
                .map_or(Strides::default(), Strides::of),
            m: self.m as u32,
            n: self.n as u32,
            k: if options.alpha == 0.0 {
                0
            } else {
                self.k as u32
            },
            group: self.group.unwrap_or(1) as u32,
            alpha: options.alpha,
            beta: options.beta,
            flags: self.flags(),
            y_type: self.y.data_type() as u32,
            activation: self.activation,
            unused: 0,
        }
    }
}

/// Whether the elements along this dimension, counted from the last, lie side by side.
fn are_neighbours(tensor: &Tensor<'_>, last: usize) -> bool {
    let axis = tensor.rank() - last;
    tensor.strides()[axis] == 1 || tensor.shape()[axis] == 1
}

/// Rows and columns of a matrix.
fn last_two(tensor: &Tensor<'_>) -> [usize; 2] {
    let shape = tensor.shape();
    [shape[shape.len() - 2], shape[shape.len() - 1]]
}
