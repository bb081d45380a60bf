//! Products, convolutions and others through Metal Performance Shaders, through the kernels of the crate, and by libraries for CPUs where the
//! loader finds them, in turns. `cargo bench --bench mps`.

use std::ffi::{c_char, c_int};
use std::mem::transmute;
use std::time::Duration;

use metal_bridge::mps::{
    self, BatchNormalization, BatchNormalizationDescriptor, ChannelParameters, DataType, Layout,
    Matrix, MatrixFindTopK, MatrixMultiplication, MatrixSoftMax, NdArray,
    ScaledDotProductAttention, ScaledDotProductAttentionDescriptor,
};
use metal_bridge::ops::{Attention, Convolution, Norm, Ops, SortOrder, Tensor};
use metal_bridge::{Buffer, Choice, CommandBuffer, MetalBackend, MetalOps, Result, StorageMode};
use metal_bridge_benches::beside::is_wanted;
use metal_bridge_benches::data;
use metal_bridge_benches::dnnl;
use metal_bridge_benches::layers::{Layer, RESNET_50};
use metal_bridge_benches::libraries::function;
use metal_bridge_benches::rounds::{Contender, best_of, settled};

const BUDGET: Duration = Duration::from_secs(3);
/// For one layer.
const BUDGET_OF_LAYER: Duration = Duration::from_millis(1200);

type CblasSgemm = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    f32,
    *mut f32,
    c_int,
);

/// C = A B for square matrices of `n` rows, by another library.
type Product = Box<dyn Fn(&[f32], &[f32], &mut [f32], usize)>;

/// By OpenBLAS.
fn openblas() -> Option<Product> {
    let found = function(&[c"libopenblas.so.0"], c"cblas_sgemm")?;
    // SAFETY: that is its type where its integers have 32 bits, as in the library of this name.
    let sgemm: CblasSgemm = unsafe { transmute(found) };
    Some(Box::new(move |a, b, c, n| {
        let size = n as c_int;
        assert!([a.len(), b.len(), c.len()] == [n * n; 3]);
        // Rows first; no transposes.
        // SAFETY: all three are n x n.
        unsafe {
            sgemm(
                101,
                111,
                111,
                size,
                size,
                size,
                1.0,
                a.as_ptr(),
                size,
                b.as_ptr(),
                size,
                0.0,
                c.as_mut_ptr(),
                size,
            );
        }
    }))
}

type DnnlSgemm = unsafe extern "C" fn(
    c_char,
    c_char,
    i64,
    i64,
    i64,
    f32,
    *const f32,
    i64,
    *const f32,
    i64,
    f32,
    *mut f32,
    i64,
) -> c_int;

/// By oneDNN.
fn dnnl() -> Option<Product> {
    let found = function(&[c"libdnnl.so.3", c"libdnnl.so.2"], c"dnnl_sgemm")?;
    // SAFETY: that is its type in both versions.
    let sgemm: DnnlSgemm = unsafe { transmute(found) };
    Some(Box::new(move |a, b, c, n| {
        let (size, plain) = (n as i64, b'N' as c_char);
        assert!([a.len(), b.len(), c.len()] == [n * n; 3]);
        // SAFETY: all three are n x n.
        let status = unsafe {
            sgemm(
                plain,
                plain,
                size,
                size,
                size,
                1.0,
                a.as_ptr(),
                size,
                b.as_ptr(),
                size,
                0.0,
                c.as_mut_ptr(),
                size,
            )
        };
        assert_eq!(status, 0);
    }))
}

/// Prints a line of the table: billions of floating-point operations a second.
fn print(what: &str, flops: f64, names: &[&str], times: &[Duration]) {
    let rates = names.iter().zip(times).map(|(name, time)| {
        let rate = flops / time.as_secs_f64() / 1e9;
        format!("{name} {rate:.1}")
    });
    println!(
        "| {what} | GFLOP/s | {} |",
        rates.collect::<Vec<_>>().join(" | ")
    );
}

fn products(ops: &MetalOps, n: usize) -> Result<()> {
    let [a, b] = [1, 2].map(|seed| data::uniform(n * n, seed));
    let (mut c, mut d) = (vec![0.0; n * n], vec![0.0; n * n]);
    let memory = |values: &[f32]| {
        ops.backend()
            .create_buffer_with_data(values, StorageMode::Shared)
    };
    let (of_a, of_b, of_y) = (memory(&a)?, memory(&b)?, memory(&a)?);
    let matrix = |buffer: &Buffer| Matrix::new(buffer, n, n, DataType::Float32);
    let kernel = MatrixMultiplication::new(ops.backend().metal_device(), n, n, n)?;
    let (left, right, result) = (matrix(&of_a), matrix(&of_b), matrix(&of_y));
    let through_mps = settled(|| {
        let run = || -> Result<()> {
            let mut commands = ops.backend().queue().command_buffer()?;
            kernel.encode(&mut commands, &left, &right, &result)?;
            commands.commit()?.wait()
        };
        run().expect("a product");
    });
    let through_kernels = settled(|| {
        ops.set_choice(Choice::Kernels);
        ops.matmul(&of_a, &of_b, &of_y, n, n, n).expect("a product");
    });
    let mut names = vec!["MPS", "kernels"];
    let mut contenders = vec![through_mps, through_kernels];
    if let Some(multiply) = openblas() {
        names.push("OpenBLAS");
        let (a, b, c) = (&a, &b, &mut c);
        contenders.push(settled(move || multiply(a, b, c, n)));
    }
    if let Some(multiply) = dnnl() {
        names.push("oneDNN");
        let (a, b, d) = (&a, &b, &mut d);
        contenders.push(settled(move || multiply(a, b, d, n)));
    }
    let times = best_of(BUDGET, &mut contenders);
    print(
        &format!("f32 product {n} cubed"),
        2.0 * (n as f64).powi(3),
        &names,
        &times,
    );
    Ok(())
}

/// A layer in GFLOP/s: MPS and the kernels, oneDNN on memory in their layout, and in the layout that it likes best. The ratios are
/// those of MPS and of the kernels to the faster of the two.
fn convolution(ops: &MetalOps, layer: &Layer) -> Result<()> {
    let [x, w, y] = [layer.source(), layer.weights(), layer.result()];
    let memory = |shape: &[usize; 4], seed| {
        let values = data::uniform(shape.iter().product(), seed);
        ops.backend()
            .create_buffer_with_data(&values, StorageMode::Shared)
    };
    let (of_x, of_w, of_y) = (memory(&x, 1)?, memory(&w, 2)?, memory(&y, 3)?);
    let options = Convolution {
        stride: [layer.stride; 2],
        padding: [[layer.padding(); 2]; 2],
        ..Convolution::<2>::default()
    };
    let run = |choice| -> Contender<'_> {
        let tensor = |buffer, shape: &[usize; 4]| Tensor::of::<f32>(buffer, shape);
        let (of_x, of_w, of_y) = (tensor(&of_x, &x), tensor(&of_w, &w), tensor(&of_y, &y));
        let (of_x, of_w, of_y) = (of_x.expect("x"), of_w.expect("w"), of_y.expect("y"));
        settled(move || {
            ops.set_choice(choice);
            ops.convolution(of_x, of_w, None, &options, of_y)
                .expect("a convolution");
        })
    };
    let mut contenders = vec![run(Choice::Mps), run(Choice::Kernels)];
    for layout in [dnnl::Layout::Plain, dnnl::Layout::Chosen] {
        contenders.extend(dnnl::convolution(layer, layout).map(settled));
    }
    let times = best_of(BUDGET_OF_LAYER, &mut contenders);
    let rates: Vec<f64> = times
        .iter()
        .map(|time| layer.flops() / time.as_secs_f64() / 1e9)
        .collect();
    let best = rates[2..].iter().copied().reduce(f64::max);
    let ratios = rates[..2].iter().filter_map(|rate| Some(rate / best?));
    let cells = rates.iter().map(|rate| format!("{rate:.1}"));
    let cells = cells.chain(ratios.map(|ratio| format!("{ratio:.2}")));
    println!("| {layer} | {} |", cells.collect::<Vec<_>>().join(" | "));
    Ok(())
}

/// Encodes an operation of MPS.
type Encode<'a> = Box<dyn Fn(&mut CommandBuffer) -> Result<()> + 'a>;

/// Operations that [`MetalOps`] always computes by the kernels, through MPS and through the kernels.
fn others(ops: &MetalOps) -> Result<()> {
    const ROWS: usize = 4096;
    const COLUMNS: usize = 1024;
    const K: usize = 16;
    const IMAGES: [usize; 4] = [16, 64, 64, 64];
    const HEADS: [usize; 4] = [1, 8, 512, 64];
    const FLOAT: DataType = DataType::Float32;
    let device = ops.backend().metal_device();
    let memory = |seed| {
        let values: Vec<f32> = data::uniform(ROWS * COLUMNS, seed);
        let positive: Vec<f32> = values.iter().map(|value| value.abs() + 0.5).collect();
        ops.backend()
            .create_buffer_with_data(&positive, StorageMode::Shared)
    };
    let (x, y, z) = (memory(1)?, memory(2)?, memory(3)?);
    let tensor = |buffer, shape: &[usize]| Tensor::of::<f32>(buffer, shape);
    let array = |buffer, shape: &[usize]| NdArray::new(buffer, shape, FLOAT);
    let [x_rows, y_rows] = [&x, &y].map(|buffer| Matrix::new(buffer, ROWS, COLUMNS, FLOAT));
    let line = |what: &str, by_mps: Encode<'_>, by_kernels: &dyn Fn() -> Result<()>| {
        if !is_wanted(what) {
            return;
        }
        let through_mps = settled(|| {
            let run = || -> Result<()> {
                let mut commands = ops.backend().queue().command_buffer()?;
                by_mps(&mut commands)?;
                commands.commit()?.wait()
            };
            run().expect("an operation of MPS");
        });
        let through_kernels = settled(|| by_kernels().expect("an operation"));
        let times = best_of(BUDGET, &mut [through_mps, through_kernels]);
        let [mps, kernels] = [0, 1].map(|index: usize| times[index].as_secs_f64() * 1e3);
        println!(
            "| {what} | {mps:.2} | {kernels:.2} | {:.2} |",
            mps / kernels
        );
    };
    println!(
        "\n| f32 | MPS, ms | kernels, ms | speed of the kernels to that of MPS |\n|---|---:|---:|---:|"
    );
    let kernel = MatrixSoftMax::new(device)?;
    let encode = Box::new(|commands: &mut _| kernel.encode(commands, &x_rows, &y_rows));
    let (from, to) = (tensor(&x, &[ROWS, COLUMNS])?, tensor(&y, &[ROWS, COLUMNS])?);
    line("softmax of 4096 rows of 1024", encode, &|| {
        ops.softmax(from, 1, to)
    });

    let kernel = MatrixFindTopK::new(device, K)?;
    let [places, largest] = [(&y, DataType::UInt32), (&z, FLOAT)]
        .map(|(buffer, data_type)| Matrix::new(buffer, ROWS, K, data_type));
    let encode = Box::new(|commands: &mut _| kernel.encode(commands, &x_rows, &places, &largest));
    let scratch = ops
        .backend()
        .create_buffer(Ops::sort_scratch(&[ROWS, COLUMNS], 1)?, StorageMode::Shared)?;
    let order = SortOrder {
        axis: 1,
        descending: true,
    };
    let (values, indices) = (tensor(&z, &[ROWS, K])?, Tensor::of::<u32>(&y, &[ROWS, K])?);
    line("largest 16 of 4096 rows of 1024", encode, &|| {
        ops.top_k(order, from, values, indices, &scratch)
    });

    let kernel = BatchNormalization::new(
        device,
        &BatchNormalizationDescriptor {
            data_type: FLOAT,
            layout: Layout::Nchw,
            batch: IMAGES[0],
            channels: IMAGES[1],
            size: [IMAGES[2], IMAGES[3]],
            epsilon: 1e-5,
            has_gamma: false,
            has_beta: false,
        },
    )?;
    let (input, result) = (array(&x, &IMAGES)?, array(&y, &IMAGES)?);
    let channels = array(&z, &IMAGES[1..2])?;
    let encode = Box::new(|commands: &mut _| {
        let parameters = ChannelParameters {
            mean: &channels,
            variance: &channels,
            gamma: None,
            beta: None,
        };
        kernel.encode(commands, &input, &parameters, &result)
    });
    let (from, to, statistics) = (
        tensor(&x, &IMAGES)?,
        tensor(&y, &IMAGES)?,
        tensor(&z, &IMAGES[1..2])?,
    );
    line("batch norm of 16 x 64 x 64 x 64", encode, &|| {
        ops.batch_norm(from, statistics, statistics, &Norm::default(), to)
    });

    let kernel = ScaledDotProductAttention::new(
        device,
        &ScaledDotProductAttentionDescriptor {
            data_type: FLOAT,
            batch: HEADS[0],
            query_heads: HEADS[1],
            key_heads: HEADS[1],
            queries: HEADS[2],
            keys: HEADS[2],
            head_size: HEADS[3],
            value_size: HEADS[3],
            scale: 0.125,
            mask: None,
        },
    )?;
    let (read, written) = (array(&x, &HEADS)?, array(&y, &HEADS)?);
    let encode =
        Box::new(|commands: &mut _| kernel.encode(commands, &read, &read, &read, None, &written));
    let (from, to) = (tensor(&x, &HEADS)?, tensor(&y, &HEADS)?);
    line(
        "attention, 8 heads of 64, 512 rows and keys",
        encode,
        &|| ops.scaled_dot_product_attention(from, from, from, &Attention::default(), to),
    );
    Ok(())
}

fn main() -> Result<()> {
    let ops = MetalOps::new(MetalBackend::initialize()?);
    if !mps::is_supported(ops.backend().metal_device()) {
        println!("the device does not support Metal Performance Shaders");
        return Ok(());
    }
    if is_wanted("product") {
        products(&ops, 1024)?;
    }
    others(&ops)?;
    println!(
        "\n| convolution | MPS | kernels | oneDNN, NCHW | oneDNN, its choice | MPS of the better | kernels of it |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for layer in RESNET_50
        .iter()
        .filter(|layer| is_wanted(&layer.to_string()))
    {
        convolution(&ops, layer)?;
    }
    Ok(())
}
