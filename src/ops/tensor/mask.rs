//! What depends on where an element is: triangles of matrices, and rows with a one at an index.

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::shader::Shader;
use crate::ops::tensor::arrange::invalid;
use crate::ops::tensor::convert::bits_of;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::index::{kernel_of_size, require_index};
use crate::ops::tensor::layout::{Layout, MAX_RANK};
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{Elementwise, Extra, require_type};

const TRIANGLES: [&str; 4] = ["triangle_1", "triangle_2", "triangle_4", "triangle_8"];
const ONE_HOTS: [&str; 4] = ["one_hot_1", "one_hot_2", "one_hot_4", "one_hot_8"];

impl Ops {
    /// `y[.., i, j] = x[.., i, j]` where `j - i >= diagonal`, and 0 elsewhere: the upper triangles of matrices, which are the
    /// last two axes. `x` broadcasts to the shape of `y`, and both have one type. `y` may be `x`. Kernel `triangle`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::unary`]; [`Error::InvalidArgument`](crate::Error::InvalidArgument) also for less than two axes.
    pub fn triu<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        diagonal: i64,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.triangle(
            "Ops::triu",
            encoder,
            (x.into(), y.into()),
            [diagonal, i64::MAX],
        )
    }

    /// `y[.., i, j] = x[.., i, j]` where `j - i <= diagonal`, and 0 elsewhere: the lower triangles, otherwise as
    /// [`Ops::triu`]. Kernel `triangle`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::triu`].
    pub fn tril<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        diagonal: i64,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.triangle(
            "Ops::tril",
            encoder,
            (x.into(), y.into()),
            [i64::MIN, diagonal],
        )
    }

    fn triangle(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        (x, y): (Tensor<'_>, Tensor<'_>),
        [low, high]: [i64; 2],
    ) -> Result<()> {
        require_type(function, "x", &x, y.data_type())?;
        if y.rank() < 2 {
            let message = format!("y of shape {:?} does not have two axes", y.shape());
            return Err(invalid(function, message));
        }
        // The number of an element: one more for each column, one less for each row, modulo 2^64.
        let mut steps = [0; MAX_RANK];
        steps[y.rank() - 1] = 1;
        steps[y.rank() - 2] = usize::MAX;
        Elementwise {
            function,
            shader: Shader::Mask,
            kernel: kernel_of_size(&TRIANGLES, y.data_type()),
            constants: &[],
            scalar: 0,
            variant: None,
            y,
            inputs: &[("x", x)],
        }
        .encode_with(
            self,
            encoder,
            Extra {
                numbers: &numbered(&y, &steps),
                parameters: [low as u64, high as u64, 0, 0, 0],
            },
        )
    }

    /// `y[.., c] = 1` where `c` is the index at the other axes, and 0 elsewhere: `index` is of type `i32`, `u32` or `i64` and
    /// has the shape of `y` without its last axis; `y` is of any type. The row of an index that is negative or not less than
    /// the size of the last axis is all 0. Kernel `one_hot`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::unary`].
    pub fn one_hot<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        index: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::one_hot";
        let (index, y) = (index.into(), y.into());
        require_index(FUNCTION, &index)?;
        let Some((_, others)) = y.shape().split_last() else {
            let message = "y of shape [] does not have an axis for the classes".to_owned();
            return Err(invalid(FUNCTION, message));
        };
        if index.shape() != others {
            let message = format!(
                "index has the shape {:?}, but y of shape {:?} needs {others:?}",
                index.shape(),
                y.shape()
            );
            return Err(invalid(FUNCTION, message));
        }
        let mut strides = [0; MAX_RANK];
        strides[..index.rank()].copy_from_slice(index.strides());
        let repeated = Tensor::strided(
            index.view(),
            index.data_type(),
            y.shape(),
            &strides[..y.rank()],
        )?;
        let mut steps = [0; MAX_RANK];
        steps[y.rank() - 1] = 1;
        Elementwise {
            function: FUNCTION,
            shader: Shader::Mask,
            kernel: kernel_of_size(&ONE_HOTS, y.data_type()),
            constants: &[],
            scalar: one(y.data_type()),
            variant: None,
            y,
            inputs: &[("index", repeated)],
        }
        .encode_with(
            self,
            encoder,
            Extra {
                numbers: &numbered(&y, &steps),
                parameters: [index.data_type() as u64, 0, 0, 0, 0],
            },
        )
    }
}

/// The numbers that grow by `steps` along the axes of `y`.
fn numbered(y: &Tensor<'_>, steps: &[usize; MAX_RANK]) -> [Layout; 1] {
    let layout = Layout::strided(y.shape(), &steps[..y.rank()]);
    [layout.expect("the shape is that of a tensor")]
}

/// The bits of 1.
fn one(data_type: DataType) -> u64 {
    match data_type {
        DataType::F32 => bits_of(1f32),
        DataType::F16 => bits_of(half::f16::ONE),
        DataType::BF16 => bits_of(half::bf16::ONE),
        _ => 1,
    }
}
