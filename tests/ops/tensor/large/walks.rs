//! Walks through more elements than 32 bits count. `make large` runs them: seconds each, and some write gigabytes.

use half::f16;
use metal_bridge::Buffer;
use metal_bridge::ops::{
    ArgReduction, Binary, Convolution, Element, Interpolation, Matmul, Norm, Ops, Pooling, Random,
    Reduction, Right, ScanOrder, Tensor,
};

use super::{holding, marked, over, repeated, sparse, with_large_buffers};
use crate::support::{ops, run};
use crate::tensor::rows::{both, lockstep};

/// More elements than 32 bits count.
const MANY: usize = (1 << 32) + 5;
/// More than 31 bits count.
const HALF: usize = (1 << 31) + 3;

/// Offsets on both sides of where numbers of 31 and 32 bits end.
const MARKS: [(usize, u8); 5] = [
    (0, 1),
    (1 << 31, 2),
    ((1 << 32) - 1, 3),
    (1 << 32, 4),
    (MANY - 1, 5),
];

/// What a reduction over all elements gives.
fn reduced<T: Element>(ops: &Ops, reduction: Reduction, x: Tensor<'_>) -> T {
    let y = holding(&[0i64]);
    let axes: Vec<usize> = (0..x.rank()).collect();
    let result = Tensor::of::<T>(&y, &[]).unwrap();
    run(|e| ops.reduce(e, reduction, x, &axes, result));
    y.wait_read::<T>().expect("readable")[0]
}

fn sum<T: Element>(x: Tensor<'_>) -> T {
    reduced(ops(), Reduction::Sum, x)
}

/// The elements at some offsets.
fn at<T: Element>(buffer: &Buffer, offsets: &[usize]) -> Vec<T> {
    let all = buffer.wait_read::<T>().expect("readable");
    offsets.iter().map(|offset| all[*offset]).collect()
}

/// The first elements.
fn first<T: Element>(buffer: &Buffer, count: usize) -> Vec<T> {
    buffer.wait_read::<T>().expect("readable")[..count].to_vec()
}

#[test]
#[ignore = "reads 50 thousand million elements"]
fn reductions_of_more_than_2_to_the_32_elements() {
    with_large_buffers(
        "walks::reductions_of_more_than_2_to_the_32_elements",
        || {
            let one = holding(&[1i64]);
            let bytes = marked::<u8>(MANY, &MARKS);
            let x = Tensor::of::<u8>(&bytes, &[MANY]).unwrap();
            let floats = marked(HALF, &[(1, 2.0f32), (HALF - 1, 4.0)]);
            let f = Tensor::of::<f32>(&floats, &[HALF]).unwrap();
            for ops in both() {
                let ones = repeated::<i64>(&one, &[1 << 16, (1 << 16) + 1]);
                let all: i64 = reduced(ops, Reduction::Sum, ones);
                assert_eq!(all, (1 << 32) + (1 << 16));
                assert_eq!(reduced::<u8>(ops, Reduction::Sum, x), 15);
                assert_eq!(reduced::<u8>(ops, Reduction::Max, x), 5);
                assert_eq!(reduced::<f32>(ops, Reduction::Sum, f), 6.0);
                let mean: f32 = reduced(ops, Reduction::Mean, f);
                assert_eq!(mean, 6.0 / HALF as f32);
                let variance: f64 = 20.0 / HALF as f64 - (6.0 / HALF as f64).powi(2);
                let found: f32 = reduced(ops, Reduction::Var { correction: 0 }, f);
                assert!((f64::from(found) / variance - 1.0).abs() < 1e-6, "{found}");
                let found: f32 = reduced(ops, Reduction::LogSumExp, f);
                assert!(
                    (f64::from(found) - (HALF as f64).ln()).abs() < 1e-5,
                    "{found}"
                );
                let y = holding(&[0u32]);
                let index = Tensor::of::<u32>(&y, &[]).unwrap();
                let x = x.narrow(0, 6, (1 << 32) - 1).unwrap();
                run(|e| ops.arg_reduce(e, ArgReduction::Max, x, 0, index));
                assert_eq!(first::<u32>(&y, 1), [u32::MAX - 1]);
            }
        },
    );
}

#[test]
#[ignore = "writes 4 GiB ten times"]
fn results_of_more_than_2_to_the_32_elements() {
    with_large_buffers("walks::results_of_more_than_2_to_the_32_elements", || {
        let (x_buffer, y_buffer) = (marked::<u8>(MANY, &MARKS), over(sparse(2 * HALF + 6)));
        let x = Tensor::of::<u8>(&x_buffer, &[MANY]).unwrap();
        let y = Tensor::of::<u8>(&y_buffer, &[MANY]).unwrap();
        let offsets = MARKS.map(|(offset, _)| offset);
        let value = holding(&[3u8, 0, 0, 0]);
        let three = |shape: &[usize]| repeated::<u8>(&value, shape);

        run(|e| ops().binary(e, Binary::Add, x, Right::scalar(1u8), y));
        assert_eq!(at::<u8>(&y_buffer, &offsets), [2, 3, 4, 5, 6]);
        assert_eq!(sum::<u8>(y), (MANY as u8) + 15);
        // A transposed operand, and more rows than 31 bits count.
        let [wide, high] = [[MANY / 3, 3], [3, MANY / 3]];
        let turned = Tensor::of::<u8>(&x_buffer, &high)
            .unwrap()
            .permute(&[1, 0])
            .unwrap();
        let part = Tensor::of::<u8>(&y_buffer, &wide).unwrap();
        run(|e| ops().convert(e, turned, part));
        let far = MANY / 3 * 3 - 1;
        assert_eq!(
            (at::<u8>(&y_buffer, &[0]), sum::<u8>(part)),
            (vec![1], 15 - u8::from(far < MANY - 1) * 5)
        );
        let rows = Tensor::of::<u8>(&y_buffer, &[HALF, 1])
            .unwrap()
            .broadcast_to(&[HALF, 1])
            .unwrap();
        let pairs = Tensor::of::<u8>(&y_buffer, &[1 << 31, 2]).unwrap();
        let pair = Tensor::of::<u8>(&value, &[2]).unwrap();
        run(|e| ops().convert(e, pair, pairs));
        assert_eq!(
            at::<u8>(&y_buffer, &[1 << 31, (1 << 32) - 2, (1 << 32) - 1]),
            [3, 3, 0]
        );
        run(|e| ops().reduce(e, Reduction::Sum, three(&[HALF, 2]), &[1], rows));
        assert_eq!(sum::<u8>(rows), (6 * HALF) as u8);

        run(|e| ops().pad(e, x.narrow(0, 8, MANY - 8).unwrap(), &[[8, 0]], 1u8, y));
        assert_eq!(at::<u8>(&y_buffer, &offsets), [1, 2, 3, 4, 5]);
        assert_eq!(sum::<u8>(y), 8 + 14);
        run(|e| ops().cumsum(e, three(&[MANY]), 0, ScanOrder::default(), y));
        let sums = offsets.map(|offset| (3 * (offset + 1)) as u8);
        assert_eq!(at::<u8>(&y_buffer, &offsets), sums);
        let random = Random {
            offset: MANY as u64 - 20,
            ..Random::default()
        };
        let few = holding(&[0u8; 20]);
        run(|e| {
            ops().random_bits(e, Random::default(), y)?;
            ops().random_bits(e, random, Tensor::of::<u8>(&few, &[20])?)
        });
        assert_eq!(
            at::<u8>(&y_buffer, &Vec::from_iter(MANY - 20..MANY)),
            first::<u8>(&few, 20)
        );

        let last = holding(&[MANY as i64 - 2]);
        let class = Tensor::of::<i64>(&last, &[]).unwrap();
        run(|e| ops().one_hot(e, class, y));
        assert_eq!(
            (at::<u8>(&y_buffer, &[MANY - 2]), sum::<u8>(y)),
            (vec![1], 1)
        );
        let index = marked(MANY, &[(1 << 31, 1i32), (MANY - 1, 1)]);
        let index = Tensor::of::<i32>(&index, &[MANY]).unwrap();
        run(|e| ops().gather(e, Tensor::of::<u8>(&value, &[4])?, 0, index, y));
        assert_eq!(
            at::<u8>(&y_buffer, &[1 << 31, MANY - 1, MANY - 2]),
            [0, 0, 3]
        );
        assert_eq!(sum::<u8>(y), (3 * (MANY - 2)) as u8);
    });
}

#[test]
#[ignore = "writes 4 GiB three times"]
fn rows_of_more_than_2_to_the_31_elements() {
    with_large_buffers("walks::rows_of_more_than_2_to_the_31_elements", || {
        let two = f16::from_f32(2.0);
        let x_buffer = marked(HALF, &[(7, two), (HALF - 1, -two)]);
        let y_buffer = over(sparse(2 * HALF));
        let x = Tensor::of::<f16>(&x_buffer, &[HALF]).unwrap();
        let y = Tensor::of::<f16>(&y_buffer, &[HALF]).unwrap();
        let offsets = [0, 7, 1 << 31, HALF - 1];
        let norm = Norm {
            epsilon: 0.0,
            ..Norm::default()
        };
        run(|e| ops().layer_norm(e, x, &[0], &norm, y));
        let exact = [0.0, 32768.0, 0.0, -32768.0].map(f16::from_f32);
        assert_eq!(at::<f16>(&y_buffer, &offsets), exact);
        run(|e| ops().log_softmax(e, x, 0, y));
        let log = (HALF as f32).ln();
        let exact = [-log, 2.0 - log, -log, -2.0 - log].map(f16::from_f32);
        assert_eq!(at::<f16>(&y_buffer, &offsets), exact);
        // Beyond 2^25 both numbers that a sum is made of would stay what they are.
        let (count, one) = (1 << 26, holding(&[1.0f32]));
        let sums = Tensor::of::<f32>(&y_buffer, &[count]).unwrap();
        run(|e| {
            ops().cumsum(
                e,
                repeated::<f32>(&one, &[count]),
                0,
                ScanOrder::default(),
                sums,
            )
        });
        assert_eq!(
            at::<f32>(&y_buffer, &[count / 2, count - 1]),
            [33_554_432.0, 67_108_864.0]
        );
        // A row of 2^31 - 1, the longest.
        let image = Tensor::of::<f16>(&y_buffer, &[1, 1, (1 << 31) - 1]).unwrap();
        let small = Tensor::of::<f16>(&x_buffer, &[1, 1, 8]).unwrap();
        run(|e| ops().resample(e, Interpolation::Nearest, small, image));
        let exact = [0.0, 2.0, 2.0].map(f16::from_f32);
        let eighth = (1 << 31) / 8 * 7;
        assert_eq!(
            at::<f16>(&y_buffer, &[eighth - 1, eighth, (1 << 31) - 2]),
            exact
        );
    });
}

#[test]
#[ignore = "writes 8 GiB"]
fn images_of_more_than_2_to_the_32_elements() {
    with_large_buffers("walks::images_of_more_than_2_to_the_32_elements", || {
        let shape = [1, 1, (1 << 16) + 1, 1 << 16];
        let count: usize = shape.iter().product();
        let marks = [0, 1 << 31, (1 << 32) - 1, 1 << 32, count - 1];
        let two = f16::from_f32(2.0);
        let x_buffer = marked(count, &marks.map(|offset| (offset, two)));
        let y_buffer = over(sparse(2 * count));
        let x = Tensor::of::<f16>(&x_buffer, &shape).unwrap();
        let y = Tensor::of::<f16>(&y_buffer, &shape).unwrap();
        let one = Tensor::of::<f16>(&y_buffer, &[1; 4]).unwrap();
        let last = x.narrow(2, 1, 1 << 16).unwrap();
        run(|e| ops().adaptive_pool(e, Pooling::Max, last, one));
        assert_eq!(at::<f16>(&y_buffer, &[0]), [two]);
        let three = holding(&[f16::from_f32(3.0); 2]);
        let weight = Tensor::of::<f16>(&three, &[1; 4]).unwrap();
        let bias = Tensor::of::<f16>(&three, &[1]).unwrap();
        run(|e| ops().convolution(e, x, weight, Some(bias), &Convolution::<2>::default(), y));
        assert_eq!(at::<f16>(&y_buffer, &marks), [f16::from_f32(9.0); 5]);
        let total: f64 = {
            let all = y_buffer.wait_read::<f16>().expect("readable");
            let rows = all.chunks(1 << 16);
            rows.map(|row| row.iter().map(|y| f64::from(y.to_f32())).sum::<f64>())
                .sum()
        };
        assert_eq!(total, 3.0 * count as f64 + 5.0 * 6.0);
    });
}

#[test]
#[ignore = "reads 20 thousand million elements"]
fn sums_of_more_than_2_to_the_31_terms() {
    with_large_buffers("walks::sums_of_more_than_2_to_the_31_terms", || {
        // The element that is written depends on an index in one of more than 2^32 rows.
        let index_buffer = marked(MANY, &[(1 << 31, 1i32), (MANY - 1, 2)]);
        let index = Tensor::of::<i32>(&index_buffer, &[MANY]).unwrap();
        let (y, one) = (holding(&[0i64; 6]), holding(&[1i64]));
        let sums = Tensor::of::<i64>(&y, &[3]).unwrap();
        run(|e| ops().scatter_add(e, repeated::<i64>(&one, &[MANY]), 0, index, sums));
        assert_eq!(first::<i64>(&y, 6), [MANY as i64 - 2, 1, 1, 0, 0, 0]);
        let y = holding(&[0i64; 6]);
        let index = Tensor::of::<i32>(&index_buffer, &[MANY, 1]).unwrap();
        let pairs = Tensor::of::<i64>(&y, &[3, 2]).unwrap();
        run(|e| lockstep().scatter(e, repeated::<i64>(&one, &[MANY, 2]), 0, index, pairs));
        assert_eq!(first::<i64>(&y, 6), [1; 6]);
        let (k, three, y) = ((1 << 31) - 1, holding(&[3i8]), holding(&[0i32]));
        let [a, b] = [[1, k], [k, 1]].map(|shape| repeated::<i8>(&three, &shape));
        let product = Tensor::of::<i32>(&y, &[1, 1]).unwrap();
        run(|e| ops().matmul(e, Matmul::default(), a, b, product));
        assert_eq!(first::<i32>(&y, 1), [9i32.wrapping_mul(i32::MAX)]);
    });
}
