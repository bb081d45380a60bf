//! `conv.metal`: patches of images as rows and back, scaling, pooling, transposed convolutions. Tensors are batches of
//! channels, the input a view with gaps.

use crate::buffers::{Arg, Output, size, sizes, value};
use crate::check::{Approx, approx, exact};
use crate::layout::{contiguous, count, extent, gather, indices};
use crate::rig::{File, Grid};
use crate::types::Type;

/// Types of the kernels: with and without 64-bit integers, which none of these has.
const TYPES: [Type; 5] = [Type::F32, Type::F16, Type::Bf16, Type::U8, Type::U32];

/// An input: its shape, where its elements lie, the buffer's content, and the elements in order.
struct Tensor {
    shape: Vec<usize>,
    strides: Vec<usize>,
    stored: Vec<f64>,
    values: Vec<f64>,
}

impl Tensor {
    /// Rows are two elements longer in memory than in the tensor.
    fn new(
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
    fn at(&self, index: &[i64]) -> f64 {
        let inside = index
            .iter()
            .zip(&self.shape)
            .all(|(i, n)| (0..*n as i64).contains(i));
        let place = index
            .iter()
            .zip(contiguous(&self.shape))
            .map(|(i, stride)| i * stride as i64);
        if inside {
            self.values[place.sum::<i64>() as usize]
        } else {
            0.0
        }
    }
}

/// A convolution's window.
#[derive(Clone, Copy)]
struct Window {
    length: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
}

const WINDOWS: [Window; 3] = [
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
    fn positions(&self, length: usize) -> usize {
        (length + 2 * self.padding - self.dilation * (self.length - 1) - 1) / self.stride + 1
    }

    /// Where the window's element lies in the input, which may be in the padding.
    fn place(&self, position: usize, element: usize) -> i64 {
        (position * self.stride + element * self.dilation) as i64 - self.padding as i64
    }

    fn case(&self) -> String {
        let Window {
            length,
            stride,
            padding,
            dilation,
        } = self;
        format!("window {length}, stride {stride}, padding {padding}, dilation {dilation}")
    }
}

pub fn run(file: &File) {
    for kind in TYPES {
        for window in WINDOWS {
            rows_of_signals(file, kind, window);
            rows_of_images(file, kind, window);
            signals_of_rows(file, kind, window);
            transposed_signals(file, kind, window);
            if kind.is_float() {
                transposed_images(file, kind, window);
            }
        }
        for (width, height) in [(10, 14), (7, 5), (3, 4)] {
            nearest(file, kind, width, height);
            for corners in [false, true] {
                bilinear(file, kind, width, height, corners);
            }
        }
        for (window, stride) in [((2, 2), (2, 2)), ((3, 2), (1, 3))] {
            pools(file, kind, window, stride);
        }
    }
}

/// Elements by index, the last fastest.
fn each(shape: &[usize], element: impl Fn(&[usize]) -> Approx) -> Vec<Approx> {
    let strides = contiguous(shape);
    let index = |place: usize| -> Vec<usize> {
        strides
            .iter()
            .zip(shape)
            .map(|(stride, length)| place / stride % length)
            .collect()
    };
    indices(shape, &strides)
        .into_iter()
        .map(|place| element(&index(place)))
        .collect()
}

/// A thread for each element of the output, from numbers and a view.
fn launch(
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

/// Signals: batches of channels of samples; `im2col1d` gives batches of positions of channels of windows.
fn rows_of_signals(file: &File, kind: Type, window: Window) {
    let kernel = format!("im2col1d_{}", kind.name());
    let tensor = Tensor::new(file, kind, 1, &[2, 3, 17], 1.0..99.0);
    let shape = [2, window.positions(17), 3, window.length];
    let numbers = [
        count(&shape),
        shape[1],
        window.length,
        window.stride,
        window.padding,
        window.dilation,
    ];
    let output = file.output(kind, count(&shape));
    let launched = launch(file, &kernel, &numbers, &tensor, &output);
    let expected = each(&shape, |i| {
        exact(tensor.at(&[i[0] as i64, i[2] as i64, window.place(i[1], i[3])]))
    });
    file.check(&kernel, &window.case(), launched, &output, &expected);
}

fn rows_of_images(file: &File, kind: Type, window: Window) {
    let kernel = format!("im2col_{}", kind.name());
    let tensor = Tensor::new(file, kind, 1, &[2, 3, 9, 11], 1.0..99.0);
    let wide = Window {
        length: 2,
        ..window
    };
    let shape = [
        2,
        window.positions(9),
        wide.positions(11),
        3,
        window.length,
        wide.length,
    ];
    let [_, down, across, ..] = shape;
    let numbers = [
        count(&shape),
        down,
        across,
        window.length,
        wide.length,
        window.stride,
        window.padding,
        window.dilation,
    ];
    let output = file.output(kind, count(&shape));
    let launched = launch(file, &kernel, &numbers, &tensor, &output);
    let expected = each(&shape, |i| {
        let (y, x) = (window.place(i[1], i[4]), wide.place(i[2], i[5]));
        exact(tensor.at(&[i[0] as i64, i[3] as i64, y, x]))
    });
    file.check(&kernel, &window.case(), launched, &output, &expected);
}

/// A sum whose terms are rounded to `kind` one after the other, or wrap around in it.
fn rounded_sum(kind: Type, terms: &[f64]) -> Approx {
    let sum: f64 = terms.iter().sum();
    let size: f64 = terms.iter().map(|term| term.abs()).sum();
    match kind.is_float() {
        true => approx(sum, size * terms.len() as f64 * kind.epsilon()),
        false => exact(kind.nearest(sum)),
    }
}

/// Windows, laid over each other and summed; the tensor has batches of positions of channels of windows.
fn signals_of_rows(file: &File, kind: Type, window: Window) {
    let kernel = format!("col2im1d_{}", kind.name());
    let (batches, positions, channels) = (2, 7, 3);
    let values = file.values(
        kind,
        1,
        batches * positions * channels * window.length,
        1.0..99.0,
    );
    let length = (positions - 1) * window.stride + window.length;
    let shape = [batches, channels, length];
    let (input, output) = (
        file.input_at(kind, 3, &values),
        file.output(kind, count(&shape)),
    );
    let mut arguments: Vec<Arg<'_>> = [
        count(&shape),
        length,
        positions,
        channels,
        window.length,
        window.stride,
    ]
    .map(size)
    .into();
    arguments.extend([Arg::In(&input), Arg::Out(&output)]);
    let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(count(&shape)));
    let expected = each(&shape, |i| {
        let taken = (0..positions).filter_map(|position| {
            let element = i[2].checked_sub(position * window.stride)?;
            let row = (i[0] * positions + position) * channels + i[1];
            (element < window.length).then(|| values[row * window.length + element])
        });
        rounded_sum(kind, &taken.collect::<Vec<_>>())
    });
    file.check(&kernel, &window.case(), launched, &output, &expected);
}

/// What the transposed convolutions add up in.
fn accumulator(kind: Type) -> Type {
    if kind.is_float() { Type::F32 } else { kind }
}

/// Samples of the input that reach an output sample through a window's element.
fn source(window: Window, output: usize, element: usize) -> Option<i64> {
    let place = (output + window.padding).checked_sub(element * window.dilation)?;
    (place % window.stride == 0).then_some((place / window.stride) as i64)
}

fn transposed_length(window: Window, length: usize) -> usize {
    (length - 1) * window.stride + window.dilation * (window.length - 1) + 1 - 2 * window.padding
}

fn transposed_signals(file: &File, kind: Type, window: Window) {
    let kernel = format!("conv_transpose1d_{}", kind.name());
    let range = if kind.is_float() { -1.0..1.0 } else { 0.0..9.0 };
    let signal = Tensor::new(file, kind, 1, &[2, 3, 7], range.clone());
    let weights = Tensor::new(file, kind, 2, &[3, 4, window.length], range);
    let shape = [2, 4, transposed_length(window, 7)];
    let (input, filter) = (
        file.input_at(kind, 3, &signal.stored),
        file.input_at(kind, 1, &weights.stored),
    );
    let output = file.output(kind, count(&shape));
    let mut arguments: Vec<Arg<'_>> = [shape[2], window.stride, window.padding, 0, window.dilation]
        .map(size)
        .into();
    arguments.extend([sizes(&signal.shape), sizes(&signal.strides)]);
    arguments.extend([sizes(&weights.shape), sizes(&weights.strides)]);
    arguments.extend([Arg::In(&input), Arg::In(&filter), Arg::Out(&output)]);
    let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(count(&shape)));
    let expected = each(&shape, |i| {
        let mut terms = Vec::new();
        for element in 0..window.length {
            let Some(sample) = source(window, i[2], element) else {
                continue;
            };
            for channel in 0..3i64 {
                let weight = weights.at(&[channel, i[1] as i64, element as i64]);
                terms.push(signal.at(&[i[0] as i64, channel, sample]) * weight);
            }
        }
        rounded_sum(accumulator(kind), &terms)
    });
    file.check(&kernel, &window.case(), launched, &output, &expected);
}

fn transposed_images(file: &File, kind: Type, window: Window) {
    let kernel = format!("conv_transpose2d_{}", kind.name());
    let image = Tensor::new(file, kind, 1, &[2, 3, 5, 6], -1.0..1.0);
    let wide = Window {
        length: window.length + 1,
        ..window
    };
    let weights = Tensor::new(
        file,
        kind,
        2,
        &[3, 2, window.length, wide.length],
        -1.0..1.0,
    );
    let shape = [
        2,
        2,
        transposed_length(window, 5),
        transposed_length(wide, 6),
    ];
    let (input, filter) = (
        file.input_at(kind, 3, &image.stored),
        file.input_at(kind, 1, &weights.stored),
    );
    let output = file.output(kind, count(&shape));
    let mut arguments: Vec<Arg<'_>> = [
        shape[3],
        shape[2],
        window.stride,
        window.padding,
        0,
        window.dilation,
    ]
    .map(size)
    .into();
    arguments.extend([sizes(&image.shape), sizes(&image.strides)]);
    arguments.extend([sizes(&weights.shape), sizes(&weights.strides)]);
    arguments.extend([Arg::In(&input), Arg::In(&filter), Arg::Out(&output)]);
    let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(count(&shape)));
    let expected = each(&shape, |i| {
        let mut terms = Vec::new();
        for (y, x) in (0..window.length).flat_map(|y| (0..wide.length).map(move |x| (y, x))) {
            let places = (source(window, i[2], y), source(wide, i[3], x));
            let (Some(row), Some(column)) = places else {
                continue;
            };
            for channel in 0..3i64 {
                let weight = weights.at(&[channel, i[1] as i64, y as i64, x as i64]);
                terms.push(image.at(&[i[0] as i64, channel, row, column]) * weight);
            }
        }
        rounded_sum(Type::F32, &terms)
    });
    file.check(&kernel, &window.case(), launched, &output, &expected);
}

/// The nearest element before: the third dimension to `width`, the fourth to `height`, as the package calls them.
fn nearest(file: &File, kind: Type, width: usize, height: usize) {
    let kernel = format!("upsample_nearest2d_{}", kind.name());
    let image = Tensor::new(file, kind, 1, &[2, 3, 5, 7], 1.0..99.0);
    let shape = [2, 3, width, height];
    let (input, output) = (
        file.input_at(kind, 3, &image.stored),
        file.output(kind, count(&shape)),
    );
    let scales = (5.0 / width as f32, 7.0 / height as f32);
    let arguments = [
        size(width),
        size(height),
        value(scales.0),
        value(scales.1),
        sizes(&image.shape),
        sizes(&image.strides),
        Arg::In(&input),
        Arg::Out(&output),
    ];
    let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(count(&shape)));
    let expected = each(&shape, |i| {
        let place =
            |position: usize, length: usize, scaled: usize| (position * length / scaled) as i64;
        exact(image.at(&[
            i[0] as i64,
            i[1] as i64,
            place(i[2], 5, width),
            place(i[3], 7, height),
        ]))
    });
    file.check(
        &kernel,
        &format!("5 x 7 to {width} x {height}"),
        launched,
        &output,
        &expected,
    );
}

/// Between the four elements around, by distance. `corners`: the corners stay where they are; else the edges do.
fn bilinear(file: &File, kind: Type, width: usize, height: usize, corners: bool) {
    let kernel = format!("upsample_bilinear2d_{}", kind.name());
    let image = Tensor::new(file, kind, 1, &[2, 3, 5, 7], 1.0..99.0);
    let shape = [2, 3, height, width];
    let (input, output) = (
        file.input_at(kind, 3, &image.stored),
        file.output(kind, count(&shape)),
    );
    let truth = |value: bool| self::value(u8::from(value));
    let arguments = [
        size(width),
        size(height),
        truth(corners),
        truth(false),
        value(0f32),
        truth(false),
        value(0f32),
        sizes(&image.shape),
        sizes(&image.strides),
        Arg::In(&input),
        Arg::Out(&output),
    ];
    let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(count(&shape)));
    let between = |position: usize, length: usize, scaled: usize| {
        let place = match corners {
            true => position as f64 * (length - 1) as f64 / (scaled - 1) as f64,
            false => (position as f64 + 0.5) * length as f64 / scaled as f64 - 0.5,
        };
        let place = place.clamp(0.0, (length - 1) as f64);
        (
            place as i64,
            (place as i64 + 1).min(length as i64 - 1),
            place.fract(),
        )
    };
    let expected = each(&shape, |i| {
        let (top, bottom, down) = between(i[2], 5, height);
        let (left, right, across) = between(i[3], 7, width);
        let at = |y, x| image.at(&[i[0] as i64, i[1] as i64, y, x]);
        let row = |y| at(y, left) * (1.0 - across) + at(y, right) * across;
        let mixed = row(top) * (1.0 - down) + row(bottom) * down;
        // The place, of at most 7, is a float with a few roundings, and the elements differ by up to 98.
        let error = 98.0 * 2.0 * 4.0 * 7.0 * Type::F32.epsilon();
        match kind.is_float() {
            true => approx(mixed, error),
            // What is behind the point is cut off, on whichever side of an integer the error leaves the sum.
            false => approx(mixed - 0.5, 0.5 + error),
        }
    });
    let case = format!("5 x 7 to {height} x {width}, corners {corners}");
    file.check(&kernel, &case, launched, &output, &expected);
}

/// The largest and the average of a window, along the third and the fourth dimension.
fn pools(file: &File, kind: Type, window: (usize, usize), stride: (usize, usize)) {
    let range = if kind == Type::U8 {
        1.0..40.0
    } else {
        1.0..99.0
    };
    let image = Tensor::new(file, kind, 1, &[2, 3, 9, 11], range);
    let shape = [
        2,
        3,
        (9 - window.0) / stride.0 + 1,
        (11 - window.1) / stride.1 + 1,
    ];
    let taken = |i: &[usize]| -> Vec<f64> {
        let places = (0..window.0).flat_map(|y| (0..window.1).map(move |x| (y, x)));
        let place = |(y, x): (usize, usize)| {
            [i[0], i[1], i[2] * stride.0 + y, i[3] * stride.1 + x].map(|index| index as i64)
        };
        places.map(|offset| image.at(&place(offset))).collect()
    };
    let largest = each(&shape, |i| {
        exact(taken(i).into_iter().fold(f64::MIN, f64::max))
    });
    let average = each(&shape, |i| {
        let elements = taken(i);
        let mean = elements.iter().sum::<f64>() / elements.len() as f64;
        match kind.is_float() {
            true => approx(
                mean,
                mean * (elements.len() + 4) as f64 * Type::F32.epsilon(),
            ),
            false => exact(mean.trunc()),
        }
    });
    for (name, expected) in [("max_pool2d", largest), ("avg_pool2d", average)] {
        let kernel = format!("{name}_{}", kind.name());
        let numbers = [window.0, window.1, stride.0, stride.1];
        let output = file.output(kind, count(&shape));
        let launched = launch(file, &kernel, &numbers, &image, &output);
        file.check(
            &kernel,
            &format!("{window:?} by {stride:?}"),
            launched,
            &output,
            &expected,
        );
    }
}
