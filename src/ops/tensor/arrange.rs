//! Tensors put together and repeated: copies and fills of parts, which are views.

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::ops::tensor::convert::bits_of;
use crate::ops::tensor::data_type::Element;
use crate::ops::tensor::layout::MAX_RANK;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::require_type;
use crate::ops::{LaneExecution, Ops};

impl Ops {
    /// `y = ` the tensors `inputs`, one behind the other along `axis`: all have the type of `y`, and its shape but for the
    /// size along `axis`, of which theirs are the sum. An input may be its part of `y` already. There is no kernel of its own:
    /// each input is copied into [`Tensor::narrow`] of `y` as by [`Ops::convert`]. The inverse, a split, is a view:
    /// [`Tensor::narrow`].
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for an axis that `y` does not have, if types or shapes do not fit, if an input overlaps `y`
    /// otherwise than by being its part of it, or if positions of `y` share an element; [`Error::OutOfRange`] if elements are
    /// not inside their buffer, or if all dimensions but the longest have 2^32 positions or more together;
    /// [`Error::Misaligned`] if they do not begin at a multiple of their size. The first input that
    /// is wrong is named as `x[0]`, `x[1]` and so on.
    pub fn concat<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        inputs: &[Tensor<'a>],
        axis: usize,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::concat";
        let y = y.into();
        require_axis(FUNCTION, "y", &y, axis)?;
        y.require_own_elements(FUNCTION, "y")?;
        let y_bytes = y.extent(FUNCTION, "y")?.bytes;
        let size = y.data_type().size();
        y.view().check(FUNCTION, "y", y_bytes, size)?;
        let mut parts = Vec::with_capacity(inputs.len());
        let mut start = 0;
        for (index, x) in inputs.iter().enumerate() {
            let name = format!("x[{index}]");
            require_type(FUNCTION, &name, x, y.data_type())?;
            let same_but_axis = x.rank() == y.rank()
                && (0..y.rank()).all(|other| other == axis || x.shape()[other] == y.shape()[other]);
            let part = same_but_axis
                .then(|| y.narrow(axis, start, x.shape()[axis]).ok())
                .flatten();
            let Some(part) = part else {
                let message = format!(
                    "{name} of shape {:?} does not fit into y of shape {:?} from {start} on along axis {axis}",
                    x.shape(),
                    y.shape()
                );
                return Err(invalid(FUNCTION, message));
            };
            let bytes = x.extent(FUNCTION, &name)?.bytes;
            x.view().check(FUNCTION, &name, bytes, size)?;
            let is_there = x.require_apart(FUNCTION, &name, &y, Some(&part))?;
            self.copy(FUNCTION, None, *x, part)?;
            start += x.shape()[axis];
            if !is_there {
                parts.push((*x, part));
            }
        }
        if start != y.shape()[axis] {
            let message = format!(
                "y of shape {:?} has another size along axis {axis} than all inputs together, {start}",
                y.shape()
            );
            return Err(invalid(FUNCTION, message));
        }
        for (x, part) in parts {
            self.copy(FUNCTION, Some(encoder), x, part)?;
        }
        Ok(())
    }

    /// `y = x` with `value` around it: for each axis, `padding` has the number of positions before `x` and after it. `x`, `y`
    /// and `value` have one type, and `y` has the shape of `x` with its padding. `x` may be its part of `y` already. There is
    /// no kernel of its own: the parts of `y` are filled as by [`Ops::fill`], and one is copied into as by [`Ops::convert`].
    ///
    /// # Errors
    ///
    /// Those of [`Ops::concat`].
    pub fn pad<'a, T: Element>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        padding: &[[usize; 2]],
        value: T,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::pad";
        let (x, y) = (x.into(), y.into());
        require_type(FUNCTION, "x", &x, T::DATA_TYPE)?;
        require_type(FUNCTION, "y", &y, T::DATA_TYPE)?;
        let fits = x.rank() == y.rank()
            && padding.len() == y.rank()
            && (0..y.rank()).all(|axis| {
                let [before, after] = padding[axis];
                let padded = x.shape()[axis].checked_add(before);
                padded.and_then(|size| size.checked_add(after)) == Some(y.shape()[axis])
            });
        if !fits {
            let message = format!(
                "y of shape {:?} is not x of shape {:?} with the padding {padding:?}",
                y.shape(),
                x.shape()
            );
            return Err(invalid(FUNCTION, message));
        }
        y.require_own_elements(FUNCTION, "y")?;
        // What is left of y when the borders along each axis are taken away is where x goes.
        let mut borders = Vec::with_capacity(2 * y.rank());
        let mut inner = y;
        for (axis, &[before, after]) in padding.iter().enumerate() {
            let size = x.shape()[axis];
            borders.push(inner.narrow(axis, 0, before)?);
            borders.push(inner.narrow(axis, before + size, after)?);
            inner = inner.narrow(axis, before, size)?;
        }
        let y_bytes = y.extent(FUNCTION, "y")?.bytes;
        y.view()
            .check(FUNCTION, "y", y_bytes, y.data_type().size())?;
        let is_there = x.require_apart(FUNCTION, "x", &y, Some(&inner))?;
        let bits = bits_of(value);
        self.copy(FUNCTION, None, x, inner)?;
        for border in &borders {
            self.fill_bits(FUNCTION, None, bits, *border)?;
        }
        for border in borders.into_iter().filter(|border| border.count() > 0) {
            self.fill_bits(FUNCTION, Some(encoder), bits, border)?;
        }
        if is_there {
            return Ok(());
        }
        self.copy(FUNCTION, Some(encoder), x, inner)
    }

    /// `y = x`, as a whole, as often along each axis as `times` says: `y[i] = x[i mod n]` along an axis of size `n`. `x` and `y`
    /// have one type. A copy from a view, as by [`Ops::convert`]: the axes that repeat count twice among the [`MAX_RANK`]
    /// dimensions. Along axes of size 1 the repetition itself is a view: [`Tensor::broadcast_to`].
    ///
    /// # Errors
    ///
    /// Those of [`Ops::unary`]; [`Error::Unsupported`] if the dimensions are more than [`MAX_RANK`].
    pub fn tile<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        times: &[usize],
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.repeated("Ops::tile", encoder, (x.into(), times, y.into()), false)
    }

    /// `y = x`, each element `times` times in a row along `axis`: `y[i] = x[i / times]`, without the fraction. `x` and `y` have
    /// one type. A copy from a view, as by [`Ops::convert`].
    ///
    /// # Errors
    ///
    /// Those of [`Ops::tile`].
    pub fn repeat<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        times: usize,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::repeat";
        let (x, y) = (x.into(), y.into());
        require_axis(FUNCTION, "x", &x, axis)?;
        let mut all = [1; MAX_RANK];
        all[axis] = times;
        self.repeated(FUNCTION, encoder, (x, &all[..x.rank()], y), true)
    }

    /// A repeated axis is two: the one that repeats outside, or inside if the elements repeat one by one.
    fn repeated(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        (x, times, y): (Tensor<'_>, &[usize], Tensor<'_>),
        one_by_one: bool,
    ) -> Result<()> {
        require_type(function, "x", &x, y.data_type())?;
        let fits = x.rank() == y.rank()
            && times.len() == x.rank()
            && (0..x.rank())
                .all(|axis| x.shape()[axis].checked_mul(times[axis]) == Some(y.shape()[axis]));
        if !fits {
            let message = format!(
                "y of shape {:?} is not x of shape {:?} repeated {times:?} times",
                y.shape(),
                x.shape()
            );
            return Err(invalid(function, message));
        }
        let (mut shape, mut from, mut to) = (Vec::new(), Vec::new(), Vec::new());
        for (axis, (&size, &times)) in x.shape().iter().zip(times).enumerate() {
            let (x_stride, y_stride) = (x.strides()[axis], y.strides()[axis]);
            if times == 1 || size == 1 || y.count() == 0 {
                shape.push(size * times);
                from.push(if size == 1 { 0 } else { x_stride });
                to.push(y_stride);
                continue;
            }
            let inner = if one_by_one { times } else { size };
            let outer = y_stride.checked_mul(inner).ok_or_else(|| {
                let message = format!(
                    "y of shape {:?} and strides {:?} reaches beyond the address space",
                    y.shape(),
                    y.strides()
                );
                Error::OutOfRange(Failure::new(function, message))
            })?;
            to.extend([outer, y_stride]);
            if one_by_one && self.lanes == LaneExecution::InTurn && times < size {
                // Long rows for a thread, with gaps in y.
                shape.extend([times, size]);
                from.extend([0, x_stride]);
                let last = to.len() - 2;
                to.swap(last, last + 1);
            } else if one_by_one {
                shape.extend([size, times]);
                from.extend([x_stride, 0]);
            } else {
                shape.extend([times, size]);
                from.extend([0, x_stride]);
            }
        }
        if shape.len() > MAX_RANK {
            let message = format!(
                "x of shape {:?} repeated {times:?} times takes {} dimensions, more than {MAX_RANK}",
                x.shape(),
                shape.len()
            );
            return Err(Error::Unsupported(Failure::new(function, message)));
        }
        let x = Tensor::strided(x.view(), x.data_type(), &shape, &from)?;
        let y = Tensor::strided(y.view(), y.data_type(), &shape, &to)?;
        self.copy(function, Some(encoder), x, y)
    }
}

pub(super) fn invalid(function: &'static str, message: String) -> Error {
    Error::InvalidArgument(Failure::new(function, message))
}

/// An error if `tensor` does not have this axis.
pub(super) fn require_axis(
    function: &'static str,
    name: &str,
    tensor: &Tensor<'_>,
    axis: usize,
) -> Result<()> {
    if axis < tensor.rank() {
        return Ok(());
    }
    let message = format!(
        "{name} of shape {:?} does not have an axis {axis}",
        tensor.shape()
    );
    Err(invalid(function, message))
}
