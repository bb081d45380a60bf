//! Poolings against float64.

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{DataType, Interpolation, Ops, Pooling, Tensor, View, Windows};
use rand::Rng;
use rand::rngs::SmallRng;

use super::layouts::{offsets, random_strides};
use super::rows::both;
use super::values::{Sample, half_unit, least, or_not_finite, read, room};
use crate::support::{EPSILON, buffer, ops, refused, rng, run};

type Shape = [usize; 4];

/// A random image with strides, some elements not finite, its values in row-major order, and the tensor's buffer.
pub struct Image<T> {
    pub shape: Shape,
    strides: Shape,
    offset: usize,
    buffer: metal_bridge::Buffer,
    values: Vec<f64>,
    _type: std::marker::PhantomData<T>,
}

fn random_layout(rng: &mut SmallRng, shape: Shape) -> Shape {
    let [_, c, h, w] = shape;
    match rng.random_range(0..3) {
        0 => [c * h * w, h * w, w, 1],
        1 => [c * h * w, 1, w * c, c],
        _ => random_strides(rng, &shape).try_into().unwrap(),
    }
}

impl<T: Sample> Image<T> {
    pub fn random(rng: &mut SmallRng, shape: Shape) -> Image<T> {
        let strides = random_layout(rng, shape);
        let offsets = offsets(&shape, &strides);
        let offset = rng.random_range(0..3);
        let all: Vec<T> = (0..offset + offsets.iter().max().unwrap() + 1)
            .map(|_| {
                let value = T::nearest(rng.random_range(-1.0..1.0));
                or_not_finite(rng, value)
            })
            .collect();
        Image {
            shape,
            strides,
            offset,
            values: offsets.iter().map(|at| all[offset + at].exact()).collect(),
            buffer: buffer(&all),
            _type: std::marker::PhantomData,
        }
    }

    pub fn tensor(&self) -> Tensor<'_> {
        let view = View::new(&self.buffer, self.offset * size_of::<T>());
        Tensor::strided(view, T::DATA_TYPE, &self.shape, &self.strides).unwrap()
    }

    pub fn at(&self, plane: usize, row: usize, column: usize) -> f64 {
        self.values[(plane * self.shape[2] + row) * self.shape[3] + column]
    }
}

/// Compares what `encode` writes to a `y` of random strides with the model of a result in `plane` at a row and a column: its
/// value, and how far `y` may be off.
pub fn agrees<T: Sample>(
    rng: &mut SmallRng,
    shape: Shape,
    what: &str,
    encode: impl Fn(Tensor<'_>),
    model: impl Fn(usize, usize, usize) -> (f64, f64),
) {
    let strides = random_layout(rng, shape);
    let offsets = offsets(&shape, &strides);
    let y_buffer = room::<T>(offsets.iter().max().unwrap() + 1);
    encode(Tensor::strided(&y_buffer, T::DATA_TYPE, &shape, &strides).unwrap());
    let y = read::<T>(&y_buffer);
    for (i, offset) in offsets.iter().enumerate() {
        let (row, column) = (i / shape[3] % shape[2], i % shape[3]);
        let (exact, lost) = model(i / shape[3] / shape[2], row, column);
        let rounding = match T::DATA_TYPE {
            DataType::F32 => EPSILON * exact.abs(),
            half => (exact.abs() + lost) * half_unit(half) + least(half),
        };
        let found = y[*offset].exact();
        let is_near = exact.is_finite() && (found - exact).abs() <= lost + rounding;
        assert!(
            is_near || found == exact || (found.is_nan() && exact.is_nan()),
            "{what} {}: {found} is not {exact} at {row}, {column}",
            T::DATA_TYPE.name()
        );
    }
}

/// What a pooling makes of the elements of a window, `counted` of which are inside of the padding.
fn pooled(pooling: Pooling, elements: &[f64], counted: usize) -> (f64, f64) {
    let (sum, size) = elements
        .iter()
        .fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
    let lost = (elements.len() as f64 + 1.0) * EPSILON * size;
    match pooling {
        Pooling::Max if elements.iter().any(|x| x.is_nan()) => (f64::NAN, 0.0),
        Pooling::Max => (
            elements.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            0.0,
        ),
        Pooling::Average => (sum / counted as f64, lost / counted as f64),
        Pooling::AverageInside => (sum / elements.len() as f64, lost / elements.len() as f64),
    }
}

const POOLINGS: [Pooling; 3] = [Pooling::Max, Pooling::Average, Pooling::AverageInside];

fn random_pooling<T: Sample>(ops: &Ops, rng: &mut SmallRng, pooling: Pooling) {
    let mut pair = |from: usize, to: usize| [(); 2].map(|()| rng.random_range(from..=to));
    let windows = Windows {
        size: pair(1, 4),
        stride: pair(1, 3),
        dilation: pair(1, 2),
        padding: [pair(0, 3), pair(0, 3)],
    };
    let ([n, c], [h, w], more) = (pair(1, 3), pair(7, 12), pair(0, 3));
    // Once in a while more columns or more channels than a thread takes.
    let shape = match more {
        [0, _] => [n, c, h, w + 290],
        [1, 0] => [1, 131, h, w],
        _ => [n, c, h, w],
    };
    let sizes = [0, 1].map(|axis: usize| {
        let reach = windows.dilation[axis] * (windows.size[axis] - 1) + 1;
        let [before, after] = windows.padding[axis];
        let room = shape[2 + axis] + before + after - reach;
        let whole = room / windows.stride[axis] + 1;
        let begins = whole * windows.stride[axis] < shape[2 + axis] + before;
        let is_cut = more[1] == 3 && room % windows.stride[axis] != 0 && begins;
        whole + usize::from(is_cut)
    });
    let x = Image::<T>::random(rng, shape);
    let what = format!("{pooling:?} {windows:?} {shape:?} {:?}", x.strides);
    let inside = |axis: usize, at: usize, end: usize| -> Vec<usize> {
        let first = at * windows.stride[axis];
        (0..windows.size[axis])
            .map(|k| first + k * windows.dilation[axis])
            .filter(|position| *position < end)
            .collect()
    };
    agrees::<T>(
        rng,
        [shape[0], shape[1], sizes[0], sizes[1]],
        &what,
        |y| run(|encoder| ops.pool(encoder, pooling, x.tensor(), &windows, y)),
        |plane, row, column| {
            let all = [(0, row), (1, column)].map(|(axis, at)| {
                let [before, after] = windows.padding[axis];
                inside(axis, at, shape[2 + axis] + before + after)
            });
            let within = [0, 1].map(|axis: usize| -> Vec<usize> {
                let before = windows.padding[axis][0];
                let own = all[axis]
                    .iter()
                    .filter_map(|position| position.checked_sub(before));
                own.filter(|position| *position < shape[2 + axis]).collect()
            });
            let elements: Vec<f64> = within[0]
                .iter()
                .flat_map(|row| within[1].iter().map(|column| x.at(plane, *row, *column)))
                .collect();
            pooled(pooling, &elements, all[0].len() * all[1].len())
        },
    );
}

#[test]
fn windows_agree_with_float64() {
    let mut rng = rng(400);
    for round in 0..60 {
        random_pooling::<f32>(both()[round % 2], &mut rng, POOLINGS[round / 2 % 3]);
    }
    for round in 0..12 {
        let (ops, pooling) = (both()[round % 2], POOLINGS[round / 2 % 3]);
        random_pooling::<f16>(ops, &mut rng, pooling);
        random_pooling::<bf16>(ops, &mut rng, pooling);
    }
}

fn adaptive_windows<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for round in 0..18 {
        let (ops, pooling) = (both()[round % 2], POOLINGS[round / 2 % 3]);
        let mut pair = |from: usize, to: usize| [(); 2].map(|()| rng.random_range(from..=to));
        let ([n, c], [h, w], sizes) = (pair(1, 5), pair(1, 20), pair(1, 25));
        let x = Image::<T>::random(&mut rng, [n, c, h, w]);
        let window = |size: usize, results: usize, at: usize| {
            at * size / results..((at + 1) * size).div_ceil(results)
        };
        agrees::<T>(
            &mut rng,
            [n, c, sizes[0], sizes[1]],
            &format!("{pooling:?} {:?} {sizes:?}", x.shape),
            |y| run(|encoder| ops.adaptive_pool(encoder, pooling, x.tensor(), y)),
            |plane, row, column| {
                let elements: Vec<f64> = window(h, sizes[0], row)
                    .flat_map(|row| window(w, sizes[1], column).map(move |column| (row, column)))
                    .map(|(row, column)| x.at(plane, row, column))
                    .collect();
                pooled(pooling, &elements, elements.len())
            },
        );
    }
}

#[test]
fn adaptive_windows_agree_with_float64() {
    adaptive_windows::<f32>(410);
    adaptive_windows::<f16>(411);
    adaptive_windows::<bf16>(412);
}

#[test]
fn sequences_pool_and_grow() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32, 5.0, 2.0, 4.0, 3.0, 9.0]), room::<f32>(8));
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let x = of(&x_buffer, &[1, 2, 3]);
    let windows = Windows {
        stride: [1],
        ..Windows::of([2])
    };
    run(|encoder| {
        ops().pool(
            encoder,
            Pooling::Max,
            x,
            &windows,
            of(&y_buffer, &[1, 2, 2]),
        )
    });
    assert_eq!(read::<f32>(&y_buffer)[..4], [5.0, 5.0, 4.0, 9.0]);
    let y = of(&y_buffer, &[1, 2, 2]);
    run(|encoder| ops().adaptive_pool(encoder, Pooling::Average, x, y));
    assert_eq!(read::<f32>(&y_buffer)[..4], [3.0, 3.5, 3.5, 6.0]);
    let (x, y) = (of(&x_buffer, &[1, 1, 2]), of(&y_buffer, &[1, 1, 4]));
    run(|encoder| ops().resample(encoder, Interpolation::Linear, x, y));
    assert_eq!(read::<f32>(&y_buffer)[..4], [1.0, 2.0, 4.0, 5.0]);
}

#[test]
fn a_maximum_with_nan_is_nan() {
    let x = [
        f32::NAN,
        1.0,
        f32::NEG_INFINITY,
        f32::NEG_INFINITY,
        2.0,
        f32::INFINITY,
    ];
    let (x_buffer, y_buffer) = (buffer(&x), room::<f32>(3));
    let (x, y) = (
        Tensor::of::<f32>(&x_buffer, &[1, 1, 6]),
        Tensor::of::<f32>(&y_buffer, &[1, 1, 3]),
    );
    let (x, y) = (x.unwrap(), y.unwrap());
    for ops in both() {
        run(|encoder| ops.pool(encoder, Pooling::Max, x, &Windows::of([2]), y));
        let found = read::<f32>(&y_buffer);
        assert!(
            found[0].is_nan() && found[1..] == [f32::NEG_INFINITY, f32::INFINITY],
            "{found:?}"
        );
    }
}

#[test]
fn bad_poolings_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 64]), buffer(&[0.0f32; 64]));
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let (x, y) = (of(&x_buffer, &[1, 2, 4, 4]), of(&y_buffer, &[1, 2, 2, 2]));
    let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
    let two = Windows::of([2, 2]);
    let pool = |x: Tensor<'_>, windows: Windows<2>, y: Tensor<'_>, text: &str| {
        says(
            refused(|encoder| ops().pool(encoder, Pooling::Max, x, &windows, y)),
            text,
        );
    };
    pool(x, two, of(&y_buffer, &[1, 2, 3, 2]), "y has 3 rows");
    pool(
        x,
        two,
        of(&y_buffer, &[1, 1, 2, 2]),
        "does not have the images and channels",
    );
    pool(
        x,
        Windows {
            size: [0, 2],
            ..two
        },
        y,
        "the window is [0, 2]",
    );
    pool(
        x,
        Windows {
            stride: [2, 0],
            ..two
        },
        y,
        "stride is [2, 0]",
    );
    // A window of 1 takes no second step, but the kernel counts it.
    let far = Windows {
        size: [1, 1],
        stride: [1, 1],
        padding: [[2, 0], [0, 0]],
        dilation: [i32::MAX as usize, 1],
    };
    pool(
        of(&x_buffer, &[1, 1, 2, 1]),
        far,
        of(&y_buffer, &[1, 1, 4, 1]),
        "must add up to at most 2147483647",
    );
    pool(
        of(&x_buffer, &[2, 4, 4]),
        two,
        y,
        "x of shape [2, 4, 4] has 3 dimensions",
    );
    pool(x, two, of(&x_buffer, &[1, 2, 2, 2]), "x and y overlap");
    pool(
        of(&x_buffer, &[1, 2, 4, 9]),
        two,
        of(&y_buffer, &[1, 2, 2, 4]),
        "288 bytes",
    );
    let halves = Tensor::of::<f16>(&y_buffer, &[1, 2, 2, 2]).unwrap();
    pool(x, two, halves, "y has elements of type f16");
    let integers = Tensor::of::<i32>(&x_buffer, &[1, 2, 4, 4]).unwrap();
    let error = refused(|encoder| ops().pool(encoder, Pooling::Max, integers, &two, y));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let none = of(&x_buffer, &[1, 2, 0, 4]);
    let error = refused(|encoder| ops().adaptive_pool(encoder, Pooling::Max, none, y));
    says(error, "has no elements, so y of shape");
    let error = refused(|encoder| ops().resample(encoder, Interpolation::Nearest, none, y));
    says(error, "has no elements, so y of shape");
    let flat = of(&x_buffer, &[8, 8]);
    let error = refused(|encoder| ops().resample(encoder, Interpolation::Nearest, flat, flat));
    says(error, "x of shape [8, 8] has 2 dimensions");
    let no_y = of(&y_buffer, &[1, 2, 0, 4]);
    run(|encoder| ops().resample(encoder, Interpolation::Nearest, x, no_y));
    assert_eq!(read::<f32>(&y_buffer), [0.0; 64]);
}
