//! Attention of tensors against float64.

use half::{bf16, f16};
use metal_bridge::ops::{Attention, Causality, DataType, Element, KeyLengths, Tensor};
use metal_bridge::{Buffer, Error};
use rand::Rng;

use super::attention_model::{Case, Lengths, Scores};
use super::rows::both;
use super::values::{read, room};
use crate::support::{buffer, ops, refused, rng, run};

fn plain() -> Case {
    Case {
        batch: 2,
        heads: [4, 2],
        rows: 37,
        keys: 70,
        size: [64, 64],
        causality: Causality::None,
        mask: None,
        lengths: Lengths::Whole,
        scores: Scores::Small,
    }
}

#[test]
fn heads_of_all_sizes_and_types_agree() {
    let mut rng = rng(500);
    for (i, size) in [64, 80, 128, 256, 7].into_iter().enumerate() {
        let case = Case {
            size: [size, if i == 1 { 96 } else { size }],
            heads: [[4, 2], [3, 3], [2, 1], [1, 1], [6, 2]][i],
            rows: [37, 5, 1, 33, 2][i],
            batch: 1 + i % 2,
            ..plain()
        };
        for ops in both() {
            case.check::<f32>(ops, &mut rng, i != 1);
        }
        case.check::<f16>(both()[i % 2], &mut rng, i != 1);
        case.check::<bf16>(both()[(i + 1) % 2], &mut rng, i != 1);
    }
}

/// Everything that hides keys; the masks hide all keys of some rows.
#[test]
fn masks_orders_and_lengths_agree() {
    let mut rng = rng(510);
    let each = Lengths::Each(vec![9, -1, 3]);
    let (random, offsets) = ([DataType::U8, DataType::F32], vec![2, 2, 9, 40, 70]);
    let small = Case {
        batch: 3,
        heads: [2, 1],
        rows: 6,
        keys: 11,
        size: [8, 8],
        ..plain()
    };
    let sequences = Case {
        batch: 1,
        heads: [2, 2],
        rows: 66,
        keys: 66,
        size: [16, 16],
        lengths: Lengths::Offsets(offsets),
        ..plain()
    };
    let cases = [
        Case {
            mask: Some(random[0]),
            ..small.clone()
        },
        Case {
            mask: Some(random[1]),
            causality: Causality::FromFirst,
            ..small.clone()
        },
        Case {
            causality: Causality::FromLast,
            ..small.clone()
        },
        Case {
            causality: Causality::FromLast,
            rows: 15,
            ..small.clone()
        },
        Case {
            lengths: each.clone(),
            causality: Causality::FromLast,
            ..small.clone()
        },
        Case {
            lengths: each,
            mask: Some(random[0]),
            ..small
        },
        sequences.clone(),
        Case {
            causality: Causality::FromFirst,
            ..sequences
        },
    ];
    for case in &cases {
        for ops in both() {
            for is_dense in [true, false] {
                case.check::<f32>(ops, &mut rng, is_dense);
            }
        }
    }
    let halves = Case {
        mask: Some(DataType::F16),
        ..plain()
    };
    halves.check::<f16>(ops(), &mut rng, true);
}

/// Many steps of keys, each of which corrects what came before: few rows and many, seen in order, and by masks that are
/// added and that hide.
#[test]
fn long_rows_of_all_scores_agree() {
    let mut rng = rng(540);
    let long = Case {
        batch: 1,
        heads: [2, 1],
        size: [16, 8],
        keys: 650,
        ..plain()
    };
    for scores in [
        Scores::Small,
        Scores::Steep,
        Scores::Rising,
        Scores::Falling,
        Scores::Level,
    ] {
        for (rows, causality, mask) in [
            (1, Causality::None, None),
            (40, Causality::None, Some(DataType::U8)),
            (5, Causality::FromLast, Some(DataType::F32)),
        ] {
            let case = Case {
                scores,
                rows,
                causality,
                mask,
                ..long.clone()
            };
            for ops in both() {
                case.check::<f32>(ops, &mut rng, rows != 5);
                case.check::<f16>(ops, &mut rng, true);
                case.check::<bf16>(ops, &mut rng, true);
            }
        }
        let square = Case {
            scores,
            causality: Causality::FromFirst,
            rows: 300,
            keys: 300,
            ..long.clone()
        };
        for ops in both() {
            square.check::<f32>(ops, &mut rng, true);
        }
    }
}

/// What lengths hide may be anything; what rows see may make them NaN.
#[test]
fn rows_of_what_is_not_finite() {
    let (infinity, nan) = (f32::INFINITY, f32::NAN);
    let q = buffer(&[1.0f32, 0.0, 1.0, 1.0, 2.0, 0.0]);
    let k = buffer(&[1.0f32, 0.0, 0.0, infinity, nan, nan]);
    let v = buffer(&[5.0f32, 6.0, 7.0, 8.0, nan, infinity]);
    let (y_buffer, lengths) = (room::<f32>(6), buffer(&[1u32]));
    let of = |buffer| Tensor::of::<f32>(buffer, &[1, 1, 3, 2]).unwrap();
    for ops in both() {
        for (length, expected) in [(1u32, [5.0, 6.0]), (0, [0.0, 0.0])] {
            lengths.wait_write::<u32>().expect("writable")[0] = length;
            let attention = Attention {
                lengths: KeyLengths::Each(Tensor::of::<u32>(&lengths, &[1]).unwrap()),
                ..Attention::default()
            };
            let y = of(&y_buffer);
            run(|encoder| {
                ops.scaled_dot_product_attention(encoder, of(&q), of(&k), of(&v), &attention, y)
            });
            assert_eq!(read::<f32>(&y_buffer), [expected; 3].as_flattened());
        }
        let all = Attention::default();
        let y = of(&y_buffer);
        run(|encoder| ops.scaled_dot_product_attention(encoder, of(&q), of(&k), of(&v), &all, y));
        assert!(read::<f32>(&y_buffer).iter().all(|y| y.is_nan()));
    }
}

/// What is not finite in one sequence stays there, whatever rows its neighbours share tiles with.
#[test]
fn sequences_do_not_reach_each_other() {
    const ROWS: usize = 70;
    // Sequences of several lengths; the one from 7 to 40 crosses a tile. Rows 0, 1 and 64 to 69 are outside of all.
    let offsets = [2u32, 7, 40, 41, 64];
    let foul = 7..40;
    let mut rng = rng(530);
    let mut values = |spoil: Option<f32>| -> Vec<f32> {
        let mut values: Vec<f32> = (0..2 * ROWS).map(|_| rng.random_range(-1.0..1.0)).collect();
        if let Some(value) = spoil {
            values[2 * foul.start..2 * foul.end].fill(value);
        }
        values
    };
    let (q, lengths, y_buffer) = (
        buffer(&values(None)),
        buffer(&offsets),
        room::<f32>(2 * ROWS),
    );
    fn of(buffer: &Buffer) -> Tensor<'_> {
        Tensor::of::<f32>(buffer, &[1, 1, ROWS, 2]).unwrap()
    }
    for (k, v) in [
        (None, Some(f32::INFINITY)),
        (None, Some(f32::NAN)),
        (Some(f32::NAN), None),
    ] {
        let (k, v) = (buffer(&values(k)), buffer(&values(v)));
        for ops in both() {
            for causality in [Causality::None, Causality::FromFirst] {
                let attention = Attention {
                    causality,
                    lengths: KeyLengths::Offsets(Tensor::of::<u32>(&lengths, &[5]).unwrap()),
                    ..Attention::default()
                };
                let y = of(&y_buffer);
                run(|encoder| {
                    ops.scaled_dot_product_attention(encoder, of(&q), of(&k), of(&v), &attention, y)
                });
                let y = read::<f32>(&y_buffer);
                for (row, y) in y.chunks(2).enumerate() {
                    let is_finite = y.iter().all(|y| y.is_finite());
                    assert_eq!(is_finite, !foul.contains(&row), "row {row}: {y:?}");
                    assert!((2..64).contains(&row) || y == [0.0; 2], "row {row}: {y:?}");
                }
            }
        }
    }
}

#[test]
fn bad_attention_is_refused_by_name() {
    let (x, y_buffer) = (buffer(&[1.0f32; 4096]), buffer(&[0.0f32; 512]));
    let of = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape).unwrap();
    let (q, k, y) = (
        of(&x, &[1, 4, 3, 8]),
        of(&x, &[1, 2, 5, 8]),
        of(&y_buffer, &[1, 4, 3, 8]),
    );
    let plain = Attention::default();
    let says = |error: Error, text: &str| assert!(error.to_string().contains(text), "{error}");
    let attention = |[q, k, v, y]: [Tensor<'_>; 4], options: Attention<'_>, text: &str| {
        let error =
            refused(|encoder| ops().scaled_dot_product_attention(encoder, q, k, v, &options, y));
        says(error, text);
    };
    let fit = "do not fit together";
    attention([q, of(&x, &[1, 3, 5, 8]), k, y], plain, fit);
    attention(
        [q, of(&x, &[1, 3, 5, 8]), of(&x, &[1, 3, 5, 8]), y],
        plain,
        fit,
    );
    attention([q, k, of(&x, &[1, 2, 6, 8]), y], plain, fit);
    attention([q, k, k, of(&y_buffer, &[1, 4, 3, 7])], plain, fit);
    attention(
        [of(&x, &[4, 3, 8]), k, k, y],
        plain,
        "each must have 4 dimensions",
    );
    let wide = of(&x, &[1, 1, 1, 257]);
    attention(
        [wide, wide, wide, of(&y_buffer, &[1, 1, 1, 257])],
        plain,
        "from 1 to 256",
    );
    let scaled = Attention {
        scale: Some(f32::NAN),
        ..plain
    };
    attention([q, k, k, y], scaled, "the scale is NaN");
    let masked = |mask| Attention {
        mask: Some(mask),
        ..plain
    };
    attention(
        [q, k, k, y],
        masked(of(&x, &[4, 5])),
        "mask of shape [4, 5] does not broadcast",
    );
    let halves = Tensor::of::<f16>(&x, &[3, 5]).unwrap();
    attention(
        [q, k, k, y],
        masked(halves),
        "mask has elements of type f16",
    );
    let lengths = |lengths| Attention { lengths, ..plain };
    let two = Tensor::of::<u32>(&x, &[2]).unwrap();
    attention(
        [q, k, k, y],
        lengths(KeyLengths::Each(two)),
        "lengths has the shape [2]",
    );
    attention(
        [q, k, k, y],
        lengths(KeyLengths::Offsets(two)),
        "lengths are offsets",
    );
    let one = of(&x, &[1]);
    attention(
        [q, k, k, y],
        lengths(KeyLengths::Each(one)),
        "lengths has elements of type f32",
    );
    attention([q, k, k, of(&x, &[1, 4, 3, 8])], plain, "q and y overlap");
    attention(
        [
            q,
            k,
            of(&x, &[1, 2, 5, 8]).permute(&[0, 1, 2, 3]).unwrap(),
            halves,
        ],
        plain,
        "y has",
    );
    let integers = Tensor::new(&x, <i32 as Element>::DATA_TYPE, &[1, 4, 3, 8]).unwrap();
    let error =
        refused(|encoder| ops().scaled_dot_product_attention(encoder, integers, k, k, &plain, y));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let nothing = of(&x, &[1, 4, 0, 8]);
    let no_y = of(&y_buffer, &[1, 4, 0, 8]);
    run(|encoder| ops().scaled_dot_product_attention(encoder, nothing, k, k, &plain, no_y));
    assert_eq!(read::<f32>(&y_buffer), [0.0; 512]);
    // Without keys all rows are 0.
    let none = of(&x, &[1, 2, 0, 8]);
    run(|encoder| ops().scaled_dot_product_attention(encoder, q, none, none, &plain, y));
    assert_eq!(read::<f32>(&y_buffer), [0.0; 512]);
}
