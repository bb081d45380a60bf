//! Operations on tensors beside what the machine can do, and what encoding one costs. `cargo bench --bench ops`, and
//! `-- softmax` and the like for a part of it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytemuck::Pod;
use half::{bf16, f16};
use metal_bridge::ops::{
    ArgReduction, Binary, DataType, Matmul, Norm, Ops, Reduction, Right, Tensor, Unary,
};
use metal_bridge::{ComputeEncoder, DispatchType, MetalBackend, MetalOps, Result, StorageMode};
use metal_bridge_benches::beside::{Row, is_wanted};
use metal_bridge_benches::contenders::reductions::{self, Element};
use metal_bridge_benches::contenders::{copy, gemm_product};
use metal_bridge_benches::data;
use metal_bridge_benches::metal::Metal;
use metal_bridge_benches::rounds::{Contender, best_of, repeated};

/// More than the caches of most machines hold.
const COUNT: usize = 1 << 24;
/// The time for one row of the table.
const BUDGET: Duration = Duration::from_secs(2);
/// Calls that one command buffer encodes if the host's part is timed.
const CALLS: u32 = 1000;

/// An operation that reads some tensors and writes one, beside a copy of as many bytes.
fn row(
    name: &str,
    moved: usize,
    metal: &Metal,
    encode: impl Fn(&Ops, &mut ComputeEncoder<'_>) -> Result<()>,
) {
    if !is_wanted(name) {
        return;
    }
    let source = vec![1.0f32; moved / 8];
    let mut target = vec![0.0f32; moved / 8];
    let ours = on_device(metal, encode);
    let copied = repeated(1, || copy(&mut target, &source));
    let times = best_of(BUDGET, &mut [ours, copied]);
    Row::rates(name.to_owned(), "GB/s", moved as f64, &times, "memcpy").print();
}

/// The operation as a contender: from its commit to its end.
fn on_device<'a>(
    metal: &'a Metal,
    encode: impl Fn(&Ops, &mut ComputeEncoder<'_>) -> Result<()> + 'a,
) -> Contender<'a> {
    Box::new(move || {
        metal
            .run(|encoder| encode(&metal.ops, encoder))
            .expect("the operation")
    })
}

/// Numbers around one: operations make neither subnormal numbers of them, which some processors compute much slower, nor
/// infinities.
fn numbers<T>(to: impl Fn(f32) -> T) -> Vec<T> {
    let around_one = |x: f32| to(x / 2.0 + 1.0);
    data::uniform(COUNT, 1)
        .into_iter()
        .map(around_one)
        .collect()
}

/// `one` is that of `data_type`.
fn rows<T: Pod>(
    metal: &Metal,
    data_type: DataType,
    one: Right<'static>,
    to: impl Fn(f32) -> T,
) -> Result<()> {
    let values = numbers(to);
    let [a, b, y] = [(); 3].map(|()| metal.buffer(&values));
    let (a, b, y) = (a?, b?, y?);
    let whole = |buffer| Tensor::new(buffer, data_type, &[COUNT]);
    let square = |buffer| Tensor::new(buffer, data_type, &[1 << 12, 1 << 12]);
    let size = COUNT * data_type.size();
    let name = |what: &str| format!("{} {what}", data_type.name());
    let print =
        |name: String, moved, encode: &dyn Fn(&Ops, &mut ComputeEncoder<'_>) -> Result<()>| {
            row(&name, moved, metal, encode);
        };
    print(name("add"), 3 * size, &|ops, encoder| {
        ops.binary(encoder, Binary::Add, whole(&a)?, whole(&b)?, whole(&y)?)
    });
    print(
        name("multiply by a number, in place"),
        2 * size,
        &|ops, encoder| ops.binary(encoder, Binary::Mul, whole(&a)?, one, whole(&a)?),
    );
    print(name("add a row to each row"), 2 * size, &|ops, encoder| {
        let row = Tensor::new(&b, data_type, &[1 << 12])?;
        ops.binary(encoder, Binary::Add, square(&a)?, row, square(&y)?)
    });
    print(name("transpose"), 2 * size, &|ops, encoder| {
        ops.convert(encoder, square(&a)?.permute(&[1, 0])?, square(&y)?)
    });
    if data_type.is_float() {
        print(name("softmax of rows"), 2 * size, &|ops, encoder| {
            ops.softmax(encoder, square(&a)?, 1, square(&y)?)
        });
        print(name("layer norm of rows"), 2 * size, &|ops, encoder| {
            ops.layer_norm(encoder, square(&a)?, &[1], &Norm::default(), square(&y)?)
        });
        print(name("RMS norm of rows"), 2 * size, &|ops, encoder| {
            ops.rms_norm_along(encoder, square(&a)?, &[1], &Norm::default(), square(&y)?)
        });
        // 16 images of 256 channels.
        let images = |buffer| Tensor::new(buffer, data_type, &[16, 256, 64, 64]);
        print(name("group norm, 32 groups"), 2 * size, &|ops, encoder| {
            ops.group_norm(encoder, images(&a)?, 32, &Norm::default(), images(&y)?)
        });
        let channels = |buffer| Tensor::of::<f32>(buffer, &[256]);
        print(name("batch norm, inference"), 2 * size, &|ops, encoder| {
            let (mean, variance) = (channels(&b)?, channels(&b)?);
            let (x, norm) = (images(&a)?, Norm::default());
            ops.batch_norm(encoder, x, mean, variance, &norm, images(&y)?)
        });
        print(name("batch norm, training"), 2 * size, &|ops, encoder| {
            ops.batch_norm_training(encoder, images(&a)?, None, &Norm::default(), images(&y)?)
        });
        for operation in [
            Unary::Relu,
            Unary::Exp,
            Unary::Tanh,
            Unary::Silu,
            Unary::Gelu,
        ] {
            print(
                name(&format!("{operation:?}")),
                2 * size,
                &|ops, encoder| ops.unary(encoder, operation, whole(&a)?, whole(&y)?),
            );
        }
    }
    Ok(())
}

/// Reductions of 4096 rows of as many elements, or of its columns, beside loops that the compiler makes vectors of.
fn reductions<T: Element + Pod>(
    metal: &Metal,
    data_type: DataType,
    to: impl Fn(f32) -> T,
) -> Result<()> {
    const N: usize = 1 << 12;
    let numbers = numbers(to);
    let mut results = vec![0.0f32; N];
    let (x, y) = (metal.buffer(&numbers)?, metal.buffer(&vec![0u32; N])?);
    let square = || Tensor::new(&x, data_type, &[N, N]);
    let mut print = |what: &str,
                     encode: &dyn Fn(&Ops, &mut ComputeEncoder<'_>) -> Result<()>,
                     plain: &dyn Fn(&[T], &mut [f32])| {
        let name = format!("{} {what}", data_type.name());
        if !is_wanted(&name) {
            return;
        }
        let ours = on_device(metal, encode);
        let plain = repeated(1, || plain(&numbers, black_box(&mut results)));
        let times = best_of(BUDGET, &mut [ours, plain]);
        let moved = (N * N * data_type.size()) as f64;
        Row::rates(name, "GB/s", moved, &times, "vector loop").print();
    };
    let sample = Reduction::Var { correction: 1 };
    for (name, ours, plain) in [
        ("sum of rows", Reduction::Sum, reductions::Reduction::Sum),
        ("mean of rows", Reduction::Mean, reductions::Reduction::Mean),
        (
            "largest of rows",
            Reduction::Max,
            reductions::Reduction::Max,
        ),
        ("variance of rows", sample, reductions::Reduction::Variance),
    ] {
        let encode = |ops: &Ops, encoder: &mut ComputeEncoder<'_>| {
            ops.reduce(
                encoder,
                ours,
                square()?,
                &[1],
                Tensor::new(&y, data_type, &[N])?,
            )
        };
        print(name, &encode, &|x, y| plain.of_rows(x, y));
    }
    print(
        "place of the largest of rows",
        &|ops, encoder| {
            let y = Tensor::new(&y, DataType::U32, &[N])?;
            ops.arg_reduce(encoder, ArgReduction::Max, square()?, 1, y)
        },
        &|x, y| reductions::Reduction::ArgMax.of_rows(x, y),
    );
    print(
        "sum of columns",
        &|ops, encoder| {
            let y = Tensor::new(&y, data_type, &[N])?;
            ops.reduce(encoder, Reduction::Sum, square()?, &[0], y)
        },
        &reductions::sums_of_columns,
    );
    Ok(())
}

/// The 1024-cubed product, beside the `gemm` crate: in `f32`, or in `f16` for halves.
fn products(metal: &Metal, data_type: DataType) -> Result<()> {
    const N: usize = 1024;
    let [x, w] = [1, 2].map(|seed| data::uniform(N * N, seed));
    let memory = |values: &[f32]| match data_type {
        DataType::F16 => metal.buffer(&data::to_f16(values)),
        DataType::BF16 => {
            let values: Vec<bf16> = values.iter().copied().map(bf16::from_f32).collect();
            metal.buffer(&values)
        }
        _ => metal.buffer(values),
    };
    let (a, b, y) = (memory(&x)?, memory(&w)?, memory(&x)?);
    let square = |buffer| Tensor::new(buffer, data_type, &[N, N]);
    for is_turned in [false, true] {
        let name = format!(
            "{} 1024-cubed product, B {}",
            data_type.name(),
            if is_turned { "transposed" } else { "row-major" }
        );
        if !is_wanted(&name) {
            continue;
        }
        let order: [usize; 2] = if is_turned { [1, 0] } else { [0, 1] };
        let ours = on_device(metal, |ops, encoder| {
            let b = square(&b)?.permute(&order)?;
            ops.matmul(encoder, Matmul::default(), square(&a)?, b, square(&y)?)
        });
        let times = if data_type == DataType::F16 {
            let (x, w) = (data::to_f16(&x), data::to_f16(&w));
            let mut y = vec![f16::ZERO; N * N];
            let gemm = repeated(1, move || {
                gemm_product(&mut y, &x, &w, [N; 3], f16::ONE, f16::ZERO)
            });
            best_of(BUDGET, &mut [ours, gemm])
        } else {
            let mut y = vec![0.0f32; N * N];
            let gemm = repeated(1, || gemm_product(&mut y, &x, &w, [N; 3], 1.0, 0.0));
            best_of(BUDGET, &mut [ours, gemm])
        };
        Row::rates(name, "GFLOP/s", 2.0 * (N * N * N) as f64, &times, "gemm").print();
    }
    Ok(())
}

/// What the host takes for each call that it encodes.
fn encoding(metal: &Metal) -> Result<()> {
    let buffer = metal.device.new_buffer(4096, StorageMode::Shared)?;
    let x = Tensor::of::<f32>(&buffer, &[1024])?;
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let mut commands = metal.queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
        let start = Instant::now();
        for _ in 0..CALLS {
            metal.ops.unary(&mut encoder, Unary::Neg, x, x)?;
        }
        best = best.min(start.elapsed() / CALLS);
        encoder.end_encoding()?;
        commands.commit()?.wait()?;
    }
    host_row("an operation encoded", best);

    // In a batch, which asks what each operation needs: every one a barrier, and none.
    let ops = MetalOps::new(MetalBackend::with_device(&metal.device)?);
    let rows: Vec<_> = (0..CALLS as usize)
        .map(|row| x.narrow(0, row, 1))
        .collect::<Result<_>>()?;
    let in_batch = |ops: MetalOps, is_dependent: bool| -> Contender<'_> {
        let rows = &rows;
        Box::new(move || {
            let run = || -> Result<Duration> {
                let mut batch = ops.batch();
                let start = Instant::now();
                for row in rows {
                    let x = if is_dependent { &x } else { row };
                    batch.unary(Unary::Neg, x, x)?;
                }
                let time = start.elapsed() / CALLS;
                batch.commit()?.wait()?;
                Ok(time)
            };
            run().expect("a batch")
        })
    };
    let (used, measured) = (ops_beside(&ops), ops_beside(&ops));
    used.enable_metrics(true);
    used.batch().unary(Unary::Neg, x, x)?;
    used.enable_metrics(false);
    measured.enable_metrics(true);
    let once = ops.clone();
    // A batch of metrics asks for them behind each call of its own, here behind one for all operations.
    let asked_once: Contender<'_> = Box::new(|| {
        let run = || -> Result<Duration> {
            let mut batch = once.batch();
            let start = Instant::now();
            batch.encode(|ops, encoder| {
                rows.iter()
                    .try_for_each(|x| ops.unary(encoder, Unary::Neg, x, x))
            })?;
            let time = start.elapsed() / CALLS;
            batch.commit()?.wait()?;
            Ok(time)
        };
        run().expect("a batch")
    });
    let mut contenders = [
        in_batch(ops.clone(), true),
        in_batch(ops.clone(), false),
        in_batch(used, false),
        asked_once,
        in_batch(measured, false),
    ];
    let names = [
        "an operation in a batch, behind a barrier",
        "an operation in a batch, without; metrics never on",
        "the same, metrics were on and are off",
        "the same, metrics asked for once for all operations",
        "the same, metrics on: executed and waited for",
    ];
    for (name, time) in names.iter().zip(best_of(BUDGET, &mut contenders)) {
        host_row(name, time);
    }
    Ok(())
}

/// Others on the same device, with metrics of their own.
fn ops_beside(ops: &MetalOps) -> MetalOps {
    MetalOps::new(MetalBackend::with_device(ops.backend().metal_device()).expect("a backend"))
}

fn host_row(name: &str, time: Duration) {
    let row = Row {
        name: name.to_owned(),
        unit: "us",
        ours: time.as_secs_f64() * 1e6,
        yardstick: None,
    };
    row.print();
}

fn main() -> Result<()> {
    let metal = Metal::new()?;
    println!("\n| what | unit | metal-bridge | beside it | ratio |\n|---|---|---:|---:|---:|");
    for data_type in [DataType::F32, DataType::F16, DataType::BF16] {
        products(&metal, data_type)?;
    }
    let one = Right::scalar(1.0f32);
    rows(&metal, DataType::F32, one, |x| x)?;
    let one = Right::scalar(f16::ONE);
    rows(&metal, DataType::F16, one, f16::from_f32)?;
    let one = Right::scalar(bf16::ONE);
    rows(&metal, DataType::BF16, one, bf16::from_f32)?;
    let one = Right::scalar(1i32);
    rows(&metal, DataType::I32, one, |x| x as i32)?;
    reductions(&metal, DataType::F32, |x| x)?;
    reductions(&metal, DataType::F16, f16::from_f32)?;
    reductions(&metal, DataType::BF16, bf16::from_f32)?;
    if is_wanted("encoded") {
        encoding(&metal)?;
    }
    Ok(())
}
