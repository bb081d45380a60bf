//! Convolutions and transposed convolutions against float64.

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{Convolution, Tensor};
use rand::Rng;
use rand::rngs::SmallRng;

use super::convolution_model::Case;
use super::layouts::random_strides;
use super::rows::{both, lockstep};
use super::values::{read, room};
use crate::chosen::{By, everyone, mps};
use crate::support::{buffer, ops, refused, rng, run};

pub fn dense([_, c, h, w]: [usize; 4], is_last: bool) -> [usize; 4] {
    match is_last {
        true => [c * h * w, 1, w * c, c],
        false => [c * h * w, h * w, w, 1],
    }
}

pub fn random_case(rng: &mut SmallRng, is_transposed: bool, form: usize) -> Case {
    let mut pair = |from: usize, to: usize| [(); 2].map(|()| rng.random_range(from..=to));
    let (window, stride, dilation, added) = (pair(1, 4), pair(1, 3), pair(1, 2), pair(0, 2));
    let (padding, size) = ([pair(0, 2), pair(0, 2)], pair(4, 9));
    let [groups, per_x] = pair(1, 3);
    let [per_y, images] = pair(1, 3);
    let added = [0, 1].map(|axis: usize| added[axis].min(stride[axis].max(dilation[axis]) - 1));
    let case = Case {
        is_transposed,
        has_bias: rng.random_bool(0.7),
        x: [images, groups * per_x, size[0], size[1] + per_x],
        channels: groups * per_y * if images == 1 { 13 } else { 1 },
        window,
        options: Convolution {
            stride,
            padding,
            dilation,
            groups,
        },
        added,
    };
    case.in_form(form)
}

#[test]
fn every_window_and_layout_agrees() {
    let mut rng = rng(300);
    for round in 0..175 {
        let case = random_case(&mut rng, round % 3 == 0, round % 7);
        let strides = [case.x, case.weight(), case.y()].map(|shape| {
            let strides = random_strides(&mut rng, &shape);
            match round % 4 {
                0 => dense(shape, false),
                1 => dense(shape, true),
                _ => strides.try_into().unwrap(),
            }
        });
        let by = everyone()[round / 4 % 3];
        match round / 12 % 5 {
            0 => case.check::<f16>(by, &mut rng, strides),
            1 => case.check::<bf16>(by, &mut rng, strides),
            _ => case.check::<f32>(by, &mut rng, strides),
        }
    }
}

/// More positions, channels and terms than a tile has.
#[test]
fn many_tiles_agree() {
    let mut rng = rng(310);
    let plain = Case {
        is_transposed: false,
        has_bias: true,
        x: [2, 37, 11, 30],
        channels: 131,
        window: [1, 1],
        options: Convolution::default(),
        added: [0, 0],
    };
    let wide = Case {
        window: [3, 3],
        x: [1, 16, 13, 150],
        options: Convolution {
            padding: [[1, 1], [2, 1]],
            groups: 2,
            ..Convolution::default()
        },
        channels: 66,
        ..plain
    };
    let depthwise = Case {
        x: [1, 70, 9, 17],
        channels: 70,
        window: [3, 3],
        options: Convolution {
            stride: [2, 2],
            padding: [[1, 1], [1, 1]],
            groups: 70,
            ..Convolution::default()
        },
        ..plain
    };
    for (case, is_last) in [plain, wide, depthwise]
        .into_iter()
        .zip([true, false, true])
    {
        for ops in everyone() {
            let strides = [case.x, case.weight(), case.y()].map(|shape| dense(shape, is_last));
            case.check::<f32>(ops, &mut rng, strides);
        }
    }
    let strides = [wide.x, wide.weight(), wide.y()].map(|shape| dense(shape, false));
    wide.check::<f16>(ops(), &mut rng, strides);
    let plain = Case {
        has_bias: false,
        ..wide
    };
    plain.check::<f16>(By::Mps(mps()), &mut rng, strides);
    wide.check::<f16>(By::Mps(mps()), &mut rng, strides);
    wide.check::<bf16>(lockstep(), &mut rng, strides);
}

#[test]
fn sequences_are_images_with_one_row() {
    let values: Vec<f32> = (1u8..=12).map(f32::from).collect();
    let (x_buffer, weight, y_buffer) = (
        buffer(&values),
        buffer(&[1.0f32, -1.0, 0.5]),
        room::<f32>(12),
    );
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let options = Convolution {
        stride: [2],
        padding: [[1, 0]],
        dilation: [2],
        groups: 1,
    };
    let (x, w) = (of(&x_buffer, &[2, 1, 6]), of(&weight, &[1, 1, 3]));
    let y = of(&y_buffer, &[2, 1, 2]);
    run(|encoder| ops().convolution(encoder, x, w, None, &options, y));
    // Elements -1, 1, 3, then 1, 3, 5 of each sequence.
    let exact = [
        -2.0 + 0.5 * 4.0,
        2.0 - 4.0 + 0.5 * 6.0,
        -8.0 + 5.0,
        8.0 - 10.0 + 6.0,
    ];
    assert_eq!(read::<f32>(&y_buffer)[..4], exact);
    let y = of(&y_buffer, &[1, 1, 7]);
    let x = of(&x_buffer, &[1, 1, 2]);
    run(|encoder| ops().transposed_convolution(encoder, x, w, None, &options, y));
    // 1 at the positions -1, 1, 3 and 2 at 1, 3, 5.
    assert_eq!(
        read::<f32>(&y_buffer)[..7],
        [0.0, 1.0, 0.0, -1.5, 0.0, 1.0, 0.0]
    );
}

#[test]
fn what_is_not_finite_spreads_where_it_is_seen() {
    let mut x = [0.0f32; 25];
    x[12] = f32::NAN;
    x[24] = f32::INFINITY;
    let (x_buffer, weight, y_buffer) = (buffer(&x), buffer(&[1.0f32; 5 * 9]), room::<f32>(125));
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let options = Convolution {
        padding: [[1, 1]; 2],
        ..Convolution::default()
    };
    let (x, w, y) = (
        of(&x_buffer, &[1, 1, 5, 5]),
        of(&weight, &[5, 1, 3, 3]),
        of(&y_buffer, &[1, 5, 5, 5]),
    );
    let zeros_buffer = buffer(&[0.0f32; 5]);
    let zeros = of(&zeros_buffer, &[5]);
    // Turned around, a window of ones is the same.
    let turned = of(&weight, &[1, 5, 3, 3]);
    for (ops, is_transposed) in both()
        .into_iter()
        .flat_map(|ops| [(ops, false), (ops, true)])
    {
        let zeros = Some(zeros);
        run(|encoder| match is_transposed {
            true => ops.transposed_convolution(encoder, x, turned, zeros, &options, y),
            false => ops.convolution(encoder, x, w, zeros, &options, y),
        });
        for y in read::<f32>(&y_buffer).chunks(25) {
            for (i, y) in y.iter().enumerate() {
                let (row, column) = (i / 5, i % 5);
                let sees_nan = (1..4).contains(&row) && (1..4).contains(&column);
                assert_eq!(y.is_nan(), sees_nan, "{i}");
                assert!(
                    sees_nan
                        || *y
                            == if row > 2 && column > 2 {
                                f32::INFINITY
                            } else {
                                0.0
                            }
                );
            }
        }
    }
}

#[test]
fn bad_convolutions_are_refused_by_name() {
    let (x_buffer, y_buffer, other) = (
        buffer(&[1.0f32; 64]),
        buffer(&[0.0f32; 64]),
        buffer(&[0.5f32; 64]),
    );
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let (x, w, y) = (
        of(&x_buffer, &[1, 2, 4, 4]),
        of(&other, &[2, 2, 3, 3]),
        of(&y_buffer, &[1, 2, 2, 2]),
    );
    let plain = Convolution::default();
    let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
    let convolution =
        |x: Tensor<'_>, w: Tensor<'_>, bias, options: Convolution<2>, y: Tensor<'_>, text: &str| {
            says(
                refused(|encoder| ops().convolution(encoder, x, w, bias, &options, y)),
                text,
            );
        };
    convolution(
        x,
        w,
        None,
        plain,
        of(&y_buffer, &[1, 2, 3, 2]),
        "y has 3 rows",
    );
    convolution(
        x,
        w,
        None,
        plain,
        of(&y_buffer, &[1, 2, 2, 1]),
        "y has 1 columns",
    );
    convolution(
        x,
        w,
        None,
        plain,
        of(&y_buffer, &[2, 2, 2, 2]),
        "do not fit together",
    );
    convolution(
        x,
        of(&other, &[2, 1, 3, 3]),
        None,
        plain,
        y,
        "do not fit together",
    );
    convolution(
        x,
        w,
        None,
        plain,
        of(&y_buffer, &[1, 2, 4]),
        "y of shape [1, 2, 4] has 3 dimensions",
    );
    convolution(
        x,
        w,
        Some(of(&other, &[3])),
        plain,
        y,
        "bias has the shape [3]",
    );
    convolution(
        x,
        w,
        None,
        Convolution { groups: 0, ..plain },
        y,
        "0 groups",
    );
    convolution(
        x,
        w,
        None,
        Convolution {
            stride: [1, 0],
            ..plain
        },
        y,
        "stride is [1, 0]",
    );
    convolution(
        x,
        w,
        None,
        Convolution {
            dilation: [0, 1],
            ..plain
        },
        y,
        "dilation is [0, 1]",
    );
    convolution(
        x,
        w,
        None,
        Convolution {
            padding: [[usize::MAX, 0]; 2],
            ..plain
        },
        y,
        "padding is",
    );
    let wide = Convolution {
        padding: [[1 << 30, 1 << 30]; 2],
        ..plain
    };
    convolution(x, w, None, wide, y, "y has 2 rows");
    convolution(
        x,
        of(&other, &[2, 2, 3, 0]),
        None,
        plain,
        y,
        "the window is [3, 0]",
    );
    convolution(
        x,
        w,
        None,
        plain,
        of(&x_buffer, &[1, 2, 2, 2]),
        "x and y overlap",
    );
    let halves = Tensor::of::<f16>(&other, &[2, 2, 3, 3]).unwrap();
    convolution(x, halves, None, plain, y, "weight has elements of type f16");
    convolution(
        of(&x_buffer, &[1, 2, 4, 9]),
        w,
        None,
        plain,
        of(&y_buffer, &[1, 2, 2, 7]),
        "288 bytes",
    );
    let integers = Tensor::of::<i32>(&x_buffer, &[1, 2, 4, 4]).unwrap();
    let error = refused(|encoder| ops().convolution(encoder, integers, w, None, &plain, y));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let error = refused(|encoder| ops().transposed_convolution(encoder, x, w, None, &plain, y));
    says(error, "padding 0 give 6");
    let repeated = of(&y_buffer, &[1, 1, 2, 2])
        .broadcast_to(&[1, 2, 2, 2])
        .unwrap();
    convolution(
        x,
        w,
        None,
        plain,
        repeated,
        "several positions may share an element",
    );
    let (no_x, no_y) = (of(&x_buffer, &[0, 2, 4, 4]), of(&y_buffer, &[0, 2, 2, 2]));
    run(|encoder| ops().convolution(encoder, no_x, w, None, &plain, no_y));
    assert_eq!(read::<f32>(&y_buffer), [0.0; 64]);
    // A sum of nothing is 0.
    let (none, weights) = (of(&x_buffer, &[1, 0, 4, 4]), of(&other, &[2, 0, 3, 3]));
    let bias = Some(of(&other, &[2]));
    run(|encoder| ops().convolution(encoder, none, weights, bias, &plain, y));
    assert_eq!(
        read::<f32>(&y_buffer)[..9],
        [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0]
    );
}

#[test]
fn a_larger_transposed_result_ends_in_zeros() {
    let (x, weight, y) = (
        buffer(&[1.0f32, 2.0, 3.0, 4.0]),
        buffer(&[1.0f32]),
        buffer(&[7.0f32; 6]),
    );
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let options = Convolution {
        dilation: [3],
        ..Convolution::<1>::default()
    };
    let (x, w, out) = (
        of(&x, &[1, 1, 4]),
        of(&weight, &[1, 1, 1]),
        of(&y, &[1, 1, 6]),
    );
    run(|encoder| ops().transposed_convolution(encoder, x, w, None, &options, out));
    assert_eq!(read::<f32>(&y), [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]);
}
