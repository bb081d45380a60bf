//! [`Images`] and [`Window`]: what convolutions and poolings see of their tensors.

use crate::error::{Error, Failure, Result};
use crate::ops::tensor::view::Tensor;

/// A tensor as images: number, channel, row, column. Sequences are images with one row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Images {
    pub(super) shape: [usize; 4],
    pub(super) strides: [usize; 4],
}

impl Images {
    /// `tensor` has two dimensions before `D` spatial ones, which are 1 or 2.
    pub(super) fn new<const D: usize>(
        function: &'static str,
        name: &str,
        tensor: &Tensor<'_>,
    ) -> Result<Images> {
        const {
            assert!(
                D == 1 || D == 2,
                "images have one or two spatial dimensions"
            )
        };
        if tensor.rank() != D + 2 {
            let message = format!(
                "{name} of shape {:?} has {} dimensions, and this operation needs {}",
                tensor.shape(),
                tensor.rank(),
                D + 2
            );
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        // A row has the stride 0, which no position is multiplied with.
        let of = |from: &[usize], row: usize| match D {
            1 => [from[0], from[1], row, from[2]],
            _ => [from[0], from[1], from[2], from[3]],
        };
        let images = Images {
            shape: of(tensor.shape(), 1),
            strides: of(tensor.strides(), 0),
        };
        if let Some(size) = images.shape.iter().find(|size| **size > i32::MAX as usize) {
            let message =
                format!("{name} has {size} elements along a dimension, more than 31 bits count");
            return Err(Error::OutOfRange(Failure::new(function, message)));
        }
        Ok(images)
    }

    /// Rows and columns.
    pub(super) fn size(&self) -> [u32; 2] {
        [self.shape[2] as u32, self.shape[3] as u32]
    }

    /// Makes all rows one row of both, which have one size, if both lie so.
    pub(super) fn join_rows(&mut self, other: &mut Images) {
        let joins = |images: &Images| {
            images.shape[2] == 1
                || images.strides[2] == images.strides[3].saturating_mul(images.shape[3])
        };
        let count = self.shape[2].saturating_mul(self.shape[3]);
        if joins(self) && joins(other) && count <= i32::MAX as usize {
            for images in [self, other] {
                images.shape = [images.shape[0], images.shape[1], 1, count];
            }
        }
    }
}

/// Which elements of an input each output sees. Of two numbers the first is for rows, the second for columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) size: [u32; 2],
    pub(super) stride: [u32; 2],
    /// Before the input.
    pub(super) padding: [u32; 2],
    pub(super) dilation: [u32; 2],
    pub(super) padding_after: [usize; 2],
}

impl Window {
    pub(super) fn new<const D: usize>(
        function: &'static str,
        size: [usize; 2],
        stride: &[usize; D],
        padding: &[[usize; 2]; D],
        dilation: &[usize; D],
    ) -> Result<Window> {
        // Sequences have one row.
        let both = |of: &dyn Fn(usize) -> usize, row: usize| match D {
            1 => [row, of(0)],
            _ => [of(0), of(1)],
        };
        let (stride, dilation) = (both(&|at| stride[at], 1), both(&|at| dilation[at], 1));
        let before = both(&|at| padding[at][0], 0);
        let after = both(&|at| padding[at][1], 0);
        for (name, numbers, least) in [
            ("the window", size, 1),
            ("stride", stride, 1),
            ("dilation", dilation, 1),
            ("padding", before, 0),
            ("padding", after, 0),
        ] {
            if numbers
                .iter()
                .any(|number| *number < least || *number > i32::MAX as usize)
            {
                let message = format!(
                    "{name} is {:?}: it must be at least {least} and fit into 31 bits",
                    &numbers[2 - D..]
                );
                return Err(Error::InvalidArgument(Failure::new(function, message)));
            }
        }
        Ok(Window {
            size: size.map(|size| size as u32),
            stride: stride.map(|stride| stride as u32),
            padding: before.map(|padding| padding as u32),
            dilation: dilation.map(|dilation| dilation as u32),
            padding_after: after,
        })
    }

    /// Whether each output sees the input at its own position alone.
    pub(super) fn is_point(&self) -> bool {
        self.size == [1; 2]
            && self.stride == [1; 2]
            && self.padding == [0; 2]
            && self.padding_after == [0; 2]
    }

    /// An error unless the sizes of `y` are those that the window gives for `x`. `rounds_up` allows a last window that reaches
    /// beyond the padding, if it begins before that.
    pub(super) fn check_sizes(
        &self,
        function: &'static str,
        is_transposed: bool,
        rounds_up: bool,
        x: &Images,
        y: &Images,
    ) -> Result<()> {
        for axis in 0..2 {
            let (size, found) = (x.shape[2 + axis] as i128, y.shape[2 + axis] as i128);
            let [stride, dilation, window, before] =
                [&self.stride, &self.dilation, &self.size, &self.padding]
                    .map(|of| i128::from(of[axis]));
            let padding = before + self.padding_after[axis] as i128;
            let reach = dilation * (window - 1) + 1;
            let (least, most) = if is_transposed {
                let least = stride * (size - 1) - padding + reach;
                (least, least + stride.max(dilation) - 1)
            } else {
                let room = size + padding - reach;
                let whole = if room < 0 { 0 } else { room / stride + 1 };
                let begins = (whole * stride) < size + before;
                let is_cut = rounds_up && room >= 0 && room % stride != 0 && begins;
                (whole, whole + i128::from(is_cut))
            };
            // Positions are counted with signs in 32 bits, beyond the edges too, and a window is stepped past its end.
            let furthest = size.max(found) + padding + reach.max(dilation) + stride;
            let what = ["rows", "columns"][axis];
            let message = if !(least..=most).contains(&found) {
                format!(
                    "y has {found} {what}, but {size} {what} of x with a window of {window}, stride {stride}, dilation \
                     {dilation} and padding {padding} give {}",
                    least.max(0)
                )
            } else if furthest > i128::from(i32::MAX) {
                format!(
                    "the {what} of x or y ({}), the padding ({padding}), the window's reach ({}) and the stride ({stride}) \
                     must add up to at most {}",
                    size.max(found),
                    reach.max(dilation),
                    i32::MAX
                )
            } else {
                continue;
            };
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        Ok(())
    }
}
