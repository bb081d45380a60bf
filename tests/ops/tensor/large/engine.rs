//! Operations of the Llama engine and products with weights, on tensors without gaps: only their beginnings lie far behind those
//! of their buffers.

use std::sync::OnceLock;

use metal_bridge::ops::{
    AttentionShape, DataType, Epilogue, ExpertShape, Gate, KvCache, KvElement, KvShape,
    RopePairing, RopeShape, Tensor, Weight, WeightType,
};

use super::views::Call;
use super::views::Content::{Numbers, Result, These};
use super::views::Operand as O;
use super::{holding, marked, with_large_buffers};
use crate::support::{device, ops, run};
use DataType::{F16, F32, U8, U32};

/// Keys and values, made once: beside sparse buffers the software Metal would not give memory.
pub fn cache() -> &'static KvCache {
    static CACHE: OnceLock<KvCache> = OnceLock::new();
    CACHE.get_or_init(|| {
        let shape = KvShape {
            element: KvElement::F32,
            kv_heads: 1,
            pages: 1,
            head_size: 64,
        };
        KvCache::new(device(), &shape).expect("a cache")
    })
}

/// A matrix of three rows at the beginning of a tensor.
fn weight(tensor: &Tensor<'_>, columns: usize, kind: WeightType) -> Weight {
    let (buffer, offset) = (tensor.view().buffer(), tensor.view().offset());
    Weight::new(buffer.clone(), offset, 3, columns, kind).expect("a weight")
}

/// Words of a rounded row of one block: 32 whole numbers, their scale and the sums of both halves, which Q8_0 does not read.
const ROUNDED: &[i64] = &[
    0x0102_0304,
    0x0506_0708,
    0x7f81_00ff,
    0x1112_1314,
    0x2122_2324,
    0x6162_6364,
    0x0f0e_0d0c,
    0x7071_7273,
    0x4b80_0000,
    0,
    0,
];

pub const ENGINE: &[Call] = &[
    call!(
        "linear",
        [
            O(F32, &[3, 32], Numbers),
            O(F32, &[2, 32], Numbers),
            O(F32, &[2, 3], Result),
        ],
        |ops, e, t| {
            let weight = weight(&t[0], 32, WeightType::F32);
            ops.linear(e, &weight, t[1].view(), t[2].view(), 2)
        }
    ),
    call!(
        "linear, added, of many rows",
        [
            O(F16, &[3, 32], Numbers),
            O(F32, &[9, 32], Numbers),
            O(F32, &[9, 3], Result),
        ],
        |ops, e, t| {
            let weight = weight(&t[0], 32, WeightType::F16);
            ops.linear_add(e, &weight, t[1].view(), t[2].view(), 9)
        }
    ),
    call!(
        "product with weights",
        [
            O(U8, &[3, 34], Numbers),
            O(F32, &[2, 32], Numbers),
            O(F32, &[2, 3], Result),
        ],
        |ops, e, t| ops.matmul_weights(e, &weight(&t[0], 32, WeightType::Q8_0), t[1], t[2])
    ),
    call!(
        "product with weights, added",
        [
            O(U8, &[3, 18], Numbers),
            O(F32, &[2, 32], Numbers),
            O(F32, &[2, 3], Result),
        ],
        |ops, e, t| ops.matmul_weights_add(e, &weight(&t[0], 32, WeightType::Q4_0), t[1], t[2])
    ),
    call!(
        "embed",
        [
            O(U8, &[3, 18], Numbers),
            O(U32, &[4], These(&[2, 0, 7])),
            O(F32, &[4, 32], Result),
        ],
        |ops, e, t| {
            let table = weight(&t[0], 32, WeightType::Q4_0);
            ops.embed(e, &table, t[1].view(), t[2].view(), 4)
        }
    ),
    call!(
        "RMS norm of rows",
        [
            O(F32, &[2, 35], Numbers),
            O(F32, &[35], Numbers),
            O(F32, &[2, 35], Result),
        ],
        |ops, e, t| {
            let [x, weight, y] = [t[0].view(), t[1].view(), t[2].view()];
            ops.rms_norm(e, x, weight, y, 2, 35, 1e-5)
        }
    ),
    call!(
        "RMS norm of a sum",
        [
            O(F32, &[2, 35], Numbers),
            O(F32, &[2, 35], Numbers),
            O(F32, &[35], Numbers),
            O(F32, &[2, 35], Result),
        ],
        |ops, e, t| {
            let [x, residual, weight, y] = [t[0].view(), t[1].view(), t[2].view(), t[3].view()];
            ops.add_rms_norm(e, x, residual, weight, y, 2, 35, 1e-5)
        }
    ),
    call!(
        "argmax of rows",
        [O(F32, &[3, 40], Numbers), O(U32, &[3], Result)],
        |ops, e, t| ops.argmax(e, t[0].view(), t[1].view(), 3, 40)
    ),
    call!(
        "gate",
        [
            O(F32, &[7], Numbers),
            O(F32, &[7], Numbers),
            O(F32, &[7], Result)
        ],
        |ops, e, t| ops.silu_multiply(e, t[0].view(), t[1].view(), t[2].view(), 7)
    ),
    call!(
        "rotary embedding",
        [O(F32, &[2, 3, 8], Numbers), O(F32, &[3], Numbers)],
        |ops, e, t| {
            let shape = RopeShape {
                rows: 2,
                heads: 3,
                head_size: 8,
                pairs: 3,
                magnitude: 1.0,
                first_position: 5,
                pairing: RopePairing::HalfSplit,
            };
            ops.rope(e, t[0].view(), t[1].view(), &shape)
        }
    ),
    call!(
        "keys and values",
        [
            O(U32, &[1], These(&[0])),
            O(F32, &[2, 64], Numbers),
            O(F32, &[2, 64], Numbers),
            O(F32, &[2, 64], Result),
            O(F32, &[2, 64], Result),
        ],
        |ops, e, t| {
            ops.kv_append(e, cache(), t[0].view(), t[1].view(), t[2].view(), 2, 0)?;
            let [keys, values] = [cache().keys(), cache().values()];
            ops.convert(e, Tensor::new(keys, F32, &[2, 64])?, t[3])?;
            ops.convert(e, Tensor::new(values, F32, &[2, 64])?, t[4])
        }
    ),
    call!(
        "attention over a cache",
        [
            O(U32, &[1], These(&[0])),
            O(F32, &[2, 2, 64], Numbers),
            O(F32, &[2, 2, 64], Result),
        ],
        |ops, e, t| {
            let shape = AttentionShape {
                heads: 2,
                rows: 2,
                past: 0,
                scale: 0.125,
                window: None,
                soft_cap: None,
            };
            ops.attention(e, cache(), t[0].view(), t[1].view(), t[2].view(), &shape)
        }
    ),
    call!(
        "linear with a bias",
        [
            O(F32, &[3, 32], Numbers),
            O(F32, &[2, 32], Numbers),
            O(F32, &[3], Numbers),
            O(F32, &[2, 3], Result),
        ],
        |ops, e, t| {
            let weight = weight(&t[0], 32, WeightType::F32);
            let epilogue = Epilogue {
                bias: Some(t[2].view()),
                scale: 0.5,
                accumulate: false,
            };
            ops.linear_with(e, &weight, t[1].view(), t[3].view(), 2, &epilogue)
        }
    ),
    call!(
        "choice of experts",
        [
            O(F32, &[2, 5], Numbers),
            O(U32, &[2, 2], Result),
            O(F32, &[2, 2], Result),
        ],
        |ops, e, t| {
            let shape = ExpertShape {
                experts: 5,
                used: 2,
            };
            let [logits, chosen, shares] = [t[0].view(), t[1].view(), t[2].view()];
            ops.choose_experts(e, logits, chosen, shares, 2, &shape)
        }
    ),
    call!(
        "products with chosen experts",
        [
            O(F32, &[3, 32], Numbers),
            O(U32, &[2, 2], These(&[2, 0, 1])),
            O(F32, &[2, 32], Numbers),
            O(F32, &[2, 2], Result),
        ],
        |ops, e, t| {
            let shape = ExpertShape {
                experts: 3,
                used: 2,
            };
            let weight = weight(&t[0], 32, WeightType::F32);
            let [chosen, x, y] = [t[1].view(), t[2].view(), t[3].view()];
            let epilogue = Epilogue::default();
            ops.linear_chosen(e, &weight, chosen, x, true, y, 2, &shape, &epilogue)
        }
    ),
    call!(
        "rounding of activations",
        [O(F32, &[2, 32], Numbers), O(U32, &[2, 11], Result)],
        |ops, e, t| ops.round_activations(e, t[0].view(), t[1].view(), 2, 32)
    ),
    call!(
        "product with rounded rows",
        [
            O(U8, &[3, 34], Numbers),
            O(U32, &[2, 11], These(ROUNDED)),
            O(F32, &[2, 3], Result),
        ],
        |ops, e, t| {
            let weight = weight(&t[0], 32, WeightType::Q8_0);
            let epilogue = Epilogue::default();
            ops.linear_rounded(e, &weight, t[1].view(), t[2].view(), 2, &epilogue)
        }
    ),
    call!(
        "rounded products with chosen experts",
        [
            O(U8, &[3, 34], Numbers),
            O(U32, &[2, 2], These(&[2, 0, 1])),
            O(U32, &[2, 11], These(ROUNDED)),
            O(F32, &[2, 2], Result),
        ],
        |ops, e, t| {
            let shape = ExpertShape {
                experts: 3,
                used: 2,
            };
            let weight = weight(&t[0], 32, WeightType::Q8_0);
            let [chosen, x, y] = [t[1].view(), t[2].view(), t[3].view()];
            let epilogue = Epilogue::default();
            ops.linear_chosen_rounded(e, &weight, chosen, x, true, y, 2, &shape, &epilogue)
        }
    ),
    call!(
        "sum of experts",
        [
            O(F32, &[2, 2, 6], Numbers),
            O(F32, &[2, 2], Numbers),
            O(F32, &[2, 6], Result),
        ],
        |ops, e, t| ops.mix_experts(e, t[0].view(), t[1].view(), t[2].view(), 2, 2, 6, 0.5)
    ),
    call!(
        "RMS norm, added",
        [
            O(F32, &[2, 35], Numbers),
            O(F32, &[35], Numbers),
            O(F32, &[2, 35], Result),
        ],
        |ops, e, t| {
            let [x, weight, y] = [t[0].view(), t[1].view(), t[2].view()];
            ops.rms_norm_add(e, x, weight, y, 2, 35, 1e-5)
        }
    ),
    call!(
        "gate of GELU",
        [
            O(F32, &[7], Numbers),
            O(F32, &[7], Numbers),
            O(F32, &[7], Result)
        ],
        |ops, e, t| {
            let [a, b, y] = [t[0].view(), t[1].view(), t[2].view()];
            ops.gate(e, Gate::GeluTanh, a, b, y, 7)
        }
    ),
    call!("soft cap", [O(F32, &[7], Numbers)], |ops, e, t| ops
        .soft_cap(e, t[0].view(), 7, 3.0)),
    call!(
        "embed, scaled",
        [
            O(U8, &[3, 18], Numbers),
            O(U32, &[4], These(&[2, 0, 7])),
            O(F32, &[4, 32], Result),
        ],
        |ops, e, t| {
            let table = weight(&t[0], 32, WeightType::Q4_0);
            ops.embed_scaled(e, &table, t[1].view(), t[2].view(), 4, 0.5)
        }
    ),
    call!(
        "attention with sinks",
        [
            O(U32, &[1], These(&[0])),
            O(F32, &[2, 2, 64], Numbers),
            O(F32, &[2], Numbers),
            O(F32, &[2, 2, 64], Result)
        ],
        |ops, e, t| {
            let shape = AttentionShape {
                heads: 2,
                rows: 2,
                past: 0,
                scale: 0.125,
                window: None,
                soft_cap: None,
            };
            let [table, q, sinks, y] = [0, 1, 2, 3].map(|index| t[index].view());
            ops.attention_with_sinks(e, cache(), table, q, sinks, y, &shape)
        }
    ),
];

#[test]
fn rows_beyond_2_to_the_32_bytes_are_embedded() {
    with_large_buffers("engine::rows_beyond_2_to_the_32_bytes_are_embedded", || {
        let (columns, rows) = (1 << 12, (1 << 18) + 2);
        let last = (rows - 1) * columns + 7;
        let table = marked(rows * columns, &[(last, 5.0f32), (1 << 30, 3.0)]);
        let table = Weight::new(table, 0, rows, columns, WeightType::F32).unwrap();
        let ids = holding(&[rows as u32 - 1, 1 << 18, 0]);
        let y = holding(&vec![-1.0f32; 3 * columns]);
        run(|e| ops().embed(e, &table, &ids, &y, 3));
        let y = y.wait_read::<f32>().expect("readable");
        let mut expected = vec![0.0; 3 * columns];
        (expected[7], expected[columns]) = (5.0, 3.0);
        assert_eq!(y[..3 * columns], expected);
    });
}
