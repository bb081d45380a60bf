//! A convolution in float64, and the comparison of a kernel's with it.

use metal_bridge::ops::{Convolution, DataType, Tensor, View};
use rand::Rng;
use rand::rngs::SmallRng;

use super::layouts::offsets;
use super::values::{Sample, half_unit, least, read, room};
use crate::chosen::By;
use crate::support::{EPSILON, buffer, run};

/// A convolution of images with its sizes.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub is_transposed: bool,
    pub has_bias: bool,
    /// Images, channels, rows, columns.
    pub x: [usize; 4],
    pub channels: usize,
    pub window: [usize; 2],
    pub options: Convolution<2>,
    /// What y has beyond its least size.
    pub added: [usize; 2],
}

impl Case {
    pub fn y(&self) -> [usize; 4] {
        let Convolution {
            stride,
            padding,
            dilation,
            ..
        } = self.options;
        let size = [0, 1].map(|axis| {
            let reach = dilation[axis] * (self.window[axis] - 1) + 1;
            let (size, padding) = (self.x[2 + axis], padding[axis][0] + padding[axis][1]);
            match self.is_transposed {
                true => {
                    (stride[axis] * (size - 1) + reach + self.added[axis]).saturating_sub(padding)
                }
                false => (size + padding)
                    .checked_sub(reach)
                    .map_or(0, |room| room / stride[axis] + 1),
            }
        });
        [self.x[0], self.channels, size[0], size[1]]
    }

    pub fn weight(&self) -> [usize; 4] {
        let groups = self.options.groups;
        let [first, second] = match self.is_transposed {
            true => [self.x[1], self.channels / groups],
            false => [self.channels, self.x[1] / groups],
        };
        [first, second, self.window[0], self.window[1]]
    }

    /// The same case, or one of those that have a way of their own through the code.
    pub fn in_form(self, form: usize) -> Case {
        match form {
            2 => self.of_points(),
            6 => self.of_one_row(),
            _ => self,
        }
    }

    /// The same case with windows of one element, which need not know of rows.
    fn of_points(mut self) -> Case {
        (self.window, self.added, self.options.stride) = ([1; 2], [0; 2], [1; 2]);
        self.options.padding = [[0; 2]; 2];
        self
    }

    /// The same case along one axis.
    fn of_one_row(mut self) -> Case {
        (self.x[2], self.window[0], self.added[0]) = (1, 1, 0);
        (self.options.stride[0], self.options.dilation[0]) = (1, 1);
        self.options.padding[0] = [0, 0];
        self
    }

    /// Whether the images have one row, and the windows no more: then they are sequences.
    fn is_sequence(&self) -> bool {
        let of = &self.options;
        let (sizes, steps) = ([self.x[2], self.window[0]], [of.stride[0], of.dilation[0]]);
        sizes == [1; 2] && steps == [1; 2] && of.padding[0] == [0; 2] && self.added[0] == 0
    }

    /// Each result with the sum of the sizes of its terms, and their number.
    fn exact(&self, x: &[f64], weight: &[f64], bias: &[f64]) -> Vec<(f64, f64, f64)> {
        let ([n, c, h, w], [_, o, rows, columns]) = (self.x, self.y());
        let Convolution {
            stride,
            padding,
            dilation,
            groups,
        } = self.options;
        let mut sums = vec![(0.0, 0.0, 0.0); n * o * rows * columns];
        for (i, sum) in sums.iter_mut().enumerate() {
            let bias = if self.has_bias {
                bias[i / (rows * columns) % o]
            } else {
                0.0
            };
            *sum = (bias, bias.abs(), 1.0);
        }
        // The positions that a side with strides, `q`, and the window's element `k` bring together.
        let other = |axis: usize, q: usize, k: usize, size: usize| {
            let position = q * stride[axis] + k * dilation[axis];
            position
                .checked_sub(padding[axis][0])
                .filter(|position| *position < size)
        };
        let (size, strided) = match self.is_transposed {
            true => ([rows, columns], [h, w]),
            false => ([h, w], [rows, columns]),
        };
        let (c_group, o_group) = (c / groups, o / groups);
        for image in 0..n {
            for (to, from) in (0..o).flat_map(|to| (0..c_group).map(move |from| (to, from))) {
                let channel = to / o_group * c_group + from;
                let row = match self.is_transposed {
                    true => channel * o_group + to % o_group,
                    false => to * c_group + from,
                };
                for q in 0..strided[0] * strided[1] {
                    for k in 0..self.window[0] * self.window[1] {
                        let (q0, q1) = (q / strided[1], q % strided[1]);
                        let (k0, k1) = (k / self.window[1], k % self.window[1]);
                        let (Some(p0), Some(p1)) =
                            (other(0, q0, k0, size[0]), other(1, q1, k1, size[1]))
                        else {
                            continue;
                        };
                        let ((x0, x1), (y0, y1)) = match self.is_transposed {
                            true => ((q0, q1), (p0, p1)),
                            false => ((p0, p1), (q0, q1)),
                        };
                        let term = x[((image * c + channel) * h + x0) * w + x1]
                            * weight[row * self.window[0] * self.window[1] + k];
                        let sum = &mut sums[((image * o + to) * rows + y0) * columns + y1];
                        *sum = (sum.0 + term, sum.1 + term.abs(), sum.2 + 1.0);
                    }
                }
            }
        }
        sums
    }

    /// Runs it on tensors with these strides, and compares.
    pub fn check<T: Sample>(
        &self,
        by: impl Into<By>,
        rng: &mut SmallRng,
        strides: [[usize; 4]; 3],
    ) {
        let shapes = [self.x, self.weight(), self.y()];
        let [x_offsets, weight_offsets, y_offsets] =
            [0, 1, 2].map(|i| offsets(&shapes[i], &strides[i]));
        let offset = rng.random_range(0..3);
        // Elements of the others begin elsewhere.
        let (behind, bias_step) = (2 - offset, rng.random_range(1..=2));
        let mut numbers = |count: usize| -> Vec<T> {
            (0..count)
                .map(|_| T::nearest(rng.random_range(-1.0..1.0)))
                .collect()
        };
        let size = |offsets: &[usize]| offsets.iter().max().map_or(0, |most| most + 1);
        let x = numbers(offset + size(&x_offsets));
        let weight = numbers(behind + size(&weight_offsets));
        let bias = numbers(behind + bias_step * self.channels);
        let (x_buffer, weights, biases) = (buffer(&x), buffer(&weight), buffer(&bias));
        let y_buffer = room::<T>(behind + size(&y_offsets) + 1);
        let is_sequence = self.is_sequence();
        let kept: &[usize] = if is_sequence {
            &[0, 1, 3]
        } else {
            &[0, 1, 2, 3]
        };
        let of = |view, i: usize| {
            let [shape, strides] =
                [shapes[i], strides[i]].map(|of| Vec::from_iter(kept.iter().map(|axis| of[*axis])));
            Tensor::strided(view, T::DATA_TYPE, &shape, &strides).unwrap()
        };
        let x_in = of(View::new(&x_buffer, offset * size_of::<T>()), 0);
        let later = |buffer| View::new(buffer, behind * size_of::<T>());
        let tensors = [x_in, of(later(&weights), 1), of(later(&y_buffer), 2)];
        let bias_in = Tensor::of::<T>(later(&biases), &[bias_step * self.channels]);
        let bias_in = bias_in.unwrap().step(0, bias_step).unwrap();
        let bias_in = self.has_bias.then_some(bias_in);
        let (by, options) = (by.into(), &self.options);
        match is_sequence {
            true => {
                let options = Convolution {
                    stride: [options.stride[1]],
                    padding: [options.padding[1]],
                    dilation: [options.dilation[1]],
                    groups: options.groups,
                };
                convolve(by, self.is_transposed, tensors, bias_in, &options);
            }
            false => convolve(by, self.is_transposed, tensors, bias_in, options),
        }
        let y = read::<T>(&y_buffer);
        let at = |values: &[T], offset: usize, offsets: &[usize]| -> Vec<f64> {
            offsets
                .iter()
                .map(|index| values[offset + index].exact())
                .collect()
        };
        let (x, weight, bias) = (
            at(&x, offset, &x_offsets),
            at(&weight, behind, &weight_offsets),
            bias[behind..]
                .iter()
                .step_by(bias_step)
                .map(|bias| bias.exact())
                .collect::<Vec<_>>(),
        );
        let y_offsets = Vec::from_iter(y_offsets.into_iter().map(|index| behind + index));
        for (i, (exact, terms, count)) in self.exact(&x, &weight, &bias).into_iter().enumerate() {
            let lost = 1.01 * count * EPSILON * terms + EPSILON * exact.abs();
            let rounding = match T::DATA_TYPE {
                DataType::F32 => 0.0,
                half => (exact.abs() + lost) * half_unit(half) + least(half),
            };
            let (found, off) = (
                y[y_offsets[i]].exact(),
                (y[y_offsets[i]].exact() - exact).abs(),
            );
            assert!(
                off <= lost + rounding,
                "{self:?} {}: element {i} is {found}, not {exact}: off by {off:e}",
                T::DATA_TYPE.name()
            );
        }
        let untouched = T::default_room();
        let mut is_result = vec![false; y.len()];
        y_offsets.iter().for_each(|index| is_result[*index] = true);
        assert!((0..y.len()).all(|index| is_result[index] || y[index] == untouched));
    }
}

fn convolve<const D: usize>(
    by: By,
    is_transposed: bool,
    [x, w, y]: [Tensor<'_>; 3],
    bias: Option<Tensor<'_>>,
    options: &Convolution<D>,
) {
    match (by, is_transposed) {
        (By::Kernels(ops), true) => {
            run(|encoder| ops.transposed_convolution(encoder, x, w, bias, options, y))
        }
        (By::Kernels(ops), false) => {
            run(|encoder| ops.convolution(encoder, x, w, bias, options, y))
        }
        (By::Mps(ops), true) => {
            let done = ops.transposed_convolution(x, w, bias, options, y);
            done.expect("convolves");
        }
        (By::Mps(ops), false) => {
            let done = ops.convolution(x, w, bias, options, y);
            done.expect("convolves");
        }
    }
}

/// What [`room`] is full of.
trait Room: Sample {
    fn default_room() -> Self;
}

impl<T: Sample> Room for T {
    fn default_room() -> T {
        bytemuck::pod_read_unaligned(&[0xA5; 8][..size_of::<T>()])
    }
}
