//! Poolings, images in other sizes, transposed convolutions, norms, softmax and attention.

use half::f16;
use metal_bridge::ops::{
    Attention, Convolution, Interpolation, Norm, Ops, Pooling, Tensor, Windows,
};

use super::{BYTES, Room, halves};
use crate::support::ops;
use crate::tensor::large::{holding, with_large_buffers};

/// Images of more elements than 32 bits count, of a row of each channel.
const IMAGES: usize = (1 << 16) + 1;

/// Layers of images and rows.
fn layers(room: &Room, ops: &Ops) {
    let few = halves(&[2.0, 3.0, 1.0, 4.0]);
    let of_few = |shape: &[usize]| Tensor::of::<f16>(&few, shape);
    let (high, wide) = ((1 << 15) + 2, 1 << 15);
    room.check::<f16, f16>(
        "pool",
        (ops, &[1, 2, high + 1, wide], &[1, 2, high, wide]),
        |ops, e, x, y| {
            let windows = Windows {
                stride: [1, 1],
                ..Windows::of([2, 1])
            };
            ops.pool(e, Pooling::Max, x, &windows, y)
        },
        |x, i| {
            let [above, below] = [0, 1].map(|row| x(&[i[0], i[1], i[2] + row, i[3]]));
            above.max(below)
        },
    );
    room.check::<f16, f16>(
        "adaptive pool",
        (ops, &[IMAGES, 2, IMAGES / 2], &[IMAGES, 2, IMAGES / 4]),
        |ops, e, x, y| ops.adaptive_pool(e, Pooling::Average, x, y),
        |x, i| {
            [0, 1]
                .map(|at| x(&[i[0], i[1], 2 * i[2] + at]))
                .iter()
                .sum::<f64>()
                / 2.0
        },
    );
    room.check::<f16, f16>(
        "resample",
        (ops, &[1, 2, high / 2, wide], &[1, 2, high, wide]),
        |ops, e, x, y| ops.resample(e, Interpolation::Linear, x, y),
        |x, i| {
            let at = ((i[2] as f64 + 0.5) / 2.0 - 0.5).clamp(0.0, (high / 2 - 1) as f64);
            let row = |row: usize| x(&[i[0], i[1], row.min(high / 2 - 1), i[3]]);
            let (first, part) = (at as usize, at.fract());
            (1.0 - part) * row(first) + part * row(first + 1)
        },
    );
    room.check::<f16, f16>(
        "transposed convolution",
        (ops, &[1, 1, high / 2, wide], &[1, 2, high, wide]),
        |ops, e, x, y| {
            let convolution = Convolution {
                stride: [2, 1],
                ..Convolution::default()
            };
            ops.transposed_convolution(e, x, of_few(&[1, 2, 2, 1])?, None, &convolution, y)
        },
        |x, i| [2.0, 3.0, 1.0, 4.0][2 * i[1] + i[2] % 2] * x(&[0, 0, i[2] / 2, i[3]]),
    );
    let norm = Norm {
        weight: Some(of_few(&[2]).unwrap()),
        ..Norm::default()
    };
    let scales = [2.0, 3.0];
    let normal = |x: &[f64], at: f64| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        (at - mean) / (variance + 1e-5).sqrt()
    };
    let images = (1 << 18) + 1;
    let shape = [images, 2, 1 << 12];
    room.check::<f16, f16>(
        "group norm",
        (ops, &shape, &shape),
        |ops, e, x, y| ops.group_norm(e, x, 2, &norm, y),
        |x, i| {
            let row: Vec<f64> = (0..shape[2]).map(|at| x(&[i[0], i[1], at])).collect();
            scales[i[1]] * normal(&row, row[i[2]])
        },
    );
    let statistics = holding(&[2.0f32, 3.0, 4.0, 9.0]);
    let four = Tensor::of::<f32>(&statistics, &[4]).unwrap();
    room.check::<f16, f16>(
        "batch norm",
        (ops, &shape, &shape),
        |ops, e, x, y| {
            let (mean, variance) = (four.narrow(0, 0, 2)?, four.narrow(0, 2, 2)?);
            let norm = Norm {
                epsilon: 0.0,
                ..norm
            };
            ops.batch_norm(e, x, mean, variance, &norm, y)
        },
        |x, i| scales[i[1]] * [(x(i) - 2.0) / 2.0, (x(i) - 3.0) / 3.0][i[1]],
    );
    let shape = [2, (1 << 20) + 1, 1 << 10];
    room.check::<f16, f16>(
        "batch norm, training",
        (ops, &shape, &shape),
        |ops, e, x, y| ops.batch_norm_training(e, x, None, &Norm::default(), y),
        |x, i| {
            let row = (0..2).flat_map(|image| (0..1 << 10).map(move |at| (image, at)));
            let row: Vec<f64> = row.map(|(image, at)| x(&[image, i[1], at])).collect();
            normal(&row, x(i))
        },
    );
    let shape = [images, 1 << 13];
    room.check::<f16, f16>(
        "softmax",
        (ops, &shape, &shape),
        |ops, e, x, y| ops.softmax(e, x, 1, y),
        |x, i| {
            let row: Vec<f64> = (0..shape[1]).map(|at| x(&[i[0], at])).collect();
            x(i).exp() / row.iter().map(|x| x.exp()).sum::<f64>()
        },
    );
    let keys = halves(&Vec::from_iter((0..128).map(|i| f64::from(i % 3))));
    let keys = Tensor::of::<f16>(&keys, &[1, 1, 2, 64]).unwrap();
    let rows = (1 << 25) + 1;
    const SCALE: f32 = 0.0078125;
    room.check::<f16, f16>(
        "attention",
        (ops, &[1, 1, rows, 64], &[1, 1, rows, 64]),
        |ops, e, x, y| {
            let attention = Attention {
                scale: Some(SCALE),
                ..Attention::default()
            };
            ops.scaled_dot_product_attention(e, x, keys, keys, &attention, y)
        },
        |x, i| {
            let key = |number: usize, at: usize| ((64 * number + at) % 3) as f64;
            let score = |number| -> f64 {
                let terms = (0..64).map(|at| x(&[0, 0, i[2], at]) * key(number, at));
                terms.sum::<f64>() * f64::from(SCALE)
            };
            let share = 1.0 / (1.0 + (score(0) - score(1)).exp());
            (1.0 - share) * key(0, i[3]) + share * key(1, i[3])
        },
    );
}

#[test]
#[ignore = "writes 4 GiB nine times"]
fn layers_beyond_2_to_the_31() {
    with_large_buffers("sampled::layers::layers_beyond_2_to_the_31", || {
        layers(&Room::new(BYTES), ops());
    });
}
