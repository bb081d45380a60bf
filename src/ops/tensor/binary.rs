//! Functions of two tensors, or of a tensor and a number.

use strum::IntoStaticStr;

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::pipelines::Constant;
use crate::ops::shader::Shader;
use crate::ops::tensor::convert::bits_of;
use crate::ops::tensor::data_type::{DataType, Element};
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{Elementwise, KernelNames, kernel_names, require_type};

const ARITHMETIC: KernelNames = kernel_names!("binary");
const COMPARISONS: KernelNames = kernel_names!("compare");

/// A function of two elements of one type, for all types. Floats of 16 bits are computed with as `f32` and rounded once.
/// Integers wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Binary {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// `a / b`; integers without the fraction, and 0 if `b` is 0.
    Div,
    /// The smaller one; NaN if one of them is.
    Min,
    /// The larger one; NaN if one of them is.
    Max,
    /// `a` to the power of `b`; of integers, `1 / a^-b` without the fraction if `b` is negative.
    Pow,
    /// What is left of `a` when a multiple of `b` is taken away, with the sign of `b`; of integers, 0 if `b` is 0.
    Mod,
}

impl Binary {
    /// All functions.
    pub const ALL: [Binary; 8] = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::Div,
        Binary::Min,
        Binary::Max,
        Binary::Pow,
        Binary::Mod,
    ];
}

/// A comparison of two elements of one type, for all types. With NaN only [`Comparison::NotEqual`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Comparison {
    /// `a == b`.
    Equal,
    /// `a != b`.
    NotEqual,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessEqual,
    /// `a > b`.
    Greater,
    /// `a >= b`.
    GreaterEqual,
}

impl Comparison {
    /// All comparisons.
    pub const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessEqual,
        Comparison::Greater,
        Comparison::GreaterEqual,
    ];
}

/// The second operand: a tensor, or one number of any [`Element`] type.
#[derive(Debug, Clone, Copy)]
pub enum Right<'a> {
    /// Broadcasts to the shape of the result.
    Tensor(Tensor<'a>),
    /// A number of this type, as bits.
    Scalar(DataType, u64),
}

impl<'a, T: Into<Tensor<'a>>> From<T> for Right<'a> {
    fn from(tensor: T) -> Right<'a> {
        Right::Tensor(tensor.into())
    }
}

impl Right<'_> {
    /// One number for every position.
    pub fn scalar<T: Element>(value: T) -> Right<'static> {
        Right::Scalar(T::DATA_TYPE, bits_of(value))
    }
}

impl Ops {
    /// `y = f(a, b)`, element by element: `a` and `b` broadcast to the shape of `y`, and all have one type. `y` may be `a` or
    /// `b`. Kernel `binary` of that type.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::unary`].
    pub fn binary<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        operation: Binary,
        a: impl Into<Tensor<'a>>,
        b: impl Into<Right<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::binary";
        let (a, y) = (a.into(), y.into());
        require_type(FUNCTION, "y", &y, a.data_type())?;
        let names = (&ARITHMETIC, operation as u32, operation.into());
        self.two_operands(encoder, FUNCTION, names, a, b.into(), y)
    }

    /// `y = 1` where the comparison of `a` and `b` holds and 0 elsewhere: `a` and `b` have one type and broadcast to the shape
    /// of `y`, which is of type `u8`. Kernel `compare` of that type.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::unary`].
    pub fn compare<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        comparison: Comparison,
        a: impl Into<Tensor<'a>>,
        b: impl Into<Right<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::compare";
        let (a, y) = (a.into(), y.into());
        require_type(FUNCTION, "y", &y, DataType::U8)?;
        let names = (&COMPARISONS, comparison as u32, comparison.into());
        self.two_operands(encoder, FUNCTION, names, a, b.into(), y)
    }

    fn two_operands(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        function: &'static str,
        (kernels, operation, variant): (&KernelNames, u32, &'static str),
        a: Tensor<'_>,
        b: Right<'_>,
        y: Tensor<'_>,
    ) -> Result<()> {
        let inputs;
        let inputs: &[(&'static str, Tensor<'_>)] = match &b {
            Right::Tensor(tensor) => {
                require_type(function, "b", tensor, a.data_type())?;
                inputs = [("a", a), ("b", *tensor)];
                &inputs
            }
            Right::Scalar(data_type, _) if *data_type == a.data_type() => &[("a", a)],
            Right::Scalar(data_type, _) => {
                let message = format!(
                    "b is a number of type {}, but a has elements of type {}",
                    data_type.name(),
                    a.data_type().name()
                );
                return Err(Error::InvalidArgument(Failure::new(function, message)));
            }
        };
        let scalar = match b {
            Right::Tensor(_) => None,
            Right::Scalar(_, bits) => Some(bits),
        };
        Elementwise {
            function,
            shader: Shader::Binary,
            kernel: kernels[a.data_type() as usize],
            constants: &[
                Constant::Uint(1, operation),
                Constant::Bool(2, scalar.is_some()),
            ],
            scalar: scalar.unwrap_or(0),
            variant: Some(variant),
            y,
            inputs,
        }
        .encode(self, encoder)
    }
}
