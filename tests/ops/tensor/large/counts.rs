//! Every operation has a call here, and every one that computes counts floating-point operations.

use std::collections::BTreeSet;

use super::calls::CALLS;
use super::engine::ENGINE;
use super::layers::LAYERS;
use super::products::PRODUCTS;
use super::views::{Call, Form, Memory};
use crate::operations::sources::Sources;
use crate::support::metal;

/// The operations that find and move elements, or compare them as often as the data want.
const MOVES: [&str; 21] = [
    "argsort",
    "concat",
    "convert",
    "embed",
    "embed_scaled",
    "embedding",
    "fill",
    "gather",
    "index_select",
    "kv_append",
    "one_hot",
    "pad",
    "random_bits",
    "repeat",
    "scatter",
    "select",
    "sort",
    "tile",
    "top_k",
    "tril",
    "triu",
];

/// The floating-point operations of all other calls, as `Metrics` defines them.
const COUNTED: &[(&str, u64)] = &[
    ("neg i64", 6),
    ("square u8", 12),
    ("exp f16", 6),
    ("add f32", 6),
    ("add a number", 6),
    ("less", 6),
    ("sum of rows", 12),
    ("sum of columns", 12),
    ("variance", 12),
    ("log sum exp", 80),
    ("argmax", 120),
    ("argmin of columns", 12),
    ("cumsum", 70),
    ("cumprod", 10),
    ("softmax", 70),
    ("log softmax", 10),
    ("scatter add", 12),
    ("uniform", 2 * 6),
    ("normal", 2 * 6),
    ("layer norm", (5 + 2) * 70),
    ("RMS norm", 3 * 12),
    ("group norm", (5 + 1) * 24),
    ("batch norm", (2 + 1) * 24),
    ("batch norm, training", 5 * 24),
    ("convolution", 2 * 36 * (2 * 2 * 2)),
    ("convolution of sequences", 2 * 32 * (2 * 3)),
    ("transposed convolution", 2 * 27 * (2 * 2 * 2)),
    ("pool", 24 * (2 * 2)),
    ("average pool", 18 * 2),
    // Of 4 rows 2 and 2; of 5 columns 2, 3 and 2.
    ("adaptive pool", 6 * (2 + 2) * (2 + 3 + 2)),
    // It finds elements.
    ("nearest elements", 0),
    ("interpolation", 2 * 48 * 4),
    ("attention", 2 * 3 * 5 * (4 + 3) * 4),
    ("attention of sequences", 2 * 4 * 4 * (4 + 4) * 2),
    ("gemm", 2 * 6 * 7 * 5),
    ("gemm in batches", 2 * 5 * 5 * 3 * 3),
    ("gemm of bytes", 2 * 6 * 7 * 5),
    ("gemm of bytes with scales", 2 * 6 * 5 * 4),
    ("gemv", 2 * 2 * 9 * 20),
    ("gemv by few columns", 2 * 9 * 3 * 20),
    ("gemv of bytes with scales", 2 * 2 * 5 * 4),
    ("linear", 2 * 2 * 3 * 32),
    ("linear, added, of many rows", 2 * 9 * 3 * 32),
    ("product with weights", 2 * 2 * 3 * 32),
    ("product with weights, added", 2 * 2 * 3 * 32),
    ("RMS norm of rows", (3 + 1) * 70),
    ("RMS norm of a sum", (3 + 2) * 70),
    ("argmax of rows", 120),
    ("gate", 7),
    ("rotary embedding", 2 * 3 * 2 * 3),
    ("linear with a bias", 2 * 2 * 3 * 32),
    ("choice of experts", 2 * 5 * 2),
    ("products with chosen experts", 2 * 4 * 32),
    ("rounding of activations", 4 * 2 * 32),
    ("product with rounded rows", 2 * 2 * 3 * 32),
    ("rounded products with chosen experts", 2 * 4 * 32),
    ("sum of experts", 2 * (2 * 2 * 6)),
    ("RMS norm, added", (3 + 2) * 70),
    ("gate of GELU", 7),
    ("soft cap", 3 * 7),
    ("attention with sinks", 2 * 2 * 2 * (64 + 64) * 2),
    // Both rows and both heads with both keys, masked or not.
    ("attention over a cache", 2 * 2 * 2 * (64 + 64) * 2),
];

fn all() -> impl Iterator<Item = &'static Call> {
    [CALLS, LAYERS, PRODUCTS, ENGINE].into_iter().flatten()
}

#[test]
fn every_operation_is_called_and_counted() {
    let ops = metal();
    ops.enable_metrics(true);
    let mut called = BTreeSet::new();
    for call in all() {
        let operands = call.operands.iter();
        let memories =
            Vec::from_iter(operands.map(|operand| Memory::new(operand, Form::Dense, false)));
        let tensors = Vec::from_iter(memories.iter().map(Memory::tensor));
        ops.reset_metrics();
        ops.batch()
            .encode(|ops, encoder| (call.encode)(ops, encoder, &tensors))
            .expect(call.name);
        let rows = ops.metrics().operations();
        let [row] = rows[..] else {
            panic!("{}: {rows:?}", call.name);
        };
        let method = row.operation.strip_prefix("Ops::").expect("a method");
        called.insert(method.to_owned());
        let counted = COUNTED.iter().find(|(name, _)| *name == call.name);
        match counted {
            Some((name, flops)) => assert_eq!(row.flops, *flops, "{name}"),
            None => assert!(
                MOVES.contains(&method) && row.flops == 0,
                "what does {} count? {row:?}",
                call.name
            ),
        }
    }
    let methods = BTreeSet::from_iter(Sources::read().methods.into_keys());
    assert_eq!(called, methods, "operations with a call of {}", file!());
    let names = BTreeSet::from_iter(all().map(|call| call.name));
    let without = COUNTED.iter().find(|(name, _)| !names.contains(name));
    assert_eq!(without, None, "a count of no call");
}
