//! Products of activations that are rounded to 8 bits.

use std::time::Instant;

use metal_bridge::ops::{Activations, Epilogue, Weight, WeightType};
use metal_bridge::{Result, StorageMode};
use metal_bridge_benches::beside::Row;
use metal_bridge_benches::data;
use metal_bridge_benches::rounds::{Contender, best_of};
use metal_bridge_workloads::formats;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::{BUDGET, DISPATCHES, Kernels, ops_contender};

pub fn products(kernels: &Kernels) -> Result<Vec<Row>> {
    let kinds = [WeightType::Q8_0, WeightType::Q4_K, WeightType::Q6_K];
    let all = kinds
        .into_iter()
        .flat_map(|kind| [1, 8, 256].map(|rows| (kind, rows)));
    all.map(|(kind, rows)| product(kernels, kind, rows))
        .collect()
}

/// Products of rows of activations that are rounded to 8 bits, with their rounding, beside those of the rows as they are.
fn product(kernels: &Kernels, kind: WeightType, rows: usize) -> Result<Row> {
    const N: usize = 5632;
    const K: usize = 2048;
    let metal = &kernels.metal;
    let encoded = formats::random(kind, N * K, 1.0, &mut SmallRng::seed_from_u64(1));
    let weight = Weight::new(metal.buffer(&encoded)?, 0, N, K, kind)?;
    let x = metal.buffer(&data::uniform(rows * K, 2))?;
    let bytes = Activations::Int8.bytes(rows, K).expect("whole blocks");
    let of_bytes = |bytes| metal.device.new_buffer(bytes, StorageMode::Shared);
    let (rounded, y) = (of_bytes(bytes)?, of_bytes(rows * N * 4)?);
    let plain = Epilogue::default();
    let products = || {
        metal.run(|encoder| {
            (0..DISPATCHES).try_for_each(|_| {
                metal
                    .ops
                    .round_activations(encoder, &x, &rounded, rows, K)?;
                metal
                    .ops
                    .linear_rounded(encoder, &weight, &rounded, &y, rows, &plain)
            })
        })
    };
    let ours: Contender<'_> = Box::new(|| {
        let start = Instant::now();
        products().expect("the products");
        start.elapsed() / DISPATCHES
    });
    let floats = ops_contender(metal, &weight, &x, &y, rows);
    let times = best_of(BUDGET, &mut [ours, floats]);
    let name = format!(
        "{} product with {rows} rounded rows, {N} x {K}",
        kind.name()
    );
    let flops = 2.0 * (rows * N * K) as f64;
    Ok(Row::rates(name, "GFLOP/s", flops, &times, "rows of f32"))
}
