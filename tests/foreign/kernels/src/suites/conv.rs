//! `conv.metal`: patches of images as rows and back, scaling, pooling, transposed convolutions. Tensors are batches of
//! channels, the input a view with gaps.

mod resample;
mod tensor;

use crate::buffers::{Arg, size, sizes};
use crate::check::{Approx, approx, exact};
use crate::layout::count;
use crate::rig::{File, Grid};
use crate::types::Type;

use resample::{bilinear, nearest, pools};
use tensor::{Tensor, WINDOWS, Window, each, launch};

/// Types of the kernels: with and without 64-bit integers, which none of these has.
const TYPES: [Type; 5] = [Type::F32, Type::F16, Type::Bf16, Type::U8, Type::U32];
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
        exact(tensor.at(&[i[0] as i64, i[2] as i64, window.input_position(i[1], i[3])]))
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
        let (y, x) = (
            window.input_position(i[1], i[4]),
            wide.input_position(i[2], i[5]),
        );
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
    let shifted = (output + window.padding).checked_sub(element * window.dilation)?;
    (shifted % window.stride == 0).then_some((shifted / window.stride) as i64)
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
            let positions = (source(window, i[2], y), source(wide, i[3], x));
            let (Some(row), Some(column)) = positions else {
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
