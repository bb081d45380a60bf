//! The software device beside what the machine can do: each row an aim of docs/performance.md, all in one run.

mod rounded;

use std::ffi::CString;
use std::hint::black_box;
use std::os::raw::c_char;
use std::time::{Duration, Instant};

use metal_bridge::ops::{Weight, WeightType, shader_sources};
use metal_bridge::{Buffer, CompileOptions, ComputePipeline, Library, Result, Size, StorageMode};
use metal_bridge_benches::beside::{Row, is_wanted};
use metal_bridge_benches::contenders::{candle_product, copy, gemm_product, sum};
use metal_bridge_benches::data;
use metal_bridge_benches::metal::Metal;
use metal_bridge_benches::rounds::{Contender, best_of, repeated};

const SOURCE: &str = include_str!("../native/speed.metal");
const MILLION: usize = 1 << 20;
/// The time for one row of the table.
const BUDGET: Duration = Duration::from_secs(4);
/// Dispatches of one command buffer if work, and not submission, is timed.
const DISPATCHES: u32 = 16;

unsafe extern "C" {
    fn plain_open(source: *const c_char, function: *const c_char) -> bool;
    fn plain_dispatch(count: u64) -> u64;
}

/// The device, and the kernels of `native/speed.metal`.
struct Kernels {
    metal: Metal,
    library: Library,
}

impl Kernels {
    fn new() -> Result<Kernels> {
        let metal = Metal::new()?;
        let options = CompileOptions::new();
        Ok(Kernels {
            library: metal.device.new_library_with_source(SOURCE, &options)?,
            metal,
        })
    }

    fn pipeline(&self, name: &str) -> Result<ComputePipeline> {
        self.metal
            .device
            .new_compute_pipeline_state(&self.library.new_function(name)?)
    }

    /// Submits `times` dispatches in one command buffer and waits for them.
    fn run(&self, launch: &Launch<'_>, times: u32) -> Result<()> {
        let submitted = self.metal.run(|encoder| {
            encoder.set_compute_pipeline_state(launch.pipeline)?;
            for (index, buffer) in launch.buffers.iter().enumerate() {
                encoder.set_buffer(buffer, 0, index)?;
            }
            encoder.set_value(&launch.count, launch.buffers.len())?;
            for _ in 0..times {
                // SAFETY: every launch of this file gives its kernel buffers of the size that `count` says.
                unsafe { encoder.dispatch_threadgroups(launch.groups, launch.threadgroup)? };
            }
            Ok(())
        });
        submitted.map(drop)
    }

    /// The time of one dispatch among several.
    fn contender<'a>(&'a self, launch: Launch<'a>) -> Contender<'a> {
        Box::new(move || {
            let start = Instant::now();
            self.run(&launch, DISPATCHES).expect("the dispatches");
            start.elapsed() / DISPATCHES
        })
    }
}

/// A kernel of `native/speed.metal`, whose last argument is the number of elements.
struct Launch<'a> {
    pipeline: &'a ComputePipeline,
    buffers: &'a [&'a Buffer],
    count: u32,
    groups: Size,
    threadgroup: Size,
}

/// One threadgroup that does nothing, from its command buffer to the end of the wait, beside the same calls made from plain
/// Objective-C.
fn empty_dispatch(kernels: &Kernels) -> Result<Row> {
    let pipeline = kernels.pipeline("nothing")?;
    let launch = Launch {
        pipeline: &pipeline,
        buffers: &[],
        count: 0,
        groups: 1.into(),
        threadgroup: 32.into(),
    };
    let (source, function) = (CString::new(SOURCE), CString::new("nothing"));
    let (source, function) = (source.expect("a C string"), function.expect("a C string"));
    // SAFETY: two strings that end in a zero byte.
    let opened = unsafe { plain_open(source.as_ptr(), function.as_ptr()) };
    assert!(opened, "plain Objective-C found no Metal");
    const TIMES: u32 = 100;
    let times = best_of(
        BUDGET,
        &mut [
            repeated(TIMES, || {
                kernels.run(&launch, 1).expect("an empty dispatch")
            }),
            Box::new(|| {
                // SAFETY: `plain_open` succeeded.
                let spent = unsafe { plain_dispatch(TIMES.into()) };
                assert!(spent > 0, "a plain call failed");
                Duration::from_nanos(spent) / TIMES
            }),
        ],
    );
    let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
    Ok(Row {
        name: "empty dispatch, submit to completion".to_owned(),
        unit: "us",
        ours: microseconds(times[0]),
        yardstick: Some(("plain Objective-C", microseconds(times[1]))),
    })
}

/// A million additions in threadgroups of one size, beside `memcpy` of as many bytes as the additions move.
fn add(kernels: &Kernels, threads: usize) -> Result<Row> {
    let values = data::uniform(MILLION, 1);
    let [a, b, c] = [(); 3].map(|()| kernels.metal.buffer(&values));
    let (a, b, c) = (a?, b?, c?);
    let pipeline = kernels.pipeline("add")?;
    let launch = Launch {
        pipeline: &pipeline,
        buffers: &[&a, &b, &c],
        count: MILLION as u32,
        groups: (MILLION / threads).into(),
        threadgroup: threads.into(),
    };
    let from = data::uniform(MILLION * 3 / 2, 1);
    let mut to = vec![0.0f32; from.len()];
    let times = best_of(
        BUDGET,
        &mut [
            kernels.contender(launch),
            repeated(DISPATCHES, || copy(black_box(&mut to), black_box(&from))),
        ],
    );
    let bytes = (3 * size_of::<f32>() * MILLION) as f64;
    let name = format!("a million additions, threadgroups of {threads}");
    Ok(Row::rates(name, "GB/s", bytes, &times, "memcpy"))
}

/// A kernel that sums a million values in threadgroups of 256, beside a vector loop.
fn reduction(kernels: &Kernels, kernel: &str, name: &str) -> Result<Row> {
    const PER_THREADGROUP: usize = 16384;
    let values = data::uniform(MILLION, 1);
    let from = kernels.metal.buffer(&values)?;
    let groups = MILLION / PER_THREADGROUP;
    let sums = kernels
        .metal
        .device
        .new_buffer(groups * 4, StorageMode::Shared)?;
    let pipeline = kernels.pipeline(kernel)?;
    let launch = Launch {
        pipeline: &pipeline,
        buffers: &[&from, &sums],
        count: MILLION as u32,
        groups: groups.into(),
        threadgroup: 256.into(),
    };
    let times = best_of(
        BUDGET,
        &mut [
            kernels.contender(launch),
            repeated(DISPATCHES, || {
                black_box(sum(black_box(&values)));
            }),
        ],
    );
    let bytes = (size_of::<f32>() * MILLION) as f64;
    Ok(Row::rates(
        name.to_owned(),
        "GB/s",
        bytes,
        &times,
        "vector loop",
    ))
}

/// One row of activations and a matrix of `n` rows in Q8_0, beside candle if it is there.
fn matvec(kernels: &Kernels, n: usize, k: usize) -> Result<Row> {
    let encoded = data::to_q8_0(&data::uniform(n * k, 1));
    let activations = data::uniform(k, 2);
    let weight = Weight::new(kernels.metal.buffer(&encoded)?, 0, n, k, WeightType::Q8_0)?;
    let x = kernels.metal.buffer(&activations)?;
    let y = kernels
        .metal
        .device
        .new_buffer(n * 4, StorageMode::Shared)?;
    let mut contenders = vec![ops_contender(&kernels.metal, &weight, &x, &y, 1)];
    contenders.extend(
        candle_product(&encoded, [n, k], &activations).map(|product| repeated(DISPATCHES, product)),
    );
    let times = best_of(BUDGET, &mut contenders);
    let name = format!("Q8_0 matrix-vector product, {n} x {k}");
    Ok(Row::rates(
        name,
        "GB/s",
        encoded.len() as f64,
        &times,
        "candle",
    ))
}

fn ops_contender<'a>(
    metal: &'a Metal,
    weight: &'a Weight,
    x: &'a Buffer,
    y: &'a Buffer,
    rows: usize,
) -> Contender<'a> {
    let products = move || {
        metal.run(|encoder| {
            (0..DISPATCHES).try_for_each(|_| metal.ops.linear(encoder, weight, x, y, rows))
        })
    };
    Box::new(move || {
        let start = Instant::now();
        products().expect("the products");
        start.elapsed() / DISPATCHES
    })
}

/// The 1024-cubed product: of the crate's own kernel through threadgroup memory, and of the plain one on device memory.
fn products(kernels: &Kernels) -> Result<Vec<Row>> {
    const N: usize = 1024;
    const TILE: usize = 32;
    let values = [data::uniform(N * N, 1), data::uniform(N * N, 2)];
    let weight = Weight::new(kernels.metal.buffer(&values[0])?, 0, N, N, WeightType::F32)?;
    let (a, b) = (
        kernels.metal.buffer(&values[0])?,
        kernels.metal.buffer(&values[1])?,
    );
    let c = kernels
        .metal
        .device
        .new_buffer(N * N * 4, StorageMode::Shared)?;
    let pipeline = kernels.pipeline("product")?;
    let launch = Launch {
        pipeline: &pipeline,
        buffers: &[&a, &b, &c],
        count: N as u32,
        groups: Size::new(N / TILE, N / TILE, 1),
        threadgroup: 32.into(),
    };
    let mut y = vec![0.0f32; N * N];
    let times = best_of(
        BUDGET * 2,
        &mut [
            ops_contender(&kernels.metal, &weight, &b, &c, N),
            kernels.contender(launch),
            repeated(DISPATCHES, || {
                gemm_product(
                    black_box(&mut y),
                    &values[1],
                    &values[0],
                    [N, N, N],
                    1.0,
                    0.0,
                )
            }),
        ],
    );
    let row = |name: &str, time| {
        let name = format!("1024-cubed simdgroup-matrix product, {name}");
        let flops = 2.0 * (N * N * N) as f64;
        Row::rates(name, "GFLOP/s", flops, &[time, times[2]], "gemm")
    };
    Ok(vec![
        row("through threadgroup memory", times[0]),
        row("on device memory", times[1]),
    ])
}

/// The longest source of the crate: compiled, and loaded from the cache.
fn compilation(kernels: &Kernels) -> Result<Vec<Row>> {
    let (name, source) = shader_sources()
        .max_by_key(|(_, source)| source.len())
        .expect("there are shaders");
    let compile = |source: &str| {
        kernels
            .metal
            .device
            .new_library_with_source(source, &CompileOptions::new())
            .expect("a library")
    };
    let mut number = 0;
    let times = best_of(
        BUDGET,
        &mut [
            // The text differs each time, so it is not in the cache.
            Box::new(|| {
                number += 1;
                let changed = format!("{source}\nconstant constexpr int number_{number} = 0;\n");
                let start = Instant::now();
                compile(&changed);
                start.elapsed()
            }),
            repeated(10, || drop(compile(&source))),
        ],
    );
    let row = |what: &str, time: Duration| Row {
        name: format!("{name} {what}"),
        unit: "ms",
        ours: time.as_secs_f64() * 1e3,
        yardstick: None,
    };
    Ok(vec![
        row("compiled", times[0]),
        row("from the cache", times[1]),
    ])
}

/// The rows of one subject, measured.
type Subject = (&'static str, fn(&Kernels) -> Result<Vec<Row>>);

const SUBJECTS: [Subject; 7] = [
    ("dispatch", |kernels| Ok(vec![empty_dispatch(kernels)?])),
    ("add", |kernels| {
        [1024, 256, 32]
            .into_iter()
            .map(|threads| add(kernels, threads))
            .collect()
    }),
    ("sum", |kernels| {
        Ok(vec![
            reduction(kernels, "sum", "a million values summed, nine barriers")?,
            reduction(
                kernels,
                "sum_by_simdgroups",
                "a million values summed, by simdgroups",
            )?,
        ])
    }),
    ("matvec", |kernels| {
        [(2048, 2048), (5632, 2048), (2048, 5632), (32000, 4096)]
            .into_iter()
            .map(|(n, k)| matvec(kernels, n, k))
            .collect()
    }),
    ("rounded", rounded::products),
    ("product", products),
    ("compile", compilation),
];

/// Prints the table: all subjects, or those that the arguments name.
fn table() -> Result<()> {
    let kernels = Kernels::new()?;
    println!("\n| what | unit | metal-bridge | beside it | ratio |\n|---|---|---:|---:|---:|");
    for (name, measure) in SUBJECTS {
        if is_wanted(name) {
            measure(&kernels)?.iter().for_each(Row::print);
        }
    }
    Ok(())
}

fn main() {
    let cache = tempfile::tempdir().expect("a folder for what is compiled");
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("SOFTWARE_METAL_CACHE", cache.path()) };
    let result = table();
    drop(cache);
    if let Err(error) = result {
        eprintln!("software: {error}");
        std::process::exit(1);
    }
}
