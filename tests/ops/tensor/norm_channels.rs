//! Group norm and batch norm against float64.

use metal_bridge::ops::{Norm, RunningStatistics, Tensor};

use super::norm::{agrees, numbers, statistics};
use super::rows::both;
use super::values::{Sample, read, room};
use crate::support::{EPSILON, buffer, rng, run};

/// Shapes of images, channels first or last in memory.
const IMAGES: [([usize; 4], bool); 4] = [
    ([2, 6, 5, 67], false),
    ([3, 4, 9, 7], true),
    ([1, 70, 2, 3], true),
    ([2, 2, 1, 1], false),
];

fn image<'a>(buffer: &'a metal_bridge::Buffer, shape: [usize; 4], is_last: bool) -> Tensor<'a> {
    let [n, c, h, w] = shape;
    if !is_last {
        return Tensor::of::<f32>(buffer, &shape).unwrap();
    }
    let tensor = Tensor::of::<f32>(buffer, &[n, h, w, c]).unwrap();
    tensor.permute(&[0, 3, 1, 2]).unwrap()
}

/// The place of each element, channel by channel, and row-major within.
fn places_of_channels([n, c, h, w]: [usize; 4], is_last: bool) -> Vec<Vec<Vec<usize>>> {
    let place = |i, channel, y, x| match is_last {
        true => ((i * h + y) * w + x) * c + channel,
        false => ((i * c + channel) * h + y) * w + x,
    };
    let of = |i: usize, channel: usize| {
        (0..h * w)
            .map(|at| place(i, channel, at / w, at % w))
            .collect()
    };
    (0..n)
        .map(|i| (0..c).map(|channel| of(i, channel)).collect())
        .collect()
}

#[test]
fn groups_of_channels_agree() {
    let mut rng = rng(230);
    for (ops, (shape, is_last)) in both()
        .into_iter()
        .cycle()
        .zip(IMAGES.into_iter().cycle())
        .take(7)
    {
        let places = places_of_channels(shape, is_last);
        let channels = shape[1];
        let x = numbers::<f32>(&mut rng, shape.iter().product(), 30.0);
        let scales = [(); 2].map(|()| numbers::<f32>(&mut rng, channels, 1.0));
        let (x_buffer, y_buffer) = (buffer(&x), room::<f32>(x.len()));
        let [weight, bias] = scales.each_ref().map(|scale| buffer(scale));
        let norm = Norm {
            weight: Some(Tensor::of::<f32>(&weight, &[channels]).unwrap()),
            bias: Some(Tensor::of::<f32>(&bias, &[channels]).unwrap()),
            ..Norm::default()
        };
        let groups = if channels % 3 == 0 { 3 } else { 2 };
        let (x_tensor, y_tensor) = (
            image(&x_buffer, shape, is_last),
            image(&y_buffer, shape, is_last),
        );
        run(|encoder| ops.group_norm(encoder, x_tensor, groups, &norm, y_tensor));
        let y = read::<f32>(&y_buffer);
        let size = channels / groups;
        for (group, of_group) in places
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
fn batches_agree() {
    let mut rng = rng(240);
    for (ops, (shape, is_last)) in both()
        .into_iter()
        .cycle()
        .zip(IMAGES.into_iter().cycle())
        .take(7)
    {
        let places = places_of_channels(shape, is_last);
        let channels = shape[1];
        let x = numbers::<f32>(&mut rng, shape.iter().product(), 5.0);
        let [weight, bias, mean, variance] =
            [(); 4].map(|()| numbers::<f32>(&mut rng, channels, 2.5));
        let (x_buffer, y_buffer) = (buffer(&x), room::<f32>(x.len()));
        let buffers = [&weight, &bias, &mean, &variance].map(|values| buffer(values));
        let [weights, biases, means, variances] = buffers
            .each_ref()
            .map(|buffer| Tensor::of::<f32>(buffer, &[channels]).unwrap());
        let norm = Norm {
            weight: Some(weights),
            bias: Some(biases),
            ..Norm::default()
        };
        let (x_tensor, y_tensor) = (
            image(&x_buffer, shape, is_last),
            image(&y_buffer, shape, is_last),
        );
        run(|encoder| ops.batch_norm(encoder, x_tensor, means, variances, &norm, y_tensor));
        let given = read::<f32>(&y_buffer);
        let running = RunningStatistics {
            mean: means,
            variance: variances,
            momentum: 0.3,
        };
        run(|encoder| ops.batch_norm_training(encoder, x_tensor, Some(running), &norm, y_tensor));
        let trained = read::<f32>(&y_buffer);
        let (new_means, new_variances) = (read::<f32>(&buffers[2]), read::<f32>(&buffers[3]));
        run(|encoder| ops.batch_norm_training(encoder, x_tensor, None, &norm, y_tensor));
        assert_eq!(read::<f32>(&y_buffer), trained);
        for channel in 0..channels {
            let all: Vec<usize> = places
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
                assert!(
                    off <= 16.0 * EPSILON * (old.abs() + of_batch),
                    "{new} is not {exact}"
                );
            };
            near(new_means[channel], old_mean, mean);
            near(new_variances[channel], old_variance, unbiased);
        }
    }
}
