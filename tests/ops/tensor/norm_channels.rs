//! Group norm and batch norm against float64.

use half::{bf16, f16};
use metal_bridge::ops::{Norm, Ops, RunningStatistics, Tensor};
use rand::Rng;
use rand::rngs::SmallRng;

use super::norm::{agrees, numbers, statistics};
use super::rows::both;
use super::spread::{Spread, positions};
use super::values::{Sample, is_same, read, room};
use crate::support::{EPSILON, buffer, rng, run};

/// Shapes of images, channels first or last in memory.
const IMAGES: [([usize; 4], bool); 4] = [
    ([2, 6, 5, 67], false),
    ([3, 4, 9, 7], true),
    ([1, 70, 2, 3], true),
    ([2, 2, 1, 1], false),
];

fn image<'a, T: Sample>(
    buffer: &'a metal_bridge::Buffer,
    shape: [usize; 4],
    is_last: bool,
) -> Tensor<'a> {
    let [n, c, h, w] = shape;
    if !is_last {
        return Tensor::of::<T>(buffer, &shape).unwrap();
    }
    let tensor = Tensor::of::<T>(buffer, &[n, h, w, c]).unwrap();
    tensor.permute(&[0, 3, 1, 2]).unwrap()
}

/// Every shape for both kinds of lanes.
fn cases() -> impl Iterator<Item = (&'static Ops, [usize; 4], bool)> {
    IMAGES
        .into_iter()
        .flat_map(|(shape, is_last)| both().map(|ops| (ops, shape, is_last)))
}

/// Elements around `centre`; in half of the images one of them is not finite.
fn image_numbers<T: Sample>(rng: &mut SmallRng, shape: [usize; 4], centre: f64) -> Vec<T> {
    let mut x = numbers::<T>(rng, shape.iter().product(), centre);
    if rng.random_bool(0.5) {
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let index = rng.random_range(0..x.len());
        x[index] = T::nearest(special[rng.random_range(0..3)]);
    }
    x
}

/// The offset of each element, channel by channel, and row-major within.
fn offsets_of_channels([n, c, h, w]: [usize; 4], is_last: bool) -> Vec<Vec<Vec<usize>>> {
    let offset = |i, channel, y, x| match is_last {
        true => ((i * h + y) * w + x) * c + channel,
        false => ((i * c + channel) * h + y) * w + x,
    };
    let of = |i: usize, channel: usize| {
        (0..h * w)
            .map(|at| offset(i, channel, at / w, at % w))
            .collect()
    };
    (0..n)
        .map(|i| (0..c).map(|channel| of(i, channel)).collect())
        .collect()
}

/// Images of type `T`, of which some elements are not finite, and scales of type `S`.
fn groups<T: Sample, S: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for (ops, shape, is_last) in cases() {
        let offsets = offsets_of_channels(shape, is_last);
        let channels = shape[1];
        let x = image_numbers::<T>(&mut rng, shape, 30.0);
        let scales = [(); 2].map(|()| numbers::<S>(&mut rng, channels, 1.0));
        let (x_buffer, y_buffer) = (buffer(&x), room::<T>(x.len()));
        let [weight, bias] = scales.each_ref().map(|scale| buffer(scale));
        let norm = Norm {
            weight: Some(Tensor::of::<S>(&weight, &[channels]).unwrap()),
            bias: Some(Tensor::of::<S>(&bias, &[channels]).unwrap()),
            ..Norm::default()
        };
        let groups = if channels % 3 == 0 { 3 } else { 2 };
        let (x_tensor, y_tensor) = (
            image::<T>(&x_buffer, shape, is_last),
            image::<T>(&y_buffer, shape, is_last),
        );
        run(|encoder| ops.group_norm(encoder, x_tensor, groups, &norm, y_tensor));
        let y = read::<T>(&y_buffer);
        let size = channels / groups;
        for (group, of_group) in offsets
            .iter()
            .flat_map(|image| image.chunks(size).enumerate())
        {
            let row: Vec<f64> = of_group.iter().flatten().map(|at| x[*at].exact()).collect();
            let (mean, root) = statistics(&row, false, 1e-5);
            for (channel, of_channel) in of_group.iter().enumerate() {
                let number = group * size + channel;
                let scales = (scales[0][number].exact(), scales[1][number].exact());
                for at in of_channel {
                    let normalized = (x[*at].exact() - mean) / root;
                    agrees(y[*at], normalized, scales, 32.0 / root, "a group");
                }
            }
        }
    }
}

#[test]
fn groups_of_channels_agree() {
    groups::<f32, f32>(230);
    groups::<f16, f16>(231);
    groups::<bf16, f32>(232);
    groups::<bf16, bf16>(233);
}

fn batches<T: Sample, S: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for (ops, shape, is_last) in cases() {
        let offsets = offsets_of_channels(shape, is_last);
        let channels = shape[1];
        let x = image_numbers::<T>(&mut rng, shape, 5.0);
        let [weight, bias] = [(); 2].map(|()| numbers::<S>(&mut rng, channels, 2.5));
        let [mean, variance] = [(); 2].map(|()| numbers::<f32>(&mut rng, channels, 2.5));
        let (x_buffer, y_buffer) = (buffer(&x), room::<T>(x.len()));
        let scales = [&weight, &bias].map(|values| buffer(values));
        let buffers = [&mean, &variance].map(|values| buffer(values));
        let [weights, biases] = scales
            .each_ref()
            .map(|buffer| Tensor::of::<S>(buffer, &[channels]).unwrap());
        let [means, variances] = buffers
            .each_ref()
            .map(|buffer| Tensor::of::<f32>(buffer, &[channels]).unwrap());
        let norm = Norm {
            weight: Some(weights),
            bias: Some(biases),
            ..Norm::default()
        };
        let (x_tensor, y_tensor) = (
            image::<T>(&x_buffer, shape, is_last),
            image::<T>(&y_buffer, shape, is_last),
        );
        run(|encoder| ops.batch_norm(encoder, x_tensor, means, variances, &norm, y_tensor));
        let given = read::<T>(&y_buffer);
        let running = RunningStatistics {
            mean: means,
            variance: variances,
            momentum: 0.3,
        };
        run(|encoder| ops.batch_norm_training(encoder, x_tensor, Some(running), &norm, y_tensor));
        let trained = read::<T>(&y_buffer);
        let (new_means, new_variances) = (read::<f32>(&buffers[0]), read::<f32>(&buffers[1]));
        run(|encoder| ops.batch_norm_training(encoder, x_tensor, None, &norm, y_tensor));
        let again = read::<T>(&y_buffer);
        assert!(
            again
                .iter()
                .zip(&trained)
                .all(|(y, other)| is_same(*y, *other))
        );
        for channel in 0..channels {
            let all: Vec<usize> = offsets
                .iter()
                .flat_map(|image| image[channel].clone())
                .collect();
            let row: Vec<f64> = all.iter().map(|at| x[*at].exact()).collect();
            let scales = (weight[channel].exact(), bias[channel].exact());
            let (old_mean, old_variance) = (mean[channel].exact(), variance[channel].exact());
            let old_root = (old_variance + f64::from(1e-5f32)).sqrt();
            let (mean, root) = statistics(&row, false, 1e-5);
            for (at, x) in all.iter().zip(&row) {
                agrees(
                    given[*at],
                    (x - old_mean) / old_root,
                    scales,
                    0.0,
                    "given statistics",
                );
                agrees(
                    trained[*at],
                    (x - mean) / root,
                    scales,
                    7.0 / root,
                    "a batch",
                );
            }
            let count = row.len() as f64;
            let unbiased = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
            let near = |new: f32, old: f64, of_batch: f64| {
                let exact = (1.0 - f64::from(0.3f32)) * old + f64::from(0.3f32) * of_batch;
                let off = (f64::from(new) - exact).abs();
                let is_right = match of_batch.is_finite() {
                    true => off <= 16.0 * EPSILON * (old.abs() + of_batch),
                    false => !new.is_finite(),
                };
                assert!(is_right, "{new} is not {exact}");
            };
            near(new_means[channel], old_mean, mean);
            near(new_variances[channel], old_variance, unbiased);
        }
    }
}

#[test]
fn batches_agree() {
    batches::<f32, f32>(240);
    batches::<f16, f32>(241);
    batches::<f16, f16>(242);
    batches::<bf16, bf16>(243);
}

/// Random shapes, strides and offsets of all tensors: group norm, and batch norm of both kinds.
#[test]
fn every_layout_of_channels_agrees() {
    let mut rng = rng(250);
    for round in 0..40 {
        let (groups, size) = (rng.random_range(1..4), rng.random_range(1..4));
        let channels = groups * size;
        // Images of two and one dimensions, and channels of one element.
        let mut shape = vec![rng.random_range(2..5), channels];
        shape.extend((0..round % 4 % 3).map(|_| rng.random_range(1..9)));
        let positions = positions(&shape);
        let x = numbers::<f32>(&mut rng, positions.len(), 1.0);
        let scales = [(); 2].map(|()| numbers::<f32>(&mut rng, channels, 0.5));
        let given = [(); 2].map(|()| numbers::<f32>(&mut rng, channels, 2.5));
        let x_spread = Spread::of(&mut rng, &shape, &x);
        let [weight, bias] = scales
            .each_ref()
            .map(|values| Spread::of(&mut rng, &[channels], values));
        let [mean, variance] = given
            .each_ref()
            .map(|values| Spread::of(&mut rng, &[channels], values));
        let [grouped, normalized, trained] =
            [(); 3].map(|()| Spread::room::<f32>(&mut rng, &shape));
        let norm = Norm {
            weight: Some(weight.tensor::<f32>()),
            bias: Some(bias.tensor::<f32>()),
            ..Norm::default()
        };
        let running = RunningStatistics {
            mean: mean.tensor::<f32>(),
            variance: variance.tensor::<f32>(),
            momentum: 0.5,
        };
        let (ops, x_tensor) = (both()[round % 2], x_spread.tensor::<f32>());
        run(|encoder| {
            ops.group_norm(encoder, x_tensor, groups, &norm, grouped.tensor::<f32>())?;
            let (mean, variance) = (running.mean, running.variance);
            ops.batch_norm(
                encoder,
                x_tensor,
                mean,
                variance,
                &norm,
                normalized.tensor::<f32>(),
            )?;
            ops.batch_norm_training(
                encoder,
                x_tensor,
                Some(running),
                &norm,
                trained.tensor::<f32>(),
            )
        });
        let results = [grouped, normalized, trained].map(|y| y.read::<f32>());
        let new = [mean, variance].map(|spread| spread.read::<f32>());
        let what = format!("{shape:?} in {groups} groups");
        // The elements whose position is alike by `key`.
        let statistics_of = |key: &dyn Fn(&[usize]) -> [usize; 2], of: &[usize]| {
            let row: Vec<f64> = (0..x.len())
                .filter(|at| key(&positions[*at]) == key(of))
                .map(|at| x[at].exact())
                .collect();
            let (mean, root) = statistics(&row, false, 1e-5);
            (mean, root, row.len() as f64)
        };
        for (at, position) in positions.iter().enumerate() {
            let channel = position[1];
            let scales = (scales[0][channel].exact(), scales[1][channel].exact());
            let (mean, root, _) =
                statistics_of(&|position| [position[0], position[1] / size], position);
            let x = x[at].exact();
            agrees(results[0][at], (x - mean) / root, scales, 3.0 / root, &what);
            let [old_mean, old_variance] = given.each_ref().map(|values| values[channel].exact());
            let old_root = (old_variance + f64::from(1e-5f32)).sqrt();
            agrees(
                results[1][at],
                (x - old_mean) / old_root,
                scales,
                0.0,
                &what,
            );
            let (mean, root, count) = statistics_of(&|position| [0, position[1]], position);
            agrees(results[2][at], (x - mean) / root, scales, 3.0 / root, &what);
            let unbiased = (root * root - f64::from(1e-5f32)) * count / (count - 1.0);
            for (new, exact) in [
                (new[0][channel], (old_mean + mean) / 2.0),
                (new[1][channel], (old_variance + unbiased) / 2.0),
            ] {
                let off = (f64::from(new) - exact).abs();
                assert!(off <= 32.0 * EPSILON * 8.0, "{what}: {new} is not {exact}");
            }
        }
    }
}
