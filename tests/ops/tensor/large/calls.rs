//! Operations element by element, along axes and by indices, each with operands that are small but for the distances between
//! their elements.

use metal_bridge::ops::{
    ArgReduction, Binary, Comparison, DataType, Random, Reduction, Right, ScanOrder, SortOrder,
    Unary,
};

use super::views::Call;
use super::views::Content::{Numbers, Result, Scratch, These};
use super::views::Operand as O;
use DataType::{BF16, F16, F32, I32, I64, U8, U32};

const LAST: SortOrder = SortOrder {
    axis: 1,
    descending: false,
};

pub const CALLS: &[Call] = &[
    call!(
        "neg i64",
        [O(I64, &[3, 2], Numbers), O(I64, &[3, 2], Result)],
        |ops, e, t| { ops.unary(e, Unary::Neg, t[0], t[1]) }
    ),
    call!(
        "square u8",
        [O(U8, &[2, 3, 2], Numbers), O(U8, &[2, 3, 2], Result)],
        |ops, e, t| { ops.unary(e, Unary::Square, t[0], t[1]) }
    ),
    call!(
        "exp f16",
        [O(F16, &[3], Numbers), O(F16, &[2, 3], Result)],
        |ops, e, t| { ops.unary(e, Unary::Exp, t[0], t[1]) }
    ),
    call!(
        "add f32",
        [
            O(F32, &[3, 2], Numbers),
            O(F32, &[3, 1], Numbers),
            O(F32, &[3, 2], Result)
        ],
        |ops, e, t| ops.binary(e, Binary::Add, t[0], t[1], t[2])
    ),
    call!(
        "add a number",
        [O(BF16, &[3, 2], Numbers), O(BF16, &[3, 2], Result)],
        |ops, e, t| { ops.binary(e, Binary::Add, t[0], Right::scalar(half::bf16::ONE), t[1]) }
    ),
    call!(
        "less",
        [
            O(I32, &[3, 2], Numbers),
            O(I32, &[2], Numbers),
            O(U8, &[3, 2], Result)
        ],
        |ops, e, t| ops.compare(e, Comparison::Less, t[0], t[1], t[2])
    ),
    call!(
        "select",
        [
            O(U8, &[3, 2], These(&[1, 0, 0])),
            O(F32, &[3, 2], Numbers),
            O(F32, &[1, 2], Numbers),
            O(F32, &[3, 2], Result),
        ],
        |ops, e, t| ops.select(e, t[0], t[1], t[2], t[3])
    ),
    call!(
        "convert",
        [O(F32, &[3, 2], Numbers), O(I64, &[3, 2], Result)],
        |ops, e, t| { ops.convert(e, t[0], t[1]) }
    ),
    call!(
        "copy",
        [O(F16, &[3, 2], Numbers), O(F16, &[3, 2], Result)],
        |ops, e, t| { ops.convert(e, t[0], t[1]) }
    ),
    call!("fill", [O(U32, &[3, 2], Result)], |ops, e, t| ops
        .fill(e, 5u32, t[0])),
    call!(
        "sum of rows",
        [O(F32, &[3, 4], Numbers), O(F32, &[3], Result)],
        |ops, e, t| { ops.reduce(e, Reduction::Sum, t[0], &[1], t[1]) }
    ),
    call!(
        "sum of columns",
        [O(U8, &[4, 3], Numbers), O(U8, &[1, 3], Result)],
        |ops, e, t| { ops.reduce(e, Reduction::Sum, t[0], &[0], t[1]) }
    ),
    call!(
        "variance",
        [O(F32, &[2, 3, 2], Numbers), O(F32, &[3], Result)],
        |ops, e, t| { ops.reduce(e, Reduction::Var { correction: 1 }, t[0], &[0, 2], t[1]) }
    ),
    call!(
        "log sum exp",
        [O(F16, &[2, 40], Numbers), O(F16, &[2], Result)],
        |ops, e, t| { ops.reduce(e, Reduction::LogSumExp, t[0], &[1], t[1]) }
    ),
    call!(
        "argmax",
        [O(F32, &[3, 40], Numbers), O(U32, &[3], Result)],
        |ops, e, t| { ops.arg_reduce(e, ArgReduction::Max, t[0], 1, t[1]) }
    ),
    call!(
        "argmin of columns",
        [O(I64, &[4, 3], Numbers), O(U32, &[1, 3], Result)],
        |ops, e, t| { ops.arg_reduce(e, ArgReduction::Min, t[0], 0, t[1]) }
    ),
    call!(
        "cumsum",
        [O(F32, &[2, 35], Numbers), O(F32, &[2, 35], Result)],
        |ops, e, t| { ops.cumsum(e, t[0], 1, ScanOrder::default(), t[1]) }
    ),
    call!(
        "cumprod",
        [O(U32, &[5, 2], Numbers), O(U32, &[5, 2], Result)],
        |ops, e, t| {
            let order = ScanOrder {
                exclusive: true,
                reverse: true,
            };
            ops.cumprod(e, t[0], 0, order, t[1])
        }
    ),
    call!(
        "softmax",
        [O(F32, &[2, 35], Numbers), O(F32, &[2, 35], Result)],
        |ops, e, t| { ops.softmax(e, t[0], 1, t[1]) }
    ),
    call!(
        "log softmax",
        [O(BF16, &[5, 2], Numbers), O(BF16, &[5, 2], Result)],
        |ops, e, t| { ops.log_softmax(e, t[0], 0, t[1]) }
    ),
    call!(
        "sort",
        [
            O(U8, &[2, 37], Numbers),
            O(U8, &[2, 37], Result),
            O(U32, &[2, 37], Result),
            O(U32, &[2 * 2 * 37], Scratch),
        ],
        |ops, e, t| ops.sort(e, LAST, t[0], t[1], t[2], t[3].view())
    ),
    call!(
        "argsort of columns",
        [
            O(F16, &[20, 2], Numbers),
            O(U32, &[20, 2], Result),
            O(U32, &[2 * 20], Scratch)
        ],
        |ops, e, t| ops.argsort(
            e,
            SortOrder {
                axis: 0,
                descending: true
            },
            t[0],
            t[1],
            t[2].view()
        )
    ),
    call!(
        "top k",
        [
            O(F32, &[2, 20], Numbers),
            O(F32, &[2, 3], Result),
            O(U32, &[2, 3], Result),
            O(U32, &[2 * 20], Scratch),
        ],
        |ops, e, t| ops.top_k(e, LAST, t[0], t[1], t[2], t[3].view())
    ),
    call!(
        "concat",
        [
            O(I32, &[3, 1], Numbers),
            O(I32, &[3, 2], Numbers),
            O(I32, &[3, 3], Result)
        ],
        |ops, e, t| ops.concat(e, &[t[0], t[1]], 1, t[2])
    ),
    call!(
        "pad",
        [O(U8, &[2, 2], Numbers), O(U8, &[4, 3], Result)],
        |ops, e, t| { ops.pad(e, t[0], &[[1, 1], [0, 1]], 9u8, t[1]) }
    ),
    call!(
        "tile",
        [O(I64, &[2, 2], Numbers), O(I64, &[4, 6], Result)],
        |ops, e, t| { ops.tile(e, t[0], &[2, 3], t[1]) }
    ),
    call!(
        "repeat",
        [O(F32, &[2, 3], Numbers), O(F32, &[2, 6], Result)],
        |ops, e, t| { ops.repeat(e, t[0], 1, 2, t[1]) }
    ),
    call!(
        "gather",
        [
            O(F32, &[3, 4], Numbers),
            O(I64, &[2, 4], These(&[2, 0, -1, 1, 2])),
            O(F32, &[2, 4], Result),
        ],
        |ops, e, t| ops.gather(e, t[0], 0, t[1], t[2])
    ),
    call!(
        "index select",
        [
            O(U8, &[2, 3], Numbers),
            O(U32, &[4], These(&[2, 0, 7, 1])),
            O(U8, &[2, 4], Result)
        ],
        |ops, e, t| ops.index_select(e, t[0], 1, t[1], t[2])
    ),
    call!(
        "embedding",
        [
            O(F16, &[3, 4], Numbers),
            O(I32, &[2, 2], These(&[2, 0, 1])),
            O(F16, &[2, 2, 4], Result)
        ],
        |ops, e, t| ops.embedding(e, t[0], t[1], t[2])
    ),
    call!(
        "scatter",
        [
            O(I64, &[2, 3], Numbers),
            O(I64, &[2, 3], These(&[2, 0, 4])),
            O(I64, &[2, 4], Result)
        ],
        |ops, e, t| ops.scatter(e, t[0], 1, t[1], t[2])
    ),
    call!(
        "scatter add",
        [
            O(F32, &[3, 4], Numbers),
            O(U32, &[3, 4], These(&[2, 0, 1])),
            O(F32, &[3, 4], Result)
        ],
        |ops, e, t| ops.scatter_add(e, t[0], 0, t[1], t[2])
    ),
    call!(
        "triu",
        [O(F32, &[2, 3, 3], Numbers), O(F32, &[2, 3, 3], Result)],
        |ops, e, t| { ops.triu(e, t[0], 0, t[1]) }
    ),
    call!(
        "tril",
        [O(U8, &[3, 4], Numbers), O(U8, &[3, 4], Result)],
        |ops, e, t| { ops.tril(e, t[0], -1, t[1]) }
    ),
    call!(
        "one hot",
        [O(U32, &[3], These(&[1, 0, 2])), O(F16, &[3, 3], Result)],
        |ops, e, t| { ops.one_hot(e, t[0], t[1]) }
    ),
    call!("random bits", [O(U32, &[3, 2], Result)], |ops, e, t| {
        ops.random_bits(e, Random::default(), t[0])
    }),
    call!("uniform", [O(F32, &[3, 2], Result)], |ops, e, t| {
        ops.uniform(e, Random::default(), 0.0, 1.0, t[0])
    }),
    call!("normal", [O(F16, &[3, 2], Result)], |ops, e, t| {
        ops.normal(e, Random::default(), 0.0, 1.0, t[0])
    }),
];
