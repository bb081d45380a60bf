//! [`Matmul`]: what a product of matrices has besides its factors, and what types allow.

use crate::error::{Error, Failure, Result};
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::unary::Unary;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::require_type;

pub(super) const FUNCTION: &str = "Ops::matmul";

/// What [`Ops::matmul`](crate::ops::Ops::matmul) does besides the product: by default, nothing.
///
/// ```no_run
/// # use metal_bridge::ops::{Matmul, Tensor, Unary};
/// # fn options(bias: Tensor<'_>) -> Matmul<'_> {
/// Matmul { bias: Some(bias), activation: Some(Unary::Gelu), ..Matmul::default() }
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Matmul<'a> {
    /// The factor of the product. With 0 neither A nor B is read.
    pub alpha: f32,
    /// The factor of C. With 0 C is not read.
    pub beta: f32,
    /// Broadcasts to the shape of `y`, and has its type. It may be `y`.
    pub c: Option<Tensor<'a>>,
    /// Added to each row: `[n]`, of the type of `y`.
    pub bias: Option<Tensor<'a>>,
    /// Applied last: [`Unary::Relu`], [`Unary::Gelu`], [`Unary::GeluTanh`], [`Unary::Silu`], [`Unary::Sigmoid`] or
    /// [`Unary::Tanh`].
    pub activation: Option<Unary>,
    /// Factors of the rows of A if it has integers: `[m]`, or `[m, groups]` where k is divided into as many groups of
    /// neighbours, `f32`. All batches have the same.
    pub scale_a: Option<Tensor<'a>>,
    /// Factors of the columns of B if it has integers: `[n]`, or `[n, groups]` as in `scale_a`.
    pub scale_b: Option<Tensor<'a>>,
}

impl Default for Matmul<'_> {
    fn default() -> Self {
        Matmul {
            alpha: 1.0,
            beta: 1.0,
            c: None,
            bias: None,
            activation: None,
            scale_a: None,
            scale_b: None,
        }
    }
}

pub(super) fn invalid<T>(message: String) -> Result<T> {
    Err(Error::InvalidArgument(Failure::new(FUNCTION, message)))
}

fn unsupported<T>(message: String) -> Result<T> {
    Err(Error::Unsupported(Failure::new(FUNCTION, message)))
}

impl Matmul<'_> {
    /// Checks what the types allow; the number of the activation in the kernel.
    pub(super) fn check(&self, a: &Tensor<'_>, y: &Tensor<'_>) -> Result<u32> {
        let factors = [("alpha", self.alpha), ("beta", self.beta)];
        if let Some((name, factor)) = factors.iter().find(|(_, factor)| !factor.is_finite()) {
            return invalid(format!("{name} is {factor}: it must be finite"));
        }
        let scales = [("scale_a", &self.scale_a), ("scale_b", &self.scale_b)];
        let given = scales.iter().find(|(_, scale)| scale.is_some());
        if let (true, Some((name, _))) = (a.data_type().is_float(), given) {
            return unsupported(format!(
                "{name} is for products of integers, but a has elements of type {}",
                a.data_type().name()
            ));
        }
        if y.data_type() == DataType::I32 {
            let excess = if self.alpha != 1.0 {
                Some(format!("alpha must be 1, not {}", self.alpha))
            } else if self.c.is_some() && self.beta != 1.0 {
                Some(format!("beta must be 1, not {}", self.beta))
            } else if let Some(activation) = self.activation {
                Some(format!("{activation:?} must be left out"))
            } else {
                given.map(|(name, _)| format!("{name} must be left out"))
            };
            if let Some(excess) = excess {
                return unsupported(format!("y has elements of type i32, so {excess}"));
            }
        }
        Ok(match self.activation {
            None => 0,
            Some(Unary::Relu) => 1,
            Some(Unary::Gelu) => 2,
            Some(Unary::GeluTanh) => 3,
            Some(Unary::Silu) => 4,
            Some(Unary::Sigmoid) => 5,
            Some(Unary::Tanh) => 6,
            Some(other) => {
                return unsupported(format!(
                    "{other:?} cannot be a product's activation: use Relu, Gelu, GeluTanh, Silu, Sigmoid or Tanh"
                ));
            }
        })
    }

    /// Checks the scales; elements of k that have the same, if not all have.
    pub(super) fn group(&self, m: usize, n: usize, k: usize) -> Result<Option<usize>> {
        let mut groups = None;
        for (name, scale, size) in [("scale_a", &self.scale_a, m), ("scale_b", &self.scale_b, n)] {
            let Some(scale) = scale else { continue };
            require_type(FUNCTION, name, scale, DataType::F32)?;
            match *scale.shape() {
                [count] if count == size => {}
                [count, own]
                    if count == size
                        && own > 0
                        && k % own == 0
                        && groups.is_none_or(|other| other == own) =>
                {
                    groups = Some(own);
                }
                _ => {
                    return invalid(format!(
                        "{name} has the shape {:?}, but a product of {m}, {n} and {k} elements needs [{size}] or [{size}, groups]",
                        scale.shape()
                    ));
                }
            }
        }
        Ok(groups.map(|groups| k / groups).filter(|group| *group > 0))
    }
}

/// The kernels for elements of these types: for many rows, and for few.
pub(super) fn kernel_of(
    a: &Tensor<'_>,
    b: &Tensor<'_>,
    y: &Tensor<'_>,
) -> Result<[&'static str; 2]> {
    let (left, right, result) = (a.data_type(), b.data_type(), y.data_type());
    let kernel = match (left, right) {
        (DataType::F32, DataType::F32) => ["gemm_f32", "gemv_f32"],
        (DataType::F16, DataType::F16) => ["gemm_f16", "gemv_f16"],
        (DataType::BF16, DataType::BF16) => ["gemm_bf16", "gemv_bf16"],
        (DataType::I8, DataType::I8) => ["gemm_i8", "gemv_i8"],
        (DataType::U8, DataType::I8) => ["gemm_u8", "gemv_u8"],
        _ => {
            return unsupported(format!(
                "a of type {} cannot be multiplied by b of type {}",
                left.name(),
                right.name()
            ));
        }
    };
    let fits = match left.is_float() {
        true => result == left || result == DataType::F32,
        false => result == DataType::I32 || result.is_float(),
    };
    if !fits {
        return unsupported(format!(
            "a product of {} and {} cannot be written to y of type {}",
            left.name(),
            right.name(),
            result.name()
        ));
    }
    Ok(kernel)
}
