//! Other types, other layouts, and the choice between two tensors.

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::pipelines::Constant;
use crate::ops::shader::Shader;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{Elementwise, KernelNames, kernel_names, require_type};

const CONVERSIONS: KernelNames = kernel_names!("convert");

/// The kernel for elements of a size.
fn select_kernel(data_type: DataType) -> &'static str {
    match data_type.size() {
        1 => "select_1",
        2 => "select_2",
        4 => "select_4",
        _ => "select_8",
    }
}

impl Ops {
    /// `y = x` in the type of `y`, element by element: `x` broadcasts to the shape of `y`. Floats round to the nearest, of two
    /// to the even one; from floats to integers they lose their fraction, and what an integer cannot hold is its nearest
    /// end, NaN 0. Integers wrap. With one type it is a copy, bit by bit. Kernels `convert` of the type of `x`, `select`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::unary`].
    pub fn convert<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let is_copy = x.data_type() == y.data_type();
        Elementwise {
            function: "Ops::convert",
            shader: if is_copy {
                Shader::Select
            } else {
                Shader::Convert
            },
            kernel: if is_copy {
                select_kernel(x.data_type())
            } else {
                CONVERSIONS[x.data_type() as usize]
            },
            constants: &[if is_copy {
                Constant::Bool(1, false)
            } else {
                Constant::Uint(1, y.data_type() as u32)
            }],
            scalar: 0,
            y,
            inputs: &[("x", x)],
        }
        .encode(self, encoder)
    }

    /// `y = a` where `condition` is not 0, and `y = b` elsewhere: all broadcast to the shape of `y`; `condition` is of type
    /// `u8`, the others have one type. `y` may be `a` or `b`. Kernel `select`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::unary`].
    pub fn select<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        condition: impl Into<Tensor<'a>>,
        a: impl Into<Tensor<'a>>,
        b: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::select";
        let (condition, a, b, y) = (condition.into(), a.into(), b.into(), y.into());
        require_type(FUNCTION, "condition", &condition, DataType::U8)?;
        require_type(FUNCTION, "a", &a, y.data_type())?;
        require_type(FUNCTION, "b", &b, y.data_type())?;
        Elementwise {
            function: FUNCTION,
            shader: Shader::Select,
            kernel: select_kernel(y.data_type()),
            constants: &[Constant::Bool(1, true)],
            scalar: 0,
            y,
            inputs: &[("a", a), ("b", b), ("condition", condition)],
        }
        .encode(self, encoder)
    }
}
