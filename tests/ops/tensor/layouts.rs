//! Strides, broadcasting, offsets, overlaps and everything that is refused.

use std::collections::HashSet;

use metal_bridge::Error;
use metal_bridge::ops::{Binary, DataType, MAX_RANK, Right, Tensor, Unary, View};
use rand::Rng;
use rand::rngs::SmallRng;

use super::rows::both;
use super::values::{read, room};
use crate::support::{buffer, ops, refused, rng, run};

/// The offset of each position of a tensor, in row-major order.
pub fn offsets(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0];
    for (size, stride) in shape.iter().zip(strides) {
        offsets = offsets
            .iter()
            .flat_map(|index| (0..*size).map(move |i| index + i * stride))
            .collect();
    }
    offsets
}

pub fn random_shape(rng: &mut SmallRng) -> Vec<usize> {
    let rank = rng.random_range(0..=5);
    (0..rank)
        .map(|_| match rng.random_range(0..6) {
            0 => 1,
            1 => rng.random_range(30..70),
            _ => rng.random_range(1..6),
        })
        .collect()
}

/// Strides of a dense tensor whose dimensions lie in a random order, with gaps now and then.
pub fn random_strides(rng: &mut SmallRng, shape: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if rng.random_bool(0.6) {
        for i in (1..order.len()).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
    }
    let mut strides = vec![0; shape.len()];
    let mut stride = if rng.random_bool(0.3) {
        rng.random_range(1..4)
    } else {
        1
    };
    for &axis in order.iter().rev() {
        strides[axis] = stride;
        stride = stride * shape[axis]
            + if rng.random_bool(0.3) {
                rng.random_range(0..5)
            } else {
                0
            };
    }
    strides
}

/// The operand's own shape and strides: some dimensions repeat, and leading ones may be missing.
fn random_operand(rng: &mut SmallRng, shape: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let missing = if rng.random_bool(0.3) {
        rng.random_range(0..=shape.len())
    } else {
        0
    };
    let own: Vec<usize> = shape[missing..]
        .iter()
        .map(|&size| if rng.random_bool(0.25) { 1 } else { size })
        .collect();
    let strides = random_strides(rng, &own);
    (own, strides)
}

/// The strides with which an operand of this shape repeats in the whole one.
fn repeated(own: &[usize], strides: &[usize], shape: &[usize]) -> Vec<usize> {
    let missing = shape.len() - own.len();
    let kept = own.iter().zip(strides).zip(&shape[missing..]);
    let kept = kept.map(|((own, stride), whole)| if own == whole { *stride } else { 0 });
    vec![0; missing].into_iter().chain(kept).collect()
}

fn strided<'a>(view: View<'a>, (shape, strides): &(Vec<usize>, Vec<usize>)) -> Tensor<'a> {
    Tensor::strided(view, DataType::I32, shape, strides).unwrap()
}

#[test]
fn every_layout_gives_the_sums_of_a_model() {
    let mut rng = rng(70);
    for _ in 0..150 {
        let shape = random_shape(&mut rng);
        let operands = [(); 2].map(|()| random_operand(&mut rng, &shape));
        let y_strides = random_strides(&mut rng, &shape);
        let whole = operands
            .each_ref()
            .map(|(own, strides)| offsets(&shape, &repeated(own, strides, &shape)));
        let y_offsets = offsets(&shape, &y_strides);
        let size = |offsets: &[usize]| offsets.iter().max().unwrap() + 1;
        let [a, b] = whole.each_ref().map(|offsets| {
            (0..size(offsets))
                .map(|_| rng.random_range(-1000..1000))
                .collect::<Vec<i32>>()
        });
        let offset = rng.random_range(0..3);
        let padded: Vec<i32> = vec![7; offset]
            .into_iter()
            .chain(a.iter().copied())
            .collect();
        let (a_buffer, b_buffer) = (buffer(&padded), buffer(&b));
        let a_tensor = strided(View::new(&a_buffer, offset * 4), &operands[0]);
        let b_tensor = strided(View::new(&b_buffer, 0), &operands[1]);
        let mut expected = vec![i32::from_le_bytes([0xA5; 4]); size(&y_offsets)];
        for (position, &at) in y_offsets.iter().enumerate() {
            expected[at] = a[whole[0][position]] + b[whole[1][position]];
        }
        for ops in both() {
            let y_buffer = room::<i32>(size(&y_offsets));
            let y_form = (shape.clone(), y_strides.clone());
            let y_tensor = strided(View::new(&y_buffer, 0), &y_form);
            run(|encoder| ops.binary(encoder, Binary::Add, a_tensor, b_tensor, y_tensor));
            assert_eq!(
                read::<i32>(&y_buffer),
                expected,
                "{shape:?} {operands:?} {y_strides:?}"
            );
        }
    }
}

#[test]
fn views_permute_narrow_and_broadcast() {
    let values: Vec<i32> = (0..24).collect();
    let x_buffer = buffer(&values);
    let x = Tensor::of::<i32>(&x_buffer, &[2, 3, 4]).unwrap();
    let seen = |tensor: Tensor<'_>| {
        let y_buffer = room::<i32>(tensor.count());
        let y = Tensor::of::<i32>(&y_buffer, tensor.shape()).unwrap();
        run(|encoder| ops().binary(encoder, Binary::Mul, tensor, Right::scalar(1), y));
        read::<i32>(&y_buffer)
    };
    let last = x.permute(&[2, 0, 1]).unwrap().narrow(0, 1, 2).unwrap();
    assert_eq!(last.shape(), [2, 2, 3]);
    assert_eq!(seen(last), [1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22]);
    let row = x.narrow(1, 2, 1).unwrap().narrow(2, 1, 2).unwrap();
    assert_eq!(
        seen(row.broadcast_to(&[2, 2, 2]).unwrap()),
        [9, 10, 9, 10, 21, 22, 21, 22]
    );
    assert!(
        x.permute(&[0, 1]).is_err()
            && x.permute(&[0, 1, 1]).is_err()
            && x.permute(&[0, 1, 3]).is_err()
    );
    assert!(
        x.narrow(1, 2, 2).is_err()
            && x.narrow(3, 0, 1).is_err()
            && x.narrow(0, usize::MAX, 2).is_err()
    );
    assert!(x.broadcast_to(&[3, 4]).is_err() && x.broadcast_to(&[2, 3, 5]).is_err());
}

#[test]
fn results_may_lie_where_operands_do() {
    let values: Vec<f32> = (0..4099u16).map(f32::from).collect();
    let x_buffer = buffer(&values);
    let x = Tensor::of::<f32>(&x_buffer, &[4099]).unwrap();
    run(|encoder| {
        ops().unary(encoder, Unary::Neg, x, x)?;
        ops().binary(encoder, Binary::Add, x, Right::scalar(1.0f32), x)?;
        ops().binary(encoder, Binary::Mul, x, x, x)
    });
    let exact: Vec<f32> = values.iter().map(|x| (1.0 - x) * (1.0 - x)).collect();
    assert_eq!(read::<f32>(&x_buffer), exact);
    // The strides along one position say nothing.
    let strided = |shape: &[usize], strides: &[usize]| {
        Tensor::strided(&x_buffer, DataType::F32, shape, strides).unwrap()
    };
    run(|encoder| {
        ops().unary(
            encoder,
            Unary::Neg,
            strided(&[64], &[1]),
            strided(&[1, 64], &[7, 1]),
        )?;
        ops().unary(
            encoder,
            Unary::Neg,
            strided(&[64, 1], &[1, 0]),
            strided(&[64, 1], &[1, 9]),
        )
    });
    assert_eq!(read::<f32>(&x_buffer), exact);
    // A matrix is not its transpose, though it has the same bytes.
    let square = Tensor::of::<f32>(&x_buffer, &[64, 64]).unwrap();
    let error = refused(|encoder| {
        ops().unary(
            encoder,
            Unary::Neg,
            square.permute(&[1, 0]).unwrap(),
            square,
        )
    });
    assert!(error.to_string().contains("x and y overlap"), "{error}");
    let (low, high) = (x.narrow(0, 0, 10).unwrap(), x.narrow(0, 9, 10).unwrap());
    let error = refused(|encoder| ops().unary(encoder, Unary::Neg, low, high));
    assert!(error.to_string().contains("x and y overlap"), "{error}");
    // Bytes of another type are other elements.
    let bytes = Tensor::of::<u8>(&x_buffer, &[4099]).unwrap();
    let error = refused(|encoder| {
        ops().compare(
            encoder,
            metal_bridge::ops::Comparison::Less,
            x,
            Right::scalar(0.0f32),
            bytes,
        )
    });
    assert!(error.to_string().contains("a and y overlap"), "{error}");
}

#[test]
fn tensors_without_elements_compute_nothing() {
    let x_buffer = buffer(&[1.0f32; 4]);
    let y_buffer = buffer(&[2.0f32; 4]);
    let x = Tensor::of::<f32>(&x_buffer, &[2, 0, 7]).unwrap();
    let y = Tensor::of::<f32>(&y_buffer, &[2, 0, 7]).unwrap();
    run(|encoder| ops().binary(encoder, Binary::Add, x, y, y));
    assert_eq!(read::<f32>(&y_buffer), [2.0; 4]);
    let away = Tensor::of::<f32>(View::new(&x_buffer, 20), &[0]).unwrap();
    let error = refused(|encoder| {
        ops().unary(
            encoder,
            Unary::Neg,
            away,
            Tensor::of::<f32>(&y_buffer, &[0])?,
        )
    });
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
}

#[test]
fn bad_tensors_are_refused_by_name() {
    let x_buffer = buffer(&[1.0f32; 64]);
    let y_buffer = buffer(&[0.0f32; 64]);
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let error =
        refused(|encoder| ops().binary(encoder, Binary::Add, x(&[2, 3]), x(&[4]), y(&[2, 3])));
    assert!(
        error
            .to_string()
            .contains("b of shape [4] does not broadcast to [2, 3]"),
        "{error}"
    );
    let error = refused(|encoder| ops().unary(encoder, Unary::Neg, x(&[65]), y(&[64])));
    assert!(
        error
            .to_string()
            .contains("x of shape [65] does not broadcast"),
        "{error}"
    );
    let error = refused(|encoder| ops().unary(encoder, Unary::Neg, x(&[65]), y(&[65])));
    assert!(
        matches!(error, Error::OutOfRange(_)) && error.to_string().contains("260 bytes"),
        "{error}"
    );
    let odd = Tensor::of::<f32>(View::new(&x_buffer, 2), &[3]).unwrap();
    let error = refused(|encoder| ops().unary(encoder, Unary::Neg, odd, y(&[3])));
    assert!(matches!(error, Error::Misaligned(_)), "{error}");
    let shared = Tensor::strided(&y_buffer, DataType::F32, &[4, 4], &[2, 1]).unwrap();
    let error = refused(|encoder| ops().unary(encoder, Unary::Neg, x(&[4, 4]), shared));
    assert!(
        error
            .to_string()
            .contains("several positions may share an element"),
        "{error}"
    );
    let integers = Tensor::of::<i32>(&y_buffer, &[64]).unwrap();
    let error = refused(|encoder| ops().unary(encoder, Unary::Neg, x(&[64]), integers));
    assert!(
        error
            .to_string()
            .contains("x has elements of type f32, but this operation needs i32"),
        "{error}"
    );
    let error = refused(|encoder| {
        ops().binary(
            encoder,
            Binary::Add,
            x(&[64]),
            Right::scalar(1i32),
            y(&[64]),
        )
    });
    assert!(
        error.to_string().contains("b is a number of type i32"),
        "{error}"
    );
    let error =
        refused(|encoder| ops().unary(encoder, Unary::LeakyRelu(f32::NAN), x(&[64]), y(&[64])));
    assert!(error.to_string().contains("must be finite"), "{error}");
    let far = Tensor::strided(&x_buffer, DataType::F32, &[3], &[usize::MAX / 2]).unwrap();
    let error = refused(|encoder| ops().unary(encoder, Unary::Neg, far, y(&[3])));
    assert!(
        error
            .to_string()
            .contains("reaches beyond the address space"),
        "{error}"
    );
    assert!(Tensor::new(&x_buffer, DataType::F32, &[1; MAX_RANK + 1]).is_err());
    assert!(Tensor::new(&x_buffer, DataType::F32, &[usize::MAX, 2]).is_err());
    assert!(Tensor::strided(&x_buffer, DataType::F32, &[2], &[1, 1]).is_err());
    assert_eq!(read::<f32>(&y_buffer), [0.0; 64]);
}

/// More elements than 32 bits count, by a stride of 0.
#[test]
fn repeated_elements_count_beyond_32_bits() {
    let x_buffer = buffer(&[3u8]);
    let x = Tensor::of::<u8>(&x_buffer, &[1])
        .unwrap()
        .broadcast_to(&[1 << 33])
        .unwrap();
    assert_eq!(x.count(), 1 << 33);
    let y_buffer = buffer(&[0u8; 16]);
    let y = Tensor::of::<u8>(&y_buffer, &[16]).unwrap();
    let narrow = x.narrow(0, (1 << 33) - 16, 16).unwrap();
    run(|encoder| ops().binary(encoder, Binary::Add, narrow, Right::scalar(4u8), y));
    assert_eq!(read::<u8>(&y_buffer), [7; 16]);
}

/// The gate of a model lies beside what it multiplies, and the result may replace it.
#[test]
fn columns_of_one_matrix_are_apart() {
    const ROWS: usize = 5;
    const COLUMNS: usize = 40;
    let values: Vec<i32> = (0..(ROWS * COLUMNS) as i32).collect();
    for ops in both() {
        let memory = buffer(&values);
        let whole = Tensor::of::<i32>(&memory, &[ROWS, COLUMNS]).unwrap();
        let columns = |start| whole.narrow(1, start, 13).unwrap();
        let [gate, up, y] = [0, 13, 27].map(columns);
        run(|encoder| {
            ops.binary(encoder, Binary::Add, gate, up, y)?;
            ops.binary(encoder, Binary::Mul, gate, up, gate)?;
            ops.unary(encoder, Unary::Neg, gate, up)
        });
        let expected: Vec<i32> = (0..values.len())
            .map(|i| match i % COLUMNS {
                0..13 => values[i] * values[i + 13],
                13..26 => -values[i - 13] * values[i],
                26 => values[i],
                _ => values[i - 27] + values[i - 14],
            })
            .collect();
        assert_eq!(read::<i32>(&memory), expected);
        for (x, y) in [(0, 12), (12, 0), (1, 0)] {
            refused(|encoder| ops.unary(encoder, Unary::Neg, columns(x), columns(y)));
        }
    }
}

/// A kernel reads and writes one buffer if no element is in both, as far as runs at one distance show it.
#[test]
fn operands_that_share_an_element_are_refused() {
    let mut rng = rng(71);
    let memory = buffer(&vec![1i32; 4096]);
    let mut interleaved = 0;
    for _ in 0..2000 {
        let sizes = [(); 3].map(|()| rng.random_range(1..5));
        let shape = sizes[..rng.random_range(1..4)].to_vec();
        let pitch = rng.random_range(1..40);
        let [x, y] = [(); 2].map(|()| {
            let mut strides = random_strides(&mut rng, &shape);
            strides[0] = strides[0].max(pitch);
            (rng.random_range(0..60), (shape.clone(), strides))
        });
        let [read, written] = [&x, &y].map(|(at, (shape, strides))| {
            let all = offsets(shape, strides);
            all.iter().map(|offset| offset + at).collect::<Vec<_>>()
        });
        let own: HashSet<_> = written.iter().collect();
        let shares = read.iter().any(|offset| own.contains(offset));
        let tensors = [&x, &y].map(|(at, form)| strided(View::new(&memory, at * 4), form));
        let mut result = Ok(());
        run(|encoder| {
            result = ops().unary(encoder, Unary::Neg, tensors[0], tensors[1]);
            Ok(())
        });
        assert!(result.is_err() || !shares || read == written, "{x:?} {y:?}");
        let meet = read[0] <= *written.last().unwrap() && written[0] <= *read.last().unwrap();
        interleaved += usize::from(result.is_ok() && meet && read != written);
    }
    assert!(interleaved > 100, "{interleaved}");
}
