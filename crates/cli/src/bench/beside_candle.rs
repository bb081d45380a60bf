//! candle's CPU backend, beside which operations are measured. What candle allocates for a result is part of its call.

use candle_core::{D, Device, Result, Tensor};
use metal_bridge::ops::{ArgReduction, Reduction};

use super::cases::{Case, Operation, ids, values};

/// Runs candle's operation once.
pub type Contender = Box<dyn Fn() -> Result<()>>;

/// What to say below the table.
pub const NOTE: Option<&str> = None;

/// candle's operation with the same numbers; none if candle-core does not have it.
pub fn prepare(case: &Case) -> Result<Option<Contender>> {
    let floats =
        |shape: &[usize]| Tensor::from_vec(values(shape.iter().product()), shape, &Device::Cpu);
    let shape = case.shape;
    let run: Box<dyn Fn() -> Result<Tensor>> = match (case.operation, shape) {
        (Operation::Add, _) => {
            let (a, b) = (floats(shape)?, floats(shape)?);
            Box::new(move || &a + &b)
        }
        (Operation::AddRow, &[_, columns]) => {
            let (a, b) = (floats(shape)?, floats(&[columns])?);
            Box::new(move || a.broadcast_add(&b))
        }
        (Operation::Exp, _) => {
            let x = floats(shape)?;
            Box::new(move || x.exp())
        }
        (Operation::Silu, _) => {
            let x = floats(shape)?;
            Box::new(move || x.silu())
        }
        (Operation::Transpose, _) => {
            let x = floats(shape)?;
            Box::new(move || x.t()?.contiguous())
        }
        (Operation::Reduce(reduction), _) => {
            let x = floats(shape)?;
            match reduction {
                Reduction::Sum => Box::new(move || x.sum(1)),
                Reduction::Max => Box::new(move || x.max(1)),
                Reduction::Var { correction: 1 } => Box::new(move || x.var(1)),
                Reduction::LogSumExp => Box::new(move || x.log_sum_exp(1)),
                _ => return Ok(None),
            }
        }
        (Operation::ArgReduce(ArgReduction::Max), _) => {
            let x = floats(shape)?;
            Box::new(move || x.argmax(1))
        }
        (Operation::Softmax, _) => {
            let x = floats(shape)?;
            Box::new(move || softmax(&x))
        }
        (Operation::LayerNorm, _) => {
            let x = floats(shape)?;
            Box::new(move || {
                let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
                rms_norm(&centred)
            })
        }
        (Operation::RmsNorm, _) => {
            let x = floats(shape)?;
            Box::new(move || rms_norm(&x))
        }
        (Operation::Matmul, &[batch, m, n, k]) => {
            let (a, b) = (floats(&[batch, m, k])?, floats(&[batch, k, n])?);
            Box::new(move || a.matmul(&b))
        }
        (Operation::Convolution, &[images, channels, rows, columns, to, size]) => {
            let x = floats(&[images, channels, rows, columns])?;
            let weight = floats(&[to, channels, size, size])?;
            Box::new(move || x.conv2d(&weight, size / 2, 1, 1, 1))
        }
        (Operation::MaxPool, _) => {
            let x = floats(shape)?;
            Box::new(move || x.max_pool2d(2))
        }
        (Operation::Sort, _) => {
            let x = floats(shape)?;
            Box::new(move || Ok(x.sort_last_dim(true)?.0))
        }
        (Operation::Embedding, &[rows, columns, taken]) => {
            let table = floats(&[rows, columns])?;
            let ids = Tensor::from_vec(ids(taken, rows), taken, &Device::Cpu)?;
            Box::new(move || table.embedding(&ids))
        }
        (Operation::Attention, &[.., size]) => {
            let (q, k, v) = (floats(shape)?, floats(shape)?, floats(shape)?);
            let scale = 1.0 / (size as f64).sqrt();
            Box::new(move || softmax(&(q.matmul(&k.t()?)? * scale)?)?.matmul(&v))
        }
        _ => return Ok(None),
    };
    Ok(Some(Box::new(move || run().map(drop))))
}

/// The softmax of rows, by the operations that candle-core has.
fn softmax(x: &Tensor) -> Result<Tensor> {
    let exponentials = x.broadcast_sub(&x.max_keepdim(D::Minus1)?)?.exp()?;
    exponentials.broadcast_div(&exponentials.sum_keepdim(D::Minus1)?)
}

/// The RMS norm of rows, by the operations that candle-core has.
fn rms_norm(x: &Tensor) -> Result<Tensor> {
    let squares = x.sqr()?.mean_keepdim(D::Minus1)?;
    x.broadcast_div(&(squares + 1e-5)?.sqrt()?)
}
