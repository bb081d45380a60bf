//! [`Tensor`]: typed elements in a buffer, with shape and strides.

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::ops::tensor::data_type::{DataType, Element};
use crate::ops::tensor::layout::{Layout, MAX_RANK};
use crate::ops::view::{Extent, View, overlap};

/// Elements of one type in a buffer, in up to [`MAX_RANK`] dimensions. Making one checks only that the shape can be said;
/// each operation checks that the elements are inside the buffer, and names the tensor that is not.
///
/// Two tensors overlap if the bytes from the first to the last element of one meet those of the other, except where both are
/// runs at the same distance that lie side by side, as columns of one matrix do.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'a> {
    view: View<'a>,
    data_type: DataType,
    layout: Layout,
}

impl<'a> Tensor<'a> {
    /// Row-major elements without gaps. An empty shape is one element.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for more than [`MAX_RANK`] dimensions or more elements than can be counted.
    pub fn new(
        view: impl Into<View<'a>>,
        data_type: DataType,
        shape: &[usize],
    ) -> Result<Tensor<'a>> {
        let layout = Tensor::layout_of("Tensor::new", shape)?;
        Ok(Tensor::with_layout(view.into(), data_type, layout))
    }

    /// [`Tensor::new`] for elements of a Rust type.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::new`].
    pub fn of<T: Element>(view: impl Into<View<'a>>, shape: &[usize]) -> Result<Tensor<'a>> {
        Tensor::new(view, T::DATA_TYPE, shape)
    }

    /// Elements that are `strides` elements apart, dimension by dimension. A stride of 0 repeats the same element.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::new`]; [`Error::InvalidArgument`] if there are not as many strides as dimensions.
    pub fn strided(
        view: impl Into<View<'a>>,
        data_type: DataType,
        shape: &[usize],
        strides: &[usize],
    ) -> Result<Tensor<'a>> {
        const FUNCTION: &str = "Tensor::strided";
        if shape.len() != strides.len() {
            let message = format!(
                "there are {} strides for {} dimensions",
                strides.len(),
                shape.len()
            );
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let layout = Layout::strided(shape, strides).ok_or_else(|| refused(FUNCTION, shape))?;
        Ok(Tensor::with_layout(view.into(), data_type, layout))
    }

    /// Row-major elements without gaps.
    pub(crate) fn layout_of(function: &'static str, shape: &[usize]) -> Result<Layout> {
        Layout::contiguous(shape).ok_or_else(|| refused(function, shape))
    }

    pub(crate) fn with_layout(view: View<'a>, data_type: DataType, layout: Layout) -> Tensor<'a> {
        Tensor {
            view,
            data_type,
            layout,
        }
    }

    /// The same elements with the dimensions in another order: the new dimension `i` is the old one `order[i]`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `order` does not name each dimension once.
    pub fn permute(&self, order: &[usize]) -> Result<Tensor<'a>> {
        let layout = self.layout.permuted(order).ok_or_else(|| {
            let message = format!("{order:?} is not an order of {} dimensions", self.rank());
            Error::InvalidArgument(Failure::new("Tensor::permute", message))
        })?;
        Ok(Tensor { layout, ..*self })
    }

    /// The `count` elements from `start` on along `axis`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if they are not all inside the tensor.
    pub fn narrow(&self, axis: usize, start: usize, count: usize) -> Result<Tensor<'a>> {
        let narrowed = self
            .layout
            .narrowed(axis, start, count)
            .and_then(|(layout, skipped)| {
                let bytes = skipped.checked_mul(self.data_type.size())?;
                let offset = self.view.offset().checked_add(bytes)?;
                Some(Tensor {
                    view: View::new(self.view.buffer(), offset),
                    data_type: self.data_type,
                    layout,
                })
            });
        narrowed.ok_or_else(|| {
            let message = format!(
                "{count} elements from {start} on along axis {axis} are not inside the shape {:?}",
                self.shape()
            );
            Error::OutOfRange(Failure::new("Tensor::narrow", message))
        })
    }

    /// Every `step`-th element along `axis`, from the first one on: element `i` is the old element `i * step`, and the size
    /// becomes `size.div_ceil(step)`. After [`Tensor::narrow`] that is a slice with a start, an end and a step.
    ///
    /// Strides are not negative, so a view cannot reverse an axis: [`Ops::index_select`](crate::ops::Ops::index_select) with
    /// the positions from the last to the first copies it reversed.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `step` is 0; [`Error::OutOfRange`] if the tensor does not have such an axis.
    pub fn step(&self, axis: usize, step: usize) -> Result<Tensor<'a>> {
        const FUNCTION: &str = "Tensor::step";
        if step == 0 {
            let message = format!("the step along axis {axis} must be at least 1, not 0");
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let layout = self.layout.stepped(axis, step).ok_or_else(|| {
            let message = format!("the shape {:?} does not have an axis {axis}", self.shape());
            Error::OutOfRange(Failure::new(FUNCTION, message))
        })?;
        Ok(Tensor { layout, ..*self })
    }

    /// The same elements in a larger shape: dimensions are matched from the last, and one of size 1, or one that is missing,
    /// repeats.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the shapes do not match.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Tensor<'a>> {
        self.broadcast("Tensor::broadcast_to", "the tensor", shape)
    }

    /// The address of the first element.
    pub fn view(&self) -> View<'a> {
        self.view
    }

    /// The type of the elements.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// How many elements apart neighbours are, for each dimension.
    pub fn strides(&self) -> &[usize] {
        self.layout.strides()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The number of elements.
    pub fn count(&self) -> usize {
        self.layout.count()
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn broadcast(
        &self,
        function: &'static str,
        what: &str,
        shape: &[usize],
    ) -> Result<Tensor<'a>> {
        let layout = self.layout.broadcast_to(shape).ok_or_else(|| {
            let message = format!(
                "{what} of shape {:?} does not broadcast to {shape:?}",
                self.shape()
            );
            Error::InvalidArgument(Failure::new(function, message))
        })?;
        Ok(Tensor { layout, ..*self })
    }

    /// An error if positions may share an element, so that writing them all would not give each its own.
    pub(crate) fn require_own_elements(&self, function: &'static str, what: &str) -> Result<()> {
        if self.layout.is_injective() {
            return Ok(());
        }
        let message = format!(
            "{what} has the strides {:?} for the shape {:?}: several positions may share an element",
            self.strides(),
            self.shape()
        );
        Err(Error::InvalidArgument(Failure::new(function, message)))
    }

    /// Whether each position has the same bytes in both.
    pub(crate) fn is_same_elements(&self, other: &Tensor<'_>) -> bool {
        self.view.buffer().is_same(other.view.buffer())
            && self.view.offset() == other.view.offset()
            && self.data_type.size() == other.data_type.size()
            && self.layout.is_same(&other.layout)
    }

    /// Bytes of its elements; those that repeat count once.
    pub(crate) fn memory(&self) -> usize {
        self.layout.distinct().saturating_mul(self.data_type.size())
    }

    /// Whether this tensor, which is read, is the one that it may be of what is written; otherwise an error if it has bytes
    /// of `y`, which is written.
    pub(crate) fn require_apart(
        &self,
        function: &'static str,
        name: &str,
        y: &Tensor<'_>,
        may_be: Option<&Tensor<'_>>,
    ) -> Result<bool> {
        let (extent, y_extent) = (self.extent(function, name)?, y.extent(function, "y")?);
        if may_be.is_some_and(|same| self.is_same_elements(same)) {
            return Ok(true);
        }
        if !self.view.overlaps(extent, &y.view, y_extent) {
            return Ok(false);
        }
        let [bytes, y_bytes] = [self.view.range(extent.bytes), y.view.range(y_extent.bytes)];
        let message = overlap(name, bytes, "y", y_bytes);
        let rest = match may_be {
            Some(_) => ", and are not the same elements",
            None => "",
        };
        let message = message + rest;
        Err(Error::InvalidArgument(Failure::new(function, message)))
    }

    /// The memory from the first to the last element, and what of it holds elements.
    pub(crate) fn extent(&self, function: &'static str, what: &str) -> Result<Extent> {
        self.layout.extent(self.data_type.size()).ok_or_else(|| {
            let message = format!(
                "{what} of shape {:?} and strides {:?} reaches beyond the address space",
                self.shape(),
                self.strides()
            );
            Error::OutOfRange(Failure::new(function, message))
        })
    }
}

/// All of a buffer as `f32`, in one dimension: what calls on plain buffers mean.
impl<'a> From<&'a Buffer> for Tensor<'a> {
    fn from(buffer: &'a Buffer) -> Tensor<'a> {
        let count = buffer.len() / DataType::F32.size();
        let layout = Layout::contiguous(&[count]).expect("the elements of a buffer can be counted");
        Tensor::with_layout(View::from(buffer), DataType::F32, layout)
    }
}

impl<'a> From<&Tensor<'a>> for Tensor<'a> {
    fn from(tensor: &Tensor<'a>) -> Tensor<'a> {
        *tensor
    }
}

fn refused(function: &'static str, shape: &[usize]) -> Error {
    let message = format!(
        "the shape {shape:?} has more than {MAX_RANK} dimensions or more elements than can be counted"
    );
    Error::InvalidArgument(Failure::new(function, message))
}
