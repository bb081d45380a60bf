//! Matrix products at Llama's shapes, beside the `gemm` crate and, with the feature `candle`, candle's CPU kernels, on as many
//! threads.
//!
//! One row is decoding: the figure is the bandwidth of the weights. Many rows are prefill: the figure is the arithmetic.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use half::f16;
use metal_bridge::ops::{Weight, WeightType};
use metal_bridge::{Buffer, Result, StorageMode};
use metal_bridge_benches::contenders::{candle_product, gemm_product};
use metal_bridge_benches::data;
use metal_bridge_benches::metal::Metal;
use metal_bridge_benches::opening::open;
use metal_bridge_benches::table::{self, Row};

const OURS: &str = "metal-bridge";
/// Rows and columns of a TinyLlama's weights: query and output, key and value, and the two shapes of the feed-forward.
const SHAPES: [[usize; 2]; 4] = [[2048, 2048], [256, 2048], [5632, 2048], [2048, 5632]];
const ROWS: [usize; 3] = [1, 32, 512];
/// Dispatches that one command buffer carries: an engine, too, commits once a token and not once a product.
const DISPATCHES: u64 = 64;

#[derive(Clone, Copy)]
enum Format {
    Q8_0,
    F16,
    F32,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Q8_0 => "q8_0",
            Format::F16 => "f16",
            Format::F32 => "f32",
        }
    }

    fn weight_type(self) -> WeightType {
        match self {
            Format::Q8_0 => WeightType::Q8_0,
            Format::F16 => WeightType::F16,
            Format::F32 => WeightType::F32,
        }
    }

    fn encode(self, values: &[f32]) -> Vec<u8> {
        match self {
            Format::Q8_0 => data::to_q8_0(values),
            Format::F16 => bytemuck::cast_slice(&data::to_f16(values)).to_vec(),
            Format::F32 => bytemuck::cast_slice(values).to_vec(),
        }
    }
}

/// The time of `count` products in command buffers of [`DISPATCHES`].
fn time(
    metal: &Metal,
    weight: &Weight,
    x: &Buffer,
    y: &Buffer,
    m: usize,
    count: u64,
) -> Result<Duration> {
    let start = Instant::now();
    let mut left = count;
    while left > 0 {
        let now = left.min(DISPATCHES);
        metal
            .run(|encoder| (0..now).try_for_each(|_| metal.ops.linear(encoder, weight, x, y, m)))?;
        left -= now;
    }
    Ok(start.elapsed())
}

fn product(c: &mut Criterion, metal: &Metal, format: Format, [n, k]: [usize; 2], m: usize) -> Row {
    let name = format!("matmul {} {n}x{k} rows {m}", format.name());
    let weights = data::uniform(n * k, 1);
    let activations = data::uniform(m * k, 2);
    let encoded = format.encode(&weights);
    let bytes = encoded.len();

    let mut group = c.benchmark_group(&name);
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_millis(600));

    let buffers = || -> Result<(Weight, Buffer, Buffer)> {
        let weight = Weight::new(metal.buffer(&encoded)?, 0, n, k, format.weight_type())?;
        let x = metal.buffer(&activations)?;
        let y = metal.device.new_buffer(m * n * 4, StorageMode::Shared)?;
        Ok((weight, x, y))
    };
    let (weight, x, y) = buffers().expect("the buffers of a product");
    group.bench_function(OURS, |b| {
        b.iter_custom(|count| time(metal, &weight, &x, &y, m, count).expect("a product"));
    });

    match format {
        Format::Q8_0 => {
            if let Some(mut product) = candle_product(&encoded, [n, k], &activations) {
                group.bench_function("candle", |b| b.iter(&mut product));
            }
        }
        Format::F16 => {
            let (w, x) = (data::to_f16(&weights), data::to_f16(&activations));
            let mut y = vec![f16::ZERO; m * n];
            group.bench_function("gemm", |b| {
                b.iter(|| gemm_product(black_box(&mut y), &x, &w, [m, n, k], f16::ONE, f16::ZERO));
            });
        }
        Format::F32 => {
            let mut y = vec![0.0f32; m * n];
            group.bench_function("gemm", |b| {
                b.iter(|| {
                    gemm_product(
                        black_box(&mut y),
                        &activations,
                        &weights,
                        [m, n, k],
                        1.0,
                        0.0,
                    )
                });
            });
        }
    }
    group.finish();
    match m {
        1 => Row {
            group: name,
            giga_work: bytes as f64 / 1e9,
            unit: "GB/s",
        },
        _ => Row {
            group: name,
            giga_work: 2.0 * (m * n * k) as f64 / 1e9,
            unit: "GFLOP/s",
        },
    }
}

fn main() {
    let (start, mut c, metal) = open("matmul", Metal::new());
    let mut rows = Vec::new();
    for format in [Format::Q8_0, Format::F16, Format::F32] {
        for shape in SHAPES {
            for m in ROWS {
                rows.push(product(&mut c, &metal, format, shape, m));
            }
        }
    }
    rows.push(product(&mut c, &metal, Format::F32, [1024, 1024], 1024));
    c.final_summary();
    table::print(&rows, start, OURS, &["candle", "gemm"]);
}
