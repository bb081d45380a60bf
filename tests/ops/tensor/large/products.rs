//! Products of matrices, each with operands that are small but for the distances between their elements.

use metal_bridge::ops::{DataType, Matmul};

use super::views::Call;
use super::views::Content::{Numbers, Result};
use super::views::Operand as O;
use DataType::{F16, F32, I8, I32, U8};

macro_rules! product {
    ($name:literal, [$($operand:expr),* $(,)?], |$t:ident| $options:expr) => {
        Call {
            name: $name,
            operands: &[$($operand),*],
            encode: |ops, encoder, $t| ops.matmul(encoder, $options, $t[0], $t[1], $t[2]),
        }
    };
}

pub const PRODUCTS: &[Call] = &[
    product!(
        "gemm",
        [
            O(F32, &[6, 5], Numbers),
            O(F32, &[5, 7], Numbers),
            O(F32, &[6, 7], Result),
            O(F32, &[6, 7], Numbers),
            O(F32, &[7], Numbers),
        ],
        |t| Matmul {
            c: Some(t[3]),
            bias: Some(t[4]),
            ..Matmul::default()
        }
    ),
    product!(
        "gemm in batches",
        [
            O(F16, &[3, 5, 3], Numbers),
            O(F16, &[1, 3, 5], Numbers),
            O(F16, &[3, 5, 5], Result)
        ],
        |_t| Matmul::default()
    ),
    product!(
        "gemm of bytes",
        [
            O(I8, &[6, 5], Numbers),
            O(I8, &[5, 7], Numbers),
            O(I32, &[6, 7], Result),
            O(I32, &[6, 7], Numbers),
            O(I32, &[7], Numbers),
        ],
        |t| Matmul {
            c: Some(t[3]),
            bias: Some(t[4]),
            ..Matmul::default()
        }
    ),
    product!(
        "gemm of bytes with scales",
        [
            O(U8, &[6, 4], Numbers),
            O(I8, &[4, 5], Numbers),
            O(F32, &[6, 5], Result),
            O(F32, &[6, 2], Numbers),
            O(F32, &[5, 2], Numbers),
        ],
        |t| Matmul {
            scale_a: Some(t[3]),
            scale_b: Some(t[4]),
            ..Matmul::default()
        }
    ),
    product!(
        "gemv",
        [
            O(F32, &[2, 20], Numbers),
            O(F32, &[20, 9], Numbers),
            O(F32, &[2, 9], Result),
            O(F32, &[9], Numbers)
        ],
        |t| Matmul {
            bias: Some(t[3]),
            ..Matmul::default()
        }
    ),
    product!(
        "gemv by few columns",
        [
            O(F16, &[9, 20], Numbers),
            O(F16, &[20, 3], Numbers),
            O(F16, &[9, 3], Result)
        ],
        |_t| Matmul::default()
    ),
    product!(
        "gemv of bytes with scales",
        [
            O(I8, &[2, 4], Numbers),
            O(I8, &[4, 5], Numbers),
            O(F32, &[2, 5], Result),
            O(F32, &[2], Numbers),
            O(F32, &[5], Numbers),
        ],
        |t| Matmul {
            scale_a: Some(t[3]),
            scale_b: Some(t[4]),
            ..Matmul::default()
        }
    ),
];
