//! Functions of one tensor.

use strum::IntoStaticStr;

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::pipelines::Constant;
use crate::ops::shader::Shader;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{Elementwise, KernelNames, kernel_names, require_type};

const KERNELS: KernelNames = kernel_names!("unary");

/// A function of one element. Floats of 16 bits are computed with as `f32` and rounded once. Integers wrap.
#[derive(Debug, Clone, Copy, PartialEq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Unary {
    /// `-x`.
    Neg,
    /// `|x|`.
    Abs,
    /// -1, 0 or 1; a zero and NaN stay what they are.
    Sign,
    /// `x * x`.
    Square,
    /// The square root.
    Sqrt,
    /// `1 / sqrt(x)`.
    Rsqrt,
    /// `1 / x`.
    Recip,
    /// `e^x`.
    Exp,
    /// `e^x - 1`, without cancellation near 0.
    Expm1,
    /// The natural logarithm.
    Log,
    /// `log(1 + x)`, without the rounding of the sum.
    Log1p,
    /// The sine of radians.
    Sin,
    /// The cosine of radians.
    Cos,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// `max(x, 0)`.
    Relu,
    /// `x`, times this slope below 0.
    LeakyRelu(f32),
    /// `x`, and `alpha (e^x - 1)` below 0 (Clevert et al. 2015, arXiv:1511.07289).
    Elu(f32),
    /// `x` times the normal distribution's share below `x` (Hendrycks and Gimpel 2016, arXiv:1606.08415).
    Gelu,
    /// The approximation of [`Unary::Gelu`] by a hyperbolic tangent, in the same paper.
    GeluTanh,
    /// `x sigmoid(x)`, also called swish.
    Silu,
    /// `log(1 + e^x)`.
    Softplus,
    /// `x tanh(softplus(x))` (Misra 2019, arXiv:1908.08681).
    Mish,
    /// `x` times `x / 6 + 1 / 2` held within 0 and 1 (Howard et al. 2019, arXiv:1905.02244).
    HardSwish,
    /// The largest whole number that is not above `x`.
    Floor,
    /// The smallest whole number that is not below `x`.
    Ceil,
    /// The nearest whole number; of two, the even one.
    Round,
}

impl Unary {
    /// All functions, with the parameters that are usual.
    pub const ALL: [Unary; 28] = [
        Unary::Neg,
        Unary::Abs,
        Unary::Sign,
        Unary::Square,
        Unary::Sqrt,
        Unary::Rsqrt,
        Unary::Recip,
        Unary::Exp,
        Unary::Expm1,
        Unary::Log,
        Unary::Log1p,
        Unary::Sin,
        Unary::Cos,
        Unary::Tanh,
        Unary::Erf,
        Unary::Sigmoid,
        Unary::Relu,
        Unary::LeakyRelu(0.01),
        Unary::Elu(1.0),
        Unary::Gelu,
        Unary::GeluTanh,
        Unary::Silu,
        Unary::Softplus,
        Unary::Mish,
        Unary::HardSwish,
        Unary::Floor,
        Unary::Ceil,
        Unary::Round,
    ];

    /// The number in `shaders/tensor/unary.metal`, and the parameter.
    fn code(self) -> (u32, f32) {
        match self {
            Unary::Neg => (0, 0.0),
            Unary::Abs => (1, 0.0),
            Unary::Sign => (2, 0.0),
            Unary::Square => (3, 0.0),
            Unary::Sqrt => (4, 0.0),
            Unary::Rsqrt => (5, 0.0),
            Unary::Recip => (6, 0.0),
            Unary::Exp => (7, 0.0),
            Unary::Expm1 => (8, 0.0),
            Unary::Log => (9, 0.0),
            Unary::Log1p => (10, 0.0),
            Unary::Sin => (11, 0.0),
            Unary::Cos => (12, 0.0),
            Unary::Tanh => (13, 0.0),
            Unary::Erf => (14, 0.0),
            Unary::Sigmoid => (15, 0.0),
            Unary::Relu => (16, 0.0),
            Unary::LeakyRelu(slope) => (17, slope),
            Unary::Elu(alpha) => (18, alpha),
            Unary::Gelu => (19, 0.0),
            Unary::GeluTanh => (20, 0.0),
            Unary::Silu => (21, 0.0),
            Unary::Softplus => (22, 0.0),
            Unary::Mish => (23, 0.0),
            Unary::HardSwish => (24, 0.0),
            Unary::Floor => (25, 0.0),
            Unary::Ceil => (26, 0.0),
            Unary::Round => (27, 0.0),
        }
    }

    /// Whether tensors of this type have the function: all floats do.
    pub fn has(self, data_type: DataType) -> bool {
        match self {
            _ if data_type.is_float() => true,
            Unary::Abs | Unary::Sign | Unary::Square | Unary::Relu => true,
            Unary::Neg => data_type.is_signed(),
            _ => false,
        }
    }
}

impl Ops {
    /// `y = f(x)`, element by element: `x` broadcasts to the shape of `y`, and both have one type. `y` may be `x`. Kernel
    /// `unary` of that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the type does not have the function ([`Unary::has`]); [`Error::InvalidArgument`] if types or
    /// shapes do not fit, if the tensors overlap otherwise than by being the same elements, if positions of `y` share an
    /// element, or for a parameter that is not finite; [`Error::OutOfRange`] if elements are not inside their buffer, or if all
    /// dimensions but the longest have 2^32 positions or more together; [`Error::Misaligned`] if they do not begin at a multiple of their size.
    pub fn unary<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        operation: Unary,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::unary";
        let (x, y) = (x.into(), y.into());
        let (code, parameter) = operation.code();
        require_type(FUNCTION, "x", &x, y.data_type())?;
        if !operation.has(y.data_type()) {
            let message = format!(
                "x has elements of type {}, which {operation:?} does not support",
                x.data_type().name()
            );
            return Err(Error::Unsupported(Failure::new(FUNCTION, message)));
        }
        if !parameter.is_finite() {
            let message = format!("{operation:?} has a parameter that must be finite");
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        Elementwise {
            function: FUNCTION,
            shader: Shader::Unary,
            kernel: KERNELS[y.data_type() as usize],
            constants: &[Constant::Uint(1, code)],
            scalar: parameter.to_bits().into(),
            variant: Some(operation.into()),
            y,
            inputs: &[("x", x)],
        }
        .encode(self, encoder)
    }
}
