//! Scaling and pooling.

use crate::buffers::{Arg, size, sizes, value};
use crate::check::{approx, exact};
use crate::layout::count;
use crate::rig::{File, Grid};
use crate::types::Type;

use super::tensor::{Tensor, each, launch};

/// The nearest element before: the third dimension to `width`, the fourth to `height`, as the package calls them.
pub(super) fn nearest(file: &File, kind: Type, width: usize, height: usize) {
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
        let source =
            |position: usize, length: usize, scaled: usize| (position * length / scaled) as i64;
        exact(image.at(&[
            i[0] as i64,
            i[1] as i64,
            source(i[2], 5, width),
            source(i[3], 7, height),
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
pub(super) fn bilinear(file: &File, kind: Type, width: usize, height: usize, corners: bool) {
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
        let source = match corners {
            true => position as f64 * (length - 1) as f64 / (scaled - 1) as f64,
            false => (position as f64 + 0.5) * length as f64 / scaled as f64 - 0.5,
        };
        let source = source.clamp(0.0, (length - 1) as f64);
        (
            source as i64,
            (source as i64 + 1).min(length as i64 - 1),
            source.fract(),
        )
    };
    let expected = each(&shape, |i| {
        let (top, bottom, down) = between(i[2], 5, height);
        let (left, right, across) = between(i[3], 7, width);
        let at = |y, x| image.at(&[i[0] as i64, i[1] as i64, y, x]);
        let row = |y| at(y, left) * (1.0 - across) + at(y, right) * across;
        let mixed = row(top) * (1.0 - down) + row(bottom) * down;
        // The position, of at most 7, is a float with a few roundings, and the elements differ by up to 98.
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
pub(super) fn pools(file: &File, kind: Type, window: (usize, usize), stride: (usize, usize)) {
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
        let offsets = (0..window.0).flat_map(|y| (0..window.1).map(move |x| (y, x)));
        let taken_at = |(y, x): (usize, usize)| {
            [i[0], i[1], i[2] * stride.0 + y, i[3] * stride.1 + x].map(|index| index as i64)
        };
        offsets.map(|offset| image.at(&taken_at(offset))).collect()
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
