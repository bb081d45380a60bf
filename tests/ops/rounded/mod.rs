//! Activations rounded to 8 bits against a model of the rounding, and products with them against float64.

mod extremes;

use crate::support::both;
use crate::support::{
    EPSILON, Guarded, Matrix, assert_close, buffer, buffer_at, matrix, ops, refused, rng, run,
    uniform,
};
use metal_bridge::ops::{Activations, Epilogue, ExpertShape, Ops, View, Weight, WeightType};
use metal_bridge::{Buffer, Error};

const BLOCK: usize = 32;
/// Elements with a sum.
const PART: usize = 16;

/// A rounded row, as the documentation of `Ops::round_activations` says.
#[derive(Debug, Default)]
struct Rounded {
    numbers: Vec<i8>,
    scales: Vec<f32>,
    sums: Vec<f32>,
}

impl Rounded {
    fn of(row: &[f32]) -> Rounded {
        let mut rounded = Rounded::default();
        for block in row.chunks(BLOCK) {
            let is_finite = block.iter().all(|value| value.is_finite());
            let largest = block
                .iter()
                .fold(0.0f32, |largest, value| largest.max(value.abs()));
            let has_numbers = is_finite && largest >= 2f32.powi(-119);
            let scale = match has_numbers {
                true => largest / 127.0,
                false if is_finite => 0.0,
                false => f32::NAN,
            };
            let inverse = 127.0 / largest;
            let number = |value: &f32| match has_numbers {
                true => (value * inverse).round_ties_even() as i8,
                false => 0,
            };
            let numbers: Vec<i8> = block.iter().map(number).collect();
            for part in numbers.chunks(PART) {
                let sum: i32 = part.iter().map(|&number| i32::from(number)).sum();
                rounded.sums.push(scale * sum as f32);
            }
            rounded.scales.push(scale);
            rounded.numbers.extend(numbers);
        }
        rounded
    }

    fn bytes(&self) -> Vec<u8> {
        let numbers: &[u8] = bytemuck::cast_slice(&self.numbers);
        let [scales, sums]: [&[u8]; 2] =
            [&self.scales, &self.sums].map(|values| bytemuck::cast_slice(values));
        [numbers, scales, sums].concat()
    }

    /// What its elements stand for.
    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let scale = |index: usize| f64::from(self.scales[index / BLOCK]);
        let numbers = self.numbers.iter().enumerate();
        numbers.map(move |(index, &number)| f64::from(number) * scale(index))
    }
}

/// The rounded rows of `x` in a buffer.
fn rounded(x: &[f32], k: usize) -> (Vec<Rounded>, Buffer) {
    let rows: Vec<Rounded> = x.chunks(k).map(Rounded::of).collect();
    let bytes: Vec<u8> = rows.iter().flat_map(Rounded::bytes).collect();
    assert_eq!(Activations::Int8.bytes(rows.len(), k), Some(bytes.len()));
    let buffer = buffer(&bytes);
    (rows, buffer)
}

/// Fails if the device rounds a row otherwise than the model.
fn check_rounding(what: &str, x: &[f32], k: usize) {
    let rows = x.len() / k;
    let from = buffer_at(4, x);
    for ops in both() {
        let to = Guarded::new(rows * k / BLOCK * 11);
        let from = View::new(&from, 4);
        run(|encoder| ops.round_activations(encoder, from, to.view(), rows, k));
        let bytes = to.read::<u8>();
        for (row, got) in x.chunks(k).zip(bytes.chunks(k / BLOCK * 44)) {
            let right = Rounded::of(row);
            let (numbers, floats) = got.split_at(k);
            assert_eq!(numbers, &right.bytes()[..k], "{what}: numbers");
            let floats = floats.chunks(4).map(bytemuck::pod_read_unaligned::<f32>);
            for (float, right) in floats.zip(right.scales.iter().chain(&right.sums)) {
                let is_same = float == *right || (float.is_nan() && right.is_nan());
                assert!(is_same, "{what}: {float:e} where {right:e} is right");
            }
        }
    }
}

#[test]
fn rounding_is_that_of_the_model() {
    let mut rng = rng(1);
    for (rows, k) in [(1, 32), (3, 64), (8, 96), (33, 1056), (2, 5632)] {
        for magnitude in [1.0, 3e38, 2e-36, 1e-3] {
            let mut x = uniform(&mut rng, rows * k);
            x.iter_mut().for_each(|value| *value *= magnitude);
            check_rounding(&format!("{rows} rows of {k}, {magnitude:e}"), &x, k);
        }
    }
}

#[test]
fn ties_zeros_and_extremes_are_rounded_exactly() {
    let mut ties: Vec<f32> = (0..BLOCK).map(|i| i as f32 - 15.5).collect();
    ties[0] = 127.0;
    check_rounding("ties", &ties, BLOCK);
    assert_eq!(Rounded::of(&ties).numbers[14..18], [-2, 0, 0, 2]);
    let smallest = 2f32.powi(-119);
    let below = f32::from_bits(smallest.to_bits() - 1);
    for value in [
        0.0,
        -0.0,
        1.0,
        -7.25,
        smallest,
        below,
        f32::from_bits(1),
        f32::MAX,
        f32::MIN,
    ] {
        check_rounding(&format!("all {value:e}"), &[value; BLOCK], BLOCK);
    }
    assert_eq!(Rounded::of(&[below; BLOCK]).numbers, [0; BLOCK]);
    assert_eq!(Rounded::of(&[-smallest; BLOCK]).numbers, [-127; BLOCK]);
    for odd in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN] {
        let mut x = vec![1.0; 3 * BLOCK];
        x[BLOCK + 5] = odd;
        check_rounding(&format!("a block with {odd}"), &x, 3 * BLOCK);
    }
}

/// The formats that rounded activations are multiplied by.
fn formats() -> impl Iterator<Item = WeightType> {
    WeightType::ALL.into_iter().filter(|kind| kind.has_blocks())
}

fn has_offsets(kind: WeightType) -> bool {
    use WeightType::*;
    matches!(kind, Q4_1 | Q5_1 | Q2_K | Q4_K | Q5_K)
}

/// The product of rows of W with rounded rows, and how far off single precision may be: a sum of a lane has a term for each
/// block of 32 and, if there are offsets, one for each 128 elements; eight such sums are added up.
fn reference<'a>(w: &'a Matrix, x: &'a [Rounded]) -> impl Iterator<Item = (f64, f64)> + 'a {
    let (k, kind) = (w.weight.columns(), w.weight.kind());
    let roundings = (k / 32 + k / 128 + 12) as f64;
    x.iter().flat_map(move |x| {
        (0..w.weight.rows()).map(move |n| {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            let x: Vec<f64> = x.values().collect();
            for (w, x) in w.row(n).chunks(PART).zip(x.chunks(PART)) {
                let largest = w.iter().fold(0.0f64, |largest, w| largest.max(w.abs()));
                for (w, x) in w.iter().zip(x) {
                    sum += w * x;
                    // An element is the sum of an offset, of twice the size of the part's largest element at most, and the rest.
                    let terms = if has_offsets(kind) {
                        5.0 * largest
                    } else {
                        w.abs()
                    };
                    magnitude += terms * x.abs();
                }
            }
            (sum, magnitude * roundings * EPSILON)
        })
    })
}

/// Shapes of weights: rows that fill no kernel's tile, one block of columns and many, and a step of a kernel and some more.
fn shapes(kind: WeightType) -> [(usize, usize); 4] {
    match kind.block_elements() {
        32 => [(1, 32), (7, 96), (37, 544), (17, 1056)],
        _ => [(1, 256), (7, 768), (37, 512), (17, 1280)],
    }
}

#[test]
fn products_with_rounded_rows_agree_with_float64() {
    let mut rng = rng(2);
    for kind in formats() {
        for (n, k) in shapes(kind) {
            let w = matrix(&mut rng, kind, n, k, 1.0, 32);
            for m in [1, 3, 8, 33] {
                let (rows, x) = rounded(&uniform(&mut rng, m * k), k);
                for ops in both() {
                    let y = Guarded::new(m * n);
                    let plain = Epilogue::default();
                    run(|encoder| ops.linear_rounded(encoder, &w.weight, &x, y.view(), m, &plain));
                    let what = format!("{kind:?}, m {m}, n {n}, k {k}, {ops:?}");
                    assert_close(&what, &y.read(), reference(&w, &rows));
                }
            }
        }
    }
}

/// The bits of products of the rows `first` to `first + m - 1`.
fn bits(ops: &Ops, weight: &Weight, x: &Buffer, first: usize, m: usize) -> Vec<u32> {
    let y = Guarded::new(m * weight.rows());
    let x = View::new(x, first * weight.columns() / BLOCK * 44);
    let plain = Epilogue::default();
    run(|encoder| ops.linear_rounded(encoder, weight, x, y.view(), m, &plain));
    y.read()
}

#[test]
fn a_rounded_row_has_the_same_bits_among_others() {
    const ROWS: usize = 37;
    let mut rng = rng(3);
    for kind in formats() {
        let (n, k) = shapes(kind)[3];
        let w = matrix(&mut rng, kind, n, k, 1.0, 0);
        let (_, x) = rounded(&uniform(&mut rng, ROWS * k), k);
        for ops in both() {
            let alone: Vec<u32> = (0..ROWS)
                .flat_map(|row| bits(ops, &w.weight, &x, row, 1))
                .collect();
            for m in [2, 3, 4, 5, 8, 9, 31, 32, 33, 37] {
                let together = bits(ops, &w.weight, &x, 0, m);
                assert_eq!(together, alone[..m * n], "{kind:?}, {m} rows, {ops:?}");
            }
        }
    }
}

#[test]
fn biases_scales_and_sums_are_those_of_floats() {
    let mut rng = rng(4);
    let (n, k, scale) = (67, 96, 0.3f32);
    for m in [1, 4, 40] {
        let w = matrix(&mut rng, WeightType::Q5_1, n, k, 1.0, 0);
        let (rows, x) = rounded(&uniform(&mut rng, m * k), k);
        let (start, bias) = (uniform(&mut rng, m * n), uniform(&mut rng, n));
        let bias_buffer = buffer_at(4, &bias);
        let epilogue = Epilogue {
            bias: Some(View::new(&bias_buffer, 4)),
            scale,
            accumulate: true,
        };
        for ops in both() {
            let y = Guarded::holding(&start);
            run(|encoder| ops.linear_rounded(encoder, &w.weight, &x, y.view(), m, &epilogue));
            let exact = reference(&w, &rows).enumerate().map(|(index, product)| {
                let (bias, start) = (f64::from(bias[index % n]), f64::from(start[index]));
                let sum = start + f64::from(scale) * (product.0 + bias);
                (sum, product.1 + 4.0 * EPSILON * (bias.abs() + start.abs()))
            });
            assert_close(&format!("m {m}, {ops:?}"), &y.read(), exact);
        }
    }
}

/// Each row of a product of experts is that with the expert's own matrix, bit for bit.
#[test]
fn products_of_experts_are_those_of_their_matrices() {
    let mut rng = rng(5);
    let shape = ExpertShape {
        experts: 4,
        used: 2,
    };
    let (rows, n) = (5, 13);
    for kind in [WeightType::Q8_0, WeightType::MXFP4, WeightType::Q4_K] {
        let k = 512;
        let w = matrix(&mut rng, kind, shape.experts * n, k, 1.0, 0);
        let numbers: Vec<u32> = vec![3, 1, 0, 2, 1, 0, 2, 3, 3, 0];
        let chosen = buffer(&numbers);
        let (_, x) = rounded(&uniform(&mut rng, rows * shape.used * k), k);
        for ops in both() {
            for is_shared in [true, false] {
                let y = Guarded::new(rows * shape.used * n);
                let plain = Epilogue::default();
                run(|encoder| {
                    let (weight, y) = (&w.weight, y.view());
                    ops.linear_chosen_rounded(
                        encoder, weight, &chosen, &x, is_shared, y, rows, &shape, &plain,
                    )
                });
                let alone = numbers.iter().enumerate().flat_map(|(slot, &expert)| {
                    let first = expert as usize * n;
                    let own = w.weight.rows_of(first..first + n).expect("an expert");
                    let row = if is_shared { slot / shape.used } else { slot };
                    bits(ops, &own, &x, row, 1)
                });
                let alone: Vec<u32> = alone.collect();
                assert_eq!(y.read::<u32>(), alone, "{kind:?}, {is_shared}, {ops:?}");
            }
        }
    }
}

#[test]
fn what_is_not_finite_stays_in_its_rounded_row() {
    let mut rng = rng(6);
    for (kind, m) in [(WeightType::Q4_0, 3), (WeightType::Q4_1, 12)] {
        let (n, k) = (9, 160);
        let w = matrix(&mut rng, kind, n, k, 1.0, 0);
        let mut x = uniform(&mut rng, m * k);
        x[k + 40] = f32::INFINITY;
        let (_, x) = rounded(&x, k);
        for ops in both() {
            let y = Guarded::new(m * n);
            let plain = Epilogue::default();
            run(|encoder| ops.linear_rounded(encoder, &w.weight, &x, y.view(), m, &plain));
            for (index, value) in y.read::<f32>().iter().enumerate() {
                let is_odd = index / n == 1;
                assert_eq!(value.is_nan(), is_odd, "{kind:?}, element {index}");
            }
        }
    }
}

#[test]
fn what_cannot_be_rounded_is_refused() {
    let (x, y) = (buffer(&[0.0f32; 64]), buffer(&[0.0f32; 64]));
    let at = View::new;
    let round = |x: View<'_>, to: View<'_>, rows, k| {
        refused(|encoder| ops().round_activations(encoder, x, to, rows, k))
    };
    let error = round(at(&x, 0), at(&y, 0), 1, 48);
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let text = "rows of 48 elements do not divide into blocks of 32";
    assert!(error.to_string().contains(text), "{error}");
    let error = round(at(&x, 0), at(&y, 0), 3, 32);
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let error = round(at(&x, 0), at(&y, 216), 1, 32);
    assert!(
        matches!(error, Error::OutOfRange(_)) && error.to_string().contains("rounded takes 44"),
        "{error}"
    );
    let error = round(at(&x, 0), at(&y, 2), 1, 32);
    assert!(matches!(error, Error::Misaligned(_)), "{error}");
    let error = round(at(&x, 0), at(&x, 124), 1, 32);
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let error = round(at(&x, 0), at(&y, 0), usize::MAX / 4, 32);
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    run(|encoder| ops().round_activations(encoder, &x, &y, 0, 32));
    assert_eq!(Activations::Int8.bytes(2, 48), None);
    assert_eq!(Activations::Int8.bytes(usize::MAX / 8, 32), None);
    assert_eq!(Activations::F32.bytes(3, 5), Some(60));
}

#[test]
fn products_that_do_not_fit_rounded_rows_are_refused() {
    let mut rng = rng(7);
    let (x, y) = (buffer(&[0.0f32; 22]), buffer(&[0.0f32; 8]));
    let linear = |kind, x: View<'_>, m| {
        let w = matrix(&mut rng.clone(), kind, 4, 32, 1.0, 0);
        let plain = Epilogue::default();
        refused(|encoder| ops().linear_rounded(encoder, &w.weight, x, &y, m, &plain))
    };
    for kind in [WeightType::F32, WeightType::F16, WeightType::BF16] {
        let error = linear(kind, View::new(&x, 0), 1);
        assert!(
            matches!(error, Error::Unsupported(_)) && error.to_string().contains(kind.name()),
            "{error}"
        );
    }
    let error = linear(WeightType::Q8_0, View::new(&x, 0), 3);
    assert!(
        matches!(error, Error::OutOfRange(_)) && error.to_string().contains("x takes 132 bytes"),
        "{error}"
    );
    let error = linear(WeightType::Q8_0, View::new(&x, 2), 1);
    assert!(matches!(error, Error::Misaligned(_)), "{error}");
    let w = matrix(&mut rng, WeightType::Q8_0, 9, 32, 1.0, 0);
    let shape = ExpertShape {
        experts: 2,
        used: 1,
    };
    let plain = Epilogue::default();
    let error = refused(|encoder| {
        let (w, number) = (&w.weight, &y);
        ops().linear_chosen_rounded(encoder, w, number, &x, true, &y, 1, &shape, &plain)
    });
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
}
