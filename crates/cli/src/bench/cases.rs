//! The operations that `metal-bridge bench ops` measures.

use metal_bridge::ops::{
    ArgReduction, Attention, Binary, Convolution, Matmul, Norm, Pooling, Reduction, SortOrder,
    Tensor, Unary, View, Windows,
};
use metal_bridge::{Buffer, MetalOps, Result, StorageMode};

/// What is computed, in `f32`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Add,
    AddRow,
    Exp,
    Silu,
    Transpose,
    /// A reduction of each row.
    Reduce(Reduction),
    ArgReduce(ArgReduction),
    Softmax,
    LayerNorm,
    RmsNorm,
    Matmul,
    Convolution,
    MaxPool,
    Sort,
    Embedding,
    Attention,
}

/// An operation with its sizes.
#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub operation: Operation,
    /// As `Prepared::new` takes it apart.
    pub shape: &'static [usize],
}

/// Rows of 4,096 elements.
const ROWS: &[usize] = &[1024, 4096];

/// What there is to measure.
pub const CASES: &[Case] = &[
    case("add", Operation::Add, &[1 << 22]),
    case("add a row", Operation::AddRow, &[2048, 2048]),
    case("exp", Operation::Exp, &[1 << 22]),
    case("silu", Operation::Silu, &[1 << 22]),
    case("transpose", Operation::Transpose, &[2048, 2048]),
    case("sum of rows", Operation::Reduce(Reduction::Sum), ROWS),
    case("multiplied rows", Operation::Reduce(Reduction::Prod), ROWS),
    case("maximum of rows", Operation::Reduce(Reduction::Max), ROWS),
    case(
        "variance of rows",
        Operation::Reduce(Reduction::Var { correction: 1 }),
        ROWS,
    ),
    case(
        "logsumexp of rows",
        Operation::Reduce(Reduction::LogSumExp),
        ROWS,
    ),
    case(
        "argmax of rows",
        Operation::ArgReduce(ArgReduction::Max),
        ROWS,
    ),
    case("softmax of rows", Operation::Softmax, ROWS),
    case("layer norm of rows", Operation::LayerNorm, ROWS),
    case("RMS norm of rows", Operation::RmsNorm, ROWS),
    case("product", Operation::Matmul, &[1, 512, 512, 512]),
    case("product, one row", Operation::Matmul, &[1, 1, 2048, 2048]),
    case("product, batch", Operation::Matmul, &[16, 128, 128, 128]),
    case(
        "convolution 3x3",
        Operation::Convolution,
        &[1, 64, 56, 56, 64, 3],
    ),
    case(
        "convolution 1x1",
        Operation::Convolution,
        &[1, 256, 28, 28, 128, 1],
    ),
    case("max pool 2x2", Operation::MaxPool, &[1, 64, 112, 112]),
    case("sort of rows", Operation::Sort, &[256, 2048]),
    case("embedding", Operation::Embedding, &[32000, 512, 1024]),
    case("attention", Operation::Attention, &[1, 8, 256, 64]),
];

const fn case(name: &'static str, operation: Operation, shape: &'static [usize]) -> Case {
    Case {
        name,
        operation,
        shape,
    }
}

/// Numbers from -1 to 1, the same in each run.
pub fn values(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Rows of a table, the same in each run.
pub fn ids(count: usize, rows: usize) -> Vec<u32> {
    (0..count)
        .map(|index| (index * 7919 % rows) as u32)
        .collect()
}

/// An operation's operands.
pub struct Prepared<'c> {
    case: &'c Case,
    /// What is read.
    inputs: Vec<Buffer>,
    y: Buffer,
    /// For a sort.
    scratch: [Buffer; 2],
}

impl<'c> Prepared<'c> {
    pub fn new(ops: &MetalOps, case: &'c Case) -> Result<Prepared<'c>> {
        let backend = ops.backend();
        let floats =
            |count: usize| backend.create_buffer_with_data(&values(count), StorageMode::Shared);
        let empty = |floats: usize| backend.create_buffer(floats.max(1) * 4, StorageMode::Shared);
        let count: usize = case.shape.iter().product();
        let (inputs, results) = match (case.operation, case.shape) {
            (Operation::Add, _) => (vec![floats(count)?, floats(count)?], count),
            (Operation::AddRow, &[_, columns]) => (vec![floats(count)?, floats(columns)?], count),
            (Operation::Matmul, &[batch, m, n, k]) => (
                vec![floats(batch * m * k)?, floats(batch * k * n)?],
                batch * m * n,
            ),
            (Operation::Convolution, &[images, channels, rows, columns, to, size]) => {
                let x = images * channels * rows * columns;
                (
                    vec![floats(x)?, floats(to * channels * size * size)?],
                    images * to * rows * columns,
                )
            }
            (Operation::Embedding, &[rows, columns, taken]) => {
                let ids =
                    backend.create_buffer_with_data(&ids(taken, rows), StorageMode::Shared)?;
                (vec![floats(rows * columns)?, ids], taken * columns)
            }
            (Operation::Attention, _) => {
                (vec![floats(count)?, floats(count)?, floats(count)?], count)
            }
            _ => (vec![floats(count)?], count),
        };
        let sorted = if case.operation == Operation::Sort {
            count
        } else {
            0
        };
        Ok(Prepared {
            case,
            inputs,
            y: empty(results)?,
            scratch: [empty(sorted)?, empty(2 * sorted)?],
        })
    }

    pub fn call(&self, ops: &MetalOps) -> Result<()> {
        let input = |number: usize, shape: &[usize]| Tensor::of::<f32>(&self.inputs[number], shape);
        let result = |shape: &[usize]| Tensor::of::<f32>(&self.y, shape);
        let shape = self.case.shape;
        match (self.case.operation, shape) {
            (Operation::Add, _) => ops.binary(
                Binary::Add,
                input(0, shape)?,
                input(1, shape)?,
                result(shape)?,
            ),
            (Operation::AddRow, &[_, columns]) => ops.binary(
                Binary::Add,
                input(0, shape)?,
                input(1, &[columns])?,
                result(shape)?,
            ),
            (Operation::Exp, _) => ops.unary(Unary::Exp, input(0, shape)?, result(shape)?),
            (Operation::Silu, _) => ops.unary(Unary::Silu, input(0, shape)?, result(shape)?),
            (Operation::Transpose, &[rows, columns]) => ops.convert(
                input(0, shape)?.permute(&[1, 0])?,
                result(&[columns, rows])?,
            ),
            (Operation::Reduce(reduction), &[rows, _]) => {
                ops.reduce(reduction, input(0, shape)?, &[1], result(&[rows])?)
            }
            (Operation::ArgReduce(reduction), &[rows, _]) => {
                let y = Tensor::of::<u32>(&self.y, &[rows])?;
                ops.arg_reduce(reduction, input(0, shape)?, 1, y)
            }
            (Operation::Softmax, _) => ops.softmax(input(0, shape)?, 1, result(shape)?),
            (Operation::LayerNorm, _) => {
                ops.layer_norm(input(0, shape)?, &[1], &Norm::default(), result(shape)?)
            }
            (Operation::RmsNorm, _) => {
                ops.rms_norm_along(input(0, shape)?, &[1], &Norm::default(), result(shape)?)
            }
            (Operation::Matmul, &[batch, m, n, k]) => {
                let (a, b) = (input(0, &[batch, m, k])?, input(1, &[batch, k, n])?);
                ops.matmul_with(Matmul::default(), a, b, result(&[batch, m, n])?)
            }
            (Operation::Convolution, &[images, channels, rows, columns, to, size]) => {
                let convolution = Convolution::<2> {
                    padding: [[size / 2; 2]; 2],
                    ..Default::default()
                };
                let (x, weight) = (
                    input(0, &[images, channels, rows, columns])?,
                    input(1, &[to, channels, size, size])?,
                );
                ops.convolution(
                    x,
                    weight,
                    None,
                    &convolution,
                    result(&[images, to, rows, columns])?,
                )
            }
            (Operation::MaxPool, &[images, channels, rows, columns]) => {
                let y = result(&[images, channels, rows / 2, columns / 2])?;
                ops.pool(Pooling::Max, input(0, shape)?, &Windows::<2>::of([2, 2]), y)
            }
            (Operation::Sort, _) => {
                let order = SortOrder {
                    axis: 1,
                    ..Default::default()
                };
                let positions = Tensor::of::<u32>(&self.scratch[0], shape)?;
                ops.sort(
                    order,
                    input(0, shape)?,
                    result(shape)?,
                    positions,
                    View::from(&self.scratch[1]),
                )
            }
            (Operation::Embedding, &[rows, columns, taken]) => {
                let ids = Tensor::of::<u32>(&self.inputs[1], &[taken])?;
                ops.embedding(input(0, &[rows, columns])?, ids, result(&[taken, columns])?)
            }
            (Operation::Attention, _) => {
                let (q, k, v) = (input(0, shape)?, input(1, shape)?, input(2, shape)?);
                ops.scaled_dot_product_attention(q, k, v, &Attention::default(), result(shape)?)
            }
            _ => unreachable!("the shapes of CASES fit their operations"),
        }
    }
}
