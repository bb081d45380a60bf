//! Elements gathered by their index along an axis.

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::launch::Cost;
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::tensor::arrange::{invalid, require_axis};
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::layout::{Layout, MAX_RANK};
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{MAX_PARAMETERS, Part, Walked, read_operand, require_type};

const GATHERS: [&str; 4] = ["gather_1", "gather_2", "gather_4", "gather_8"];

/// `Along` of `shaders/tensor/index.metal`.
pub(super) struct Along {
    pub(super) size: usize,
    pub(super) stride: usize,
    pub(super) count: usize,
    pub(super) index_stride: usize,
    pub(super) x_stride: usize,
}

impl Along {
    pub(super) fn parameters(&self) -> [u64; MAX_PARAMETERS] {
        [
            self.size,
            self.stride,
            self.count,
            self.index_stride,
            self.x_stride,
        ]
        .map(|number| number as u64)
    }
}

impl Ops {
    /// `y[i, j, k] = x[i, index[i, j, k], k]`, for `axis` 1 of three, and so on: `index` broadcasts to the shape of `y`, which
    /// along each other axis is at most as large as `x`. `x` and `y` have one type, of any kind; `index` is of type `i32`, `u32`
    /// or `i64`. Where an index is negative, or not less than the size of `x` along `axis`, `y` is 0 and nothing is read. Kernel
    /// `gather`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an axis that `x` does not have, if types or shapes do not
    /// fit, if `y` overlaps another tensor, or if positions of `y` share an element;
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if elements are not inside their buffer, or if all dimensions but the
    /// longest have 2^32 positions or more together;
    /// [`Error::Misaligned`](crate::Error::Misaligned) if they do not begin at a multiple of their size.
    pub fn gather<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        index: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let tensors = (x.into(), axis, index.into(), y.into());
        self.gather_for("Ops::gather", Some(encoder), tensors)
    }

    /// [`Ops::gather`] for another function; without an encoder it only checks.
    pub(super) fn gather_for(
        &self,
        function: &'static str,
        encoder: Option<&mut ComputeEncoder<'_>>,
        (x, axis, index, y): (Tensor<'_>, usize, Tensor<'_>, Tensor<'_>),
    ) -> Result<()> {
        require_axis(function, "x", &x, axis)?;
        let index = index.broadcast(function, "index", y.shape())?;
        require_within(function, ("y", &y), ("x", &x), axis)?;
        let steps = strides_but(&x, axis, x.rank());
        self.gathered(function, encoder, (x, axis, &steps), index, y)
    }

    /// `y[i, j, k] = x[i, index[j], k]`, for `axis` 1 of three, and so on: `index` has one axis, and `y` the shape of `x` but for
    /// the size of `axis`, which is that of `index`. Types and indices out of range as for [`Ops::gather`]. Kernel `gather`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::gather`].
    pub fn index_select<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        index: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::index_select";
        let (x, index, y) = (x.into(), index.into(), y.into());
        require_axis(FUNCTION, "x", &x, axis)?;
        let fits = index.rank() == 1
            && x.rank() == y.rank()
            && (0..x.rank()).all(|dimension| {
                let of = if dimension == axis {
                    (&index, 0)
                } else {
                    (&x, dimension)
                };
                y.shape()[dimension] == of.0.shape()[of.1]
            });
        if !fits {
            let message = format!(
                "y of shape {:?} is not x of shape {:?} with an index of shape {:?} along axis {axis}",
                y.shape(),
                x.shape(),
                index.shape()
            );
            return Err(invalid(FUNCTION, message));
        }
        let mut strides = [0; MAX_RANK];
        strides[axis] = index.strides()[0];
        let (view, data_type) = (index.view(), index.data_type());
        let index = Tensor::strided(view, data_type, y.shape(), &strides[..y.rank()])?;
        let steps = strides_but(&x, axis, x.rank());
        self.gathered(FUNCTION, Some(encoder), (x, axis, &steps), index, y)
    }

    /// `y[.., k] = x[index[..], k]`: rows of a table `x` with two axes, by an index of any shape; `y` has that shape and the rows'
    /// axis behind it. Types and indices out of range as for [`Ops::gather`]. [`Ops::embed`] does this for a table of weights in
    /// blocks. Kernel `gather`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::gather`].
    pub fn embedding<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        index: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::embedding";
        let (x, index, y) = (x.into(), index.into(), y.into());
        let fits = x.rank() == 2
            && y.shape().split_last() == x.shape().get(1).map(|width| (width, index.shape()));
        if !fits {
            let message = format!(
                "y of shape {:?} is not rows of x of shape {:?} by an index of shape {:?}",
                y.shape(),
                x.shape(),
                index.shape()
            );
            return Err(invalid(FUNCTION, message));
        }
        let mut strides = [0; MAX_RANK];
        strides[..index.rank()].copy_from_slice(index.strides());
        let (view, data_type) = (index.view(), index.data_type());
        let index = Tensor::strided(view, data_type, y.shape(), &strides[..y.rank()])?;
        let mut steps = vec![0; y.rank()];
        steps[y.rank() - 1] = x.strides()[1];
        self.gathered(FUNCTION, Some(encoder), (x, 0, &steps), index, y)
    }

    /// `index` has the shape of `y`, and `steps` the strides of `x` in that shape, without the axis of the index.
    fn gathered(
        &self,
        function: &'static str,
        encoder: Option<&mut ComputeEncoder<'_>>,
        (x, axis, steps): (Tensor<'_>, usize, &[usize]),
        index: Tensor<'_>,
        y: Tensor<'_>,
    ) -> Result<()> {
        require_type(function, "y", &y, x.data_type())?;
        require_index(function, &index)?;
        y.require_own_elements(function, "y")?;
        let along = Along {
            size: x.shape()[axis],
            stride: x.strides()[axis],
            count: 1,
            index_stride: 0,
            x_stride: 0,
        };
        let taken = x.memory().min(y.memory());
        let parts = [
            Part::write(function, &y, *y.layout())?,
            Part::read(function, "index", &index, *index.layout())?,
            Part {
                layout: layout_of(&y, steps),
                operand: Some(read_operand(function, "x", &x)?.moving(taken)),
            },
        ];
        let walked = Walked {
            function,
            scalar: index.data_type() as u64,
            parameters: along.parameters(),
            parts: &parts,
            per_thread: None,
            cost: Cost::bytes_only(y.data_type().name()),
        };
        walked.check(self)?;
        let Some(encoder) = encoder else {
            return Ok(());
        };
        if along.size == 0 {
            return self.fill_bits(function, Some(encoder), 0, y);
        }
        let walk = walked.walk();
        let kernel = |is_dense| {
            KernelName::new(Shader::Index, kernel_of_size(&GATHERS, y.data_type()))
                .with(Constant::Bool(0, is_dense))
        };
        // SAFETY: the kernel reads x at positions of the walk, which leaves out the axis of the index, and along that axis at
        // indices that are less than its size: those are positions of x.
        unsafe { walked.encode(self, encoder, &walk, kernel) }
    }
}

/// The layout with these strides in the shape of `tensor`.
pub(super) fn layout_of(tensor: &Tensor<'_>, strides: &[usize]) -> Layout {
    Layout::strided(tensor.shape(), strides).expect("the shape is that of a tensor")
}

/// The strides of a tensor, but 0 along `axis`.
pub(super) fn strides_but(tensor: &Tensor<'_>, axis: usize, rank: usize) -> Vec<usize> {
    let mut strides = tensor.strides()[..rank].to_vec();
    strides[axis] = 0;
    strides
}

/// The kernel for elements of the size of this type, of those for 1, 2, 4 and 8 bytes.
pub(super) fn kernel_of_size(
    kernels: &'static [&'static str; 4],
    data_type: DataType,
) -> &'static str {
    kernels[data_type.size().ilog2() as usize]
}

/// An error unless `index` has a type of indices.
pub(super) fn require_index(function: &'static str, index: &Tensor<'_>) -> Result<()> {
    match index.data_type() {
        DataType::I32 | DataType::U32 | DataType::I64 => Ok(()),
        other => {
            let message = format!(
                "index has elements of type {}, but this operation needs i32, u32 or i64",
                other.name()
            );
            Err(invalid(function, message))
        }
    }
}

/// An error unless `small` is at most as large as `large` along each axis but one.
pub(super) fn require_within(
    function: &'static str,
    (small_name, small): (&str, &Tensor<'_>),
    (large_name, large): (&str, &Tensor<'_>),
    axis: usize,
) -> Result<()> {
    if small.rank() != large.rank() {
        let message = format!(
            "{small_name} of shape {:?} must have as many dimensions as {large_name} of shape {:?}",
            small.shape(),
            large.shape()
        );
        return Err(invalid(function, message));
    }
    let fits = (0..small.rank())
        .all(|other| other == axis || small.shape()[other] <= large.shape()[other]);
    if fits {
        return Ok(());
    }
    let message = format!(
        "{small_name} of shape {:?} must not be larger than {large_name} of shape {:?} along any axis but {axis}",
        small.shape(),
        large.shape()
    );
    Err(invalid(function, message))
}
