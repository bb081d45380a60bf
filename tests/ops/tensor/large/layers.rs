//! Norms, convolutions, poolings and attention, each with operands that are small but for the distances between their
//! elements.

use metal_bridge::ops::{
    Attention, Causality, Convolution, DataType, Interpolation, KeyLengths, Norm, Pooling,
    RunningStatistics, Windows,
};

use super::views::Call;
use super::views::Content::{Numbers, Result, These};
use super::views::Operand as O;
use DataType::{F16, F32, I32, U32};

const NORM: Norm<'_> = Norm {
    weight: None,
    bias: None,
    epsilon: 1e-5,
};

pub const LAYERS: &[Call] = &[
    call!(
        "layer norm",
        [
            O(F32, &[2, 35], Numbers),
            O(F32, &[35], Numbers),
            O(F32, &[2, 1], Numbers),
            O(F32, &[2, 35], Result),
        ],
        |ops, e, t| {
            let norm = Norm {
                weight: Some(t[1]),
                bias: Some(t[2]),
                ..NORM
            };
            ops.layer_norm(e, t[0], &[1], &norm, t[3])
        }
    ),
    call!(
        "RMS norm",
        [O(F16, &[2, 3, 2], Numbers), O(F16, &[2, 3, 2], Result)],
        |ops, e, t| { ops.rms_norm_along(e, t[0], &[0, 2], &NORM, t[1]) }
    ),
    call!(
        "group norm",
        [
            O(F32, &[2, 4, 3], Numbers),
            O(F32, &[4], Numbers),
            O(F32, &[2, 4, 3], Result)
        ],
        |ops, e, t| ops.group_norm(
            e,
            t[0],
            2,
            &Norm {
                weight: Some(t[1]),
                ..NORM
            },
            t[2]
        )
    ),
    call!(
        "batch norm",
        [
            O(F32, &[2, 3, 4], Numbers),
            O(F32, &[3], Numbers),
            O(F32, &[3], Numbers),
            O(F32, &[3], Numbers),
            O(F32, &[2, 3, 4], Result),
        ],
        |ops, e, t| {
            let norm = Norm {
                bias: Some(t[3]),
                ..NORM
            };
            ops.batch_norm(e, t[0], t[1], t[2], &norm, t[4])
        }
    ),
    call!(
        "batch norm, training",
        [
            O(F32, &[2, 3, 4], Numbers),
            O(F32, &[3], Numbers),
            O(F32, &[3], Numbers),
            O(F32, &[2, 3, 4], Result),
        ],
        |ops, e, t| {
            let running = RunningStatistics {
                mean: t[1],
                variance: t[2],
                momentum: 0.5,
            };
            ops.batch_norm_training(e, t[0], Some(running), &NORM, t[3])
        }
    ),
    call!(
        "convolution",
        [
            O(F32, &[2, 2, 4, 3], Numbers),
            O(F32, &[3, 2, 2, 2], Numbers),
            O(F32, &[3], Numbers),
            O(F32, &[2, 3, 3, 2], Result),
        ],
        |ops, e, t| ops.convolution(
            e,
            t[0],
            t[1],
            Some(t[2]),
            &Convolution::<2>::default(),
            t[3]
        )
    ),
    call!(
        "convolution of sequences",
        [
            O(F16, &[2, 4, 7], Numbers),
            O(F16, &[4, 2, 3], Numbers),
            O(F16, &[2, 4, 4], Result),
        ],
        |ops, e, t| {
            let padded = Convolution {
                stride: [2],
                padding: [[1, 1]],
                groups: 2,
                ..Default::default()
            };
            ops.convolution(e, t[0], t[1], None, &padded, t[2])
        }
    ),
    call!(
        "transposed convolution",
        [
            O(F32, &[1, 3, 3, 3], Numbers),
            O(F32, &[3, 2, 2, 2], Numbers),
            O(F32, &[1, 2, 6, 6], Result),
        ],
        |ops, e, t| {
            let spread = Convolution {
                stride: [2, 2],
                ..Default::default()
            };
            ops.transposed_convolution(e, t[0], t[1], None, &spread, t[2])
        }
    ),
    call!(
        "pool",
        [
            O(F32, &[2, 3, 4, 5], Numbers),
            O(F32, &[2, 3, 2, 2], Result)
        ],
        |ops, e, t| { ops.pool(e, Pooling::Max, t[0], &Windows::of([2, 2]), t[1]) }
    ),
    call!(
        "average pool",
        [O(F16, &[1, 3, 5], Numbers), O(F16, &[1, 3, 6], Result)],
        |ops, e, t| {
            let windows = Windows {
                stride: [1],
                padding: [[1, 1]],
                ..Windows::of([2])
            };
            ops.pool(e, Pooling::Average, t[0], &windows, t[1])
        }
    ),
    call!(
        "adaptive pool",
        [
            O(F32, &[2, 3, 4, 5], Numbers),
            O(F32, &[2, 3, 2, 3], Result)
        ],
        |ops, e, t| ops.adaptive_pool(e, Pooling::AverageInside, t[0], t[1])
    ),
    call!(
        "nearest elements",
        [O(F16, &[2, 2, 3], Numbers), O(F16, &[2, 2, 5], Result)],
        |ops, e, t| ops.resample(e, Interpolation::Nearest, t[0], t[1])
    ),
    call!(
        "interpolation",
        [
            O(F32, &[2, 2, 2, 3], Numbers),
            O(F32, &[2, 2, 3, 4], Result)
        ],
        |ops, e, t| ops.resample(e, Interpolation::Linear, t[0], t[1])
    ),
    call!(
        "attention",
        [
            O(F32, &[2, 2, 3, 4], Numbers),
            O(F32, &[2, 1, 5, 4], Numbers),
            O(F32, &[2, 1, 5, 3], Numbers),
            O(F32, &[3, 5], Numbers),
            O(U32, &[2], These(&[5, 4])),
            O(F32, &[2, 2, 3, 3], Result),
        ],
        |ops, e, t| {
            let attention = Attention {
                mask: Some(t[3]),
                lengths: KeyLengths::Each(t[4]),
                ..Attention::default()
            };
            ops.scaled_dot_product_attention(e, t[0], t[1], t[2], &attention, t[5])
        }
    ),
    call!(
        "attention of sequences",
        [
            O(F16, &[1, 2, 4, 4], Numbers),
            O(F16, &[1, 2, 4, 4], Numbers),
            O(F16, &[1, 2, 4, 4], Numbers),
            O(I32, &[3], These(&[0, 1, 4])),
            O(F16, &[1, 2, 4, 4], Result),
        ],
        |ops, e, t| {
            let attention = Attention {
                causality: Causality::FromLast,
                lengths: KeyLengths::Offsets(t[3]),
                ..Attention::default()
            };
            ops.scaled_dot_product_attention(e, t[0], t[1], t[2], &attention, t[4])
        }
    ),
];
