//! Inputs, windows over them, and launches of a thread for each element of an output.

use crate::buffers::{Arg, Output, size, sizes};
use crate::check::Approx;
use crate::layout::{contiguous, extent, gather, indices};
use crate::rig::{File, Grid};
use crate::types::Type;

/// An input: its shape, where its elements lie, the buffer's content, and the elements in order.
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
    pub(super) stored: Vec<f64>,
    pub(super) values: Vec<f64>,
}

impl Tensor {
    /// Rows are two elements longer in memory than in the tensor.
    pub(super) fn new(
        file: &File,
        kind: Type,
        seed: u64,
        shape: &[usize],
        range: std::ops::Range<f64>,
    ) -> Tensor {
        let mut room = shape.to_vec();
        *room.last_mut().expect("a dimension") += 2;
        let strides = contiguous(&room);
        let stored = file.values(kind, seed, extent(shape, &strides), range);
        let values = gather(&stored, shape, &strides);
        Tensor {
            shape: shape.to_vec(),
            strides,
            stored,
            values,
        }
    }

    /// The element there; zero in the padding around, where any index is not in its range.
    pub(super) fn at(&self, index: &[i64]) -> f64 {
        let inside = index
            .iter()
            .zip(&self.shape)
            .all(|(i, n)| (0..*n as i64).contains(i));
        let offset = index
            .iter()
            .zip(contiguous(&self.shape))
            .map(|(i, stride)| i * stride as i64);
        if inside {
            self.values[offset.sum::<i64>() as usize]
        } else {
            0.0
        }
    }
}

/// A convolution's window.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub(super) length: usize,
    pub(super) stride: usize,
    pub(super) padding: usize,
    pub(super) dilation: usize,
}

pub(super) const WINDOWS: [Window; 3] = [
    Window {
        length: 3,
        stride: 1,
        padding: 0,
        dilation: 1,
    },
    Window {
        length: 3,
        stride: 2,
        padding: 1,
        dilation: 1,
    },
    Window {
        length: 4,
        stride: 3,
        padding: 2,
        dilation: 2,
    },
];

impl Window {
    pub(super) fn positions(&self, length: usize) -> usize {
        (length + 2 * self.padding - self.dilation * (self.length - 1) - 1) / self.stride + 1
    }

    /// Where the window's element lies in the input, which may be in the padding.
    pub(super) fn input_position(&self, position: usize, element: usize) -> i64 {
        (position * self.stride + element * self.dilation) as i64 - self.padding as i64
    }

    pub(super) fn case(&self) -> String {
        let Window {
            length,
            stride,
            padding,
            dilation,
        } = self;
        format!("window {length}, stride {stride}, padding {padding}, dilation {dilation}")
    }
}

/// Elements by index, the last fastest.
pub(super) fn each(shape: &[usize], element: impl Fn(&[usize]) -> Approx) -> Vec<Approx> {
    let strides = contiguous(shape);
    let index = |offset: usize| -> Vec<usize> {
        strides
            .iter()
            .zip(shape)
            .map(|(stride, length)| offset / stride % length)
            .collect()
    };
    indices(shape, &strides)
        .into_iter()
        .map(|offset| element(&index(offset)))
        .collect()
}

/// A thread for each element of the output, from numbers and a view.
pub(super) fn launch(
    file: &File,
    kernel: &str,
    numbers: &[usize],
    tensor: &Tensor,
    output: &Output,
) -> Result<(), String> {
    let input = file.input_at(output.kind, 3, &tensor.stored);
    let mut arguments: Vec<Arg<'_>> = numbers.iter().map(|number| size(*number)).collect();
    arguments.extend([sizes(&tensor.shape), sizes(&tensor.strides)]);
    arguments.extend([Arg::In(&input), Arg::Out(output)]);
    let threads = Grid::Linear(output.count());
    file.launch(kernel, &[], &arguments, threads)
}
