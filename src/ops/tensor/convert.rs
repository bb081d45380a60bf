//! Other types, other layouts, and the choice between two tensors.

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::pipelines::Constant;
use crate::ops::shader::Shader;
use crate::ops::tensor::data_type::{DataType, Element};
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

/// The bits of an element, in the low ones of 64.
pub(super) fn bits_of<T: Element>(value: T) -> u64 {
    let mut bits = [0; 8];
    bits[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    u64::from_le_bytes(bits)
}

impl Ops {
    /// `y = x` in the type of `y`, element by element: `x` broadcasts to the shape of `y`. Floats round to the nearest, of two
    /// to the even one; from floats to integers they lose their fraction, and what an integer cannot hold is its nearest
    /// end, NaN 0. Integers wrap; floats are made of them by way of `f32`, as in PyTorch, so that what has more than 24 bits is
    /// rounded twice for `bf16`. With one type it is a copy, bit by bit. Kernels `convert` of the type of `x`, `select`.
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
        self.copy("Ops::convert", Some(encoder), x.into(), y.into())
    }

    /// [`Ops::convert`] for another function; without an encoder it only checks.
    pub(super) fn copy(
        &self,
        function: &'static str,
        encoder: Option<&mut ComputeEncoder<'_>>,
        x: Tensor<'_>,
        y: Tensor<'_>,
    ) -> Result<()> {
        let is_copy = x.data_type() == y.data_type();
        let conversion = Elementwise {
            function,
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
            constants: if is_copy {
                &[Constant::Bool(1, false), Constant::Bool(2, false)]
            } else {
                &[Constant::Uint(1, y.data_type() as u32)]
            },
            scalar: 0,
            variant: None,
            y,
            inputs: &[("x", x)],
        };
        match encoder {
            Some(encoder) => conversion.encode(self, encoder),
            None => conversion.check(self),
        }
    }

    /// `y = value` everywhere; `value` is of the type of `y`. Kernel `select`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::unary`].
    pub fn fill<'a, T: Element>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        value: T,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::fill";
        let y = y.into();
        require_type(FUNCTION, "y", &y, T::DATA_TYPE)?;
        self.fill_bits(FUNCTION, Some(encoder), bits_of(value), y)
    }

    /// [`Ops::fill`] for another function; without an encoder it only checks.
    pub(super) fn fill_bits(
        &self,
        function: &'static str,
        encoder: Option<&mut ComputeEncoder<'_>>,
        bits: u64,
        y: Tensor<'_>,
    ) -> Result<()> {
        let fill = Elementwise {
            function,
            shader: Shader::Select,
            kernel: select_kernel(y.data_type()),
            constants: &[Constant::Bool(1, false), Constant::Bool(2, true)],
            scalar: bits,
            variant: None,
            y,
            inputs: &[],
        };
        match encoder {
            Some(encoder) => fill.encode(self, encoder),
            None => fill.check(self),
        }
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
            constants: &[Constant::Bool(1, true), Constant::Bool(2, false)],
            scalar: 0,
            variant: None,
            y,
            inputs: &[("a", a), ("b", b), ("condition", condition)],
        }
        .encode(self, encoder)
    }
}
