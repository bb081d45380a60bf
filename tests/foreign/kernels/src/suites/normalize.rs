//! Softmax and norms of `reduce.metal`, over rows.

use crate::buffers::{Arg, size, value};
use crate::check::{Approx, approx};
use crate::rig::File;
use crate::suites::reduce::{depth, rows};
use crate::types::Type;

/// Rows and their length.
const SHAPES: [(usize, usize); 5] = [(3, 1), (2, 37), (3, 64), (2, 1000), (2, 4099)];
const EPSILON: f64 = 1e-3;

pub fn run(file: &File) {
    for kind in Type::FLOATS {
        for (count, length) in SHAPES {
            let values = file.values(kind, length as u64, count * length, -4.0..4.0);
            softmax(file, kind, count, length, &values);
            let scale = file.values(kind, 1, length, 0.5..2.0);
            let shift = file.values(kind, 2, length, -1.0..1.0);
            rms_norm(file, kind, count, length, &values, &scale);
            layer_norm(file, kind, (count, length), &values, &scale, &shift);
        }
    }
}

/// What a reference gives for each element of each row.
fn by_row(values: &[f64], length: usize, row: impl Fn(&[f64]) -> Vec<Approx>) -> Vec<Approx> {
    values.chunks(length).flat_map(row).collect()
}

fn softmax(file: &File, kind: Type, count: usize, length: usize, values: &[f64]) {
    let kernel = format!("softmax_{}", kind.name());
    let (input, output) = (
        file.input_at(kind, 3, values),
        file.output(kind, values.len()),
    );
    let arguments = [
        size(values.len()),
        size(length),
        Arg::In(&input),
        Arg::Out(&output),
    ];
    let launched = file.launch(&kernel, &[], &arguments, rows(count, length));
    let expected = by_row(values, length, |row| {
        let largest = row.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
        let element = |x: &f64| {
            let value = (x - largest).exp() / sum;
            // A rounded difference becomes a relative error of the exponential, which is rounded itself; on the way to
            // the sum every step may do so once.
            let steps = (8.0 + 4.0) * (1.0 + depth(length));
            approx(value, value * steps * kind.epsilon())
        };
        row.iter().map(element).collect()
    });
    file.check(
        &kernel,
        &format!("{count} rows of {length}"),
        launched,
        &output,
        &expected,
    );
}

fn rms_norm(file: &File, kind: Type, count: usize, length: usize, values: &[f64], scale: &[f64]) {
    let kernel = format!("rmsnorm_{}", kind.name());
    let (input, output) = (
        file.input_at(kind, 3, values),
        file.output(kind, values.len()),
    );
    let scales = file.input_at(kind, 1, scale);
    let arguments = [
        size(values.len()),
        size(length),
        Arg::In(&input),
        Arg::Out(&output),
        Arg::In(&scales),
        value(EPSILON as f32),
    ];
    let launched = file.launch(&kernel, &[], &arguments, rows(count, length));
    let expected = by_row(values, length, |row| {
        let square = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
        let factor = (square + EPSILON).sqrt().recip();
        // The factor and the product with the element are rounded to the type, and the sum is one of floats.
        let relative = 3.0 * kind.epsilon() + (depth(length) + 4.0) * Type::F32.epsilon();
        let element = |(x, scale): (&f64, &f64)| {
            let value = x * factor * scale;
            approx(value, value.abs() * relative)
        };
        row.iter().zip(scale).map(element).collect()
    });
    file.check(
        &kernel,
        &format!("{count} rows of {length}"),
        launched,
        &output,
        &expected,
    );
}

fn layer_norm(
    file: &File,
    kind: Type,
    (count, length): (usize, usize),
    values: &[f64],
    scale: &[f64],
    shift: &[f64],
) {
    let kernel = format!("layernorm_{}", kind.name());
    let (input, output) = (
        file.input_at(kind, 3, values),
        file.output(kind, values.len()),
    );
    let (scales, shifts) = (file.input_at(kind, 1, scale), file.input_at(kind, 2, shift));
    let arguments = [
        size(values.len()),
        size(length),
        Arg::In(&input),
        Arg::Out(&output),
        Arg::In(&scales),
        Arg::In(&shifts),
        value(EPSILON as f32),
    ];
    let launched = file.launch(&kernel, &[], &arguments, rows(count, length));
    let expected = by_row(values, length, |row| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let factor = (variance + EPSILON).sqrt().recip();
        let float = (depth(length) + 4.0) * Type::F32.epsilon();
        let size = row.iter().copied().map(f64::abs).fold(0.0, f64::max);
        let element = |(x, (scale, shift)): (&f64, (&f64, &f64))| {
            let normal = (x - mean) * factor;
            // The mean and the difference are rounded at their own sizes, the factor and the product relatively.
            let before = (mean.abs() + (x - mean).abs()) * kind.epsilon() + size * float;
            let error = before * factor + normal.abs() * (2.0 * kind.epsilon() + float);
            let value = normal * scale + shift;
            approx(
                value,
                error * scale.abs() + (normal * scale).abs() * kind.epsilon(),
            )
        };
        row.iter()
            .zip(scale.iter().zip(shift))
            .map(element)
            .collect()
    });
    file.check(
        &kernel,
        &format!("{count} rows of {length}"),
        launched,
        &output,
        &expected,
    );
}
