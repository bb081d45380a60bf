//! The metrics of operations: what is counted, and that table, JSON and trace say the same.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use approx::{abs_diff_eq, relative_eq};
use metal_bridge::ops::{
    Attention, Binary, Convolution, Matmul, Reduction, SortOrder, Tensor, Unary, View, WeightType,
};
use metal_bridge::{Buffer, MetalOps, OperationMetrics, Peak, StorageMode};
use serde_json::{Value, json};

use crate::support::{matrix, metal, rng};

fn memory(ops: &MetalOps, floats: usize) -> Buffer {
    ops.backend()
        .create_buffer_with_data(&vec![1.0f32; floats], StorageMode::Shared)
        .expect("a buffer")
}

fn tensor<'a>(buffer: &'a Buffer, shape: &[usize]) -> Tensor<'a> {
    Tensor::of::<f32>(buffer, shape).expect("a shape")
}

/// What `call` adds to the metrics of an operation, which is the only one that it calls: FLOPs and bytes.
fn counted(ops: &MetalOps, name: &str, call: impl FnOnce()) -> (u64, u64) {
    ops.reset_metrics();
    call();
    let rows = ops.metrics().operations();
    let [row] = rows[..] else {
        panic!("{name}: {rows:?}");
    };
    assert_eq!((row.operation, row.calls), (name, 1));
    assert!(row.gpu_time > Duration::ZERO, "{row:?}");
    (row.flops, row.bytes)
}

#[test]
fn each_operation_counts_what_it_computes_and_moves() {
    let ops = metal();
    ops.enable_metrics(true);
    let [a, b, y] = [(); 3].map(|()| memory(&ops, 4096));
    let count = |name, call: &dyn Fn() -> metal_bridge::Result<()>| {
        counted(&ops, name, || call().expect("the operation"))
    };
    let add = || ops.add(&a, &b, &y, 100);
    assert_eq!(count("Ops::binary", &add), (100, 3 * 400));
    // A row that is added to each of ten counts once.
    let add_row = || {
        let (row, ten) = (tensor(&b, &[1, 7]), [10, 7]);
        ops.binary(Binary::Add, tensor(&a, &ten), row, tensor(&y, &ten))
    };
    assert_eq!(count("Ops::binary", &add_row), (70, (70 + 7 + 70) * 4));
    // Only the elements of a column between others count.
    let column = || {
        let column = tensor(&a, &[16, 16]).narrow(1, 3, 2)?;
        ops.unary(Unary::Neg, column, tensor(&y, &[16, 2]))
    };
    assert_eq!(count("Ops::unary", &column), (32, 2 * 32 * 4));
    let product = || {
        let (a, b) = (
            tensor(&a, &[2, 3, 5]),
            tensor(&b, &[5, 7]).broadcast_to(&[2, 5, 7])?,
        );
        ops.matmul_with(Matmul::default(), a, b, tensor(&y, &[2, 3, 7]))
    };
    let expected = (2 * 2 * 3 * 5 * 7, (30 + 35 + 42) * 4);
    assert_eq!(count("Ops::matmul", &product), expected);
    let sum = || {
        let (x, y) = (tensor(&a, &[3, 5, 4]), tensor(&y, &[3, 4]));
        ops.reduce(Reduction::Sum, x, &[1], y)
    };
    assert_eq!(count("Ops::reduce", &sum), (60, (60 + 12) * 4));
    let convolve = || {
        let (x, weight) = (tensor(&a, &[1, 4, 9, 9]), tensor(&b, &[6, 2, 3, 3]));
        let convolution = Convolution::<2> {
            groups: 2,
            ..Default::default()
        };
        ops.convolution(x, weight, None, &convolution, tensor(&y, &[1, 6, 7, 7]))
    };
    let (x, weight, result) = (4 * 9 * 9, 6 * 2 * 3 * 3, 6 * 7 * 7);
    let expected = (2 * result * 2 * 3 * 3, (x + weight + result) * 4);
    assert_eq!(count("Ops::convolution", &convolve), expected);
    let transpose = || {
        let (x, weight) = (tensor(&a, &[1, 4, 7, 7]), tensor(&b, &[4, 3, 3, 3]));
        let convolution = Convolution::<2> {
            groups: 2,
            ..Default::default()
        };
        ops.transposed_convolution(x, weight, None, &convolution, tensor(&y, &[1, 6, 9, 9]))
    };
    let (x, weight, result) = (4 * 7 * 7, 4 * 3 * 3 * 3, 6 * 9 * 9);
    let expected = (2 * x * 3 * 3 * 3, (x + weight + result) * 4);
    assert_eq!(count("Ops::transposed_convolution", &transpose), expected);
    let attend = || {
        let (q, kv) = (tensor(&a, &[1, 4, 3, 8]), tensor(&b, &[1, 2, 5, 8]));
        let attention = Attention::default();
        ops.scaled_dot_product_attention(q, kv, kv, &attention, tensor(&y, &[1, 4, 3, 8]))
    };
    let expected = (2 * 4 * 3 * 5 * 16, (96 + 80 + 80 + 96) * 4);
    assert_eq!(
        count("Ops::scaled_dot_product_attention", &attend),
        expected
    );
    let gather = || {
        let ids = Tensor::of::<i32>(&b, &[3])?;
        ops.embedding(tensor(&a, &[100, 8]), ids, tensor(&y, &[3, 8]))
    };
    assert_eq!(count("Ops::embedding", &gather), (0, (24 + 3 + 24) * 4));
    // Runs of 16 in the first pass, one merge, and the elements by their indices.
    let sort = || {
        let order = SortOrder {
            axis: 0,
            descending: false,
        };
        let (indices, scratch) = (Tensor::of::<u32>(&b, &[20])?, View::new(&b, 1024));
        ops.sort(
            order,
            tensor(&a, &[20]),
            tensor(&y, &[20]),
            indices,
            scratch,
        )
    };
    assert_eq!(count("Ops::sort", &sort), (0, (2 + 3 + 3) * 80));
    let weight = matrix(&mut rng(1), WeightType::Q4_0, 6, 64, 1.0, 0).weight;
    let linear = || ops.linear(&weight, &[1.0; 3 * 64]).map(drop);
    let expected = (2 * 3 * 6 * 64, 6 * 2 * 18 + (3 * 64 + 3 * 6) * 4);
    assert_eq!(count("Ops::linear", &linear), expected);
}

#[test]
fn metrics_add_up_to_the_trace() {
    let ops = metal();
    let [a, b, y] = [(); 3].map(|()| memory(&ops, 4096));
    let (fills, filled) = mpsc::channel();
    let work = || {
        ops.add(&a, &b, &y, 4096).expect("adds");
        let mut batch = ops.batch();
        for _ in 0..3 {
            batch.binary(Binary::Mul, &a, &b, &y).expect("multiplies");
            batch.unary(Unary::Exp, &y, &y).expect("an exponential");
        }
        batch
            .unary(Unary::Exp, tensor(&y, &[0]), tensor(&y, &[0]))
            .expect("nothing");
        batch
            .encode_commands(|commands| {
                let fills = fills.clone();
                commands.add_completed_handler(move |fill| fills.send(fill.times()).unwrap_or(()));
                commands.blit_command_encoder()?.fill(&y, 0..64, 0)
            })
            .expect("fills");
        let barriers = batch.barriers();
        batch.commit().expect("commits").wait().expect("completes");
        ops.matmul(&a, &b, &y, 16, 16, 16).expect("a product");
        barriers
    };
    assert!(work() > 0);
    assert_eq!(ops.metrics().operations(), [], "metrics are off");
    // Command buffers of nobody's before and after, so that the metrics have somebody else's clock to agree with.
    let stamp = || {
        let mut commands = ops.backend().queue().command_buffer().expect("commands");
        let mut blits = commands.blit_command_encoder().expect("an encoder");
        blits.fill(&y, 0..64, 0).expect("fills");
        blits.end_encoding().expect("ends");
        let submission = commands.commit().expect("commits");
        submission.wait().expect("completes");
        submission.times().expect("the times")
    };
    let (host, before) = (Instant::now(), stamp());
    ops.enable_metrics(true);
    assert_eq!(work(), 0, "each operation is alone in its command buffer");
    ops.enable_metrics(false);
    let (after, host) = (stamp(), host.elapsed());
    work();
    ops.set_peak(Peak {
        gflops: 1e6,
        gigabytes_per_second: 1e6,
    });
    let metrics = ops.clone().metrics();

    let trace: Value = serde_json::from_str(&metrics.trace()).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    assert_eq!(events.len(), 9);
    // In microseconds. What is recorded is cut to nanoseconds.
    let mut end = before.gpu_end * 1e6 - 0.01;
    for event in events {
        assert_eq!(event["ph"], "X");
        let start = event["ts"].as_f64().expect("a start");
        assert!(start >= end, "the GPU runs one at a time: {event}");
        end = start + event["dur"].as_f64().expect("a duration");
    }
    assert!(end <= after.gpu_start * 1e6 + 0.01, "{end} after {after:?}");
    assert!(
        after.gpu_end - before.gpu_start <= host.as_secs_f64(),
        "{before:?} to {after:?} in {host:?}"
    );
    // The command buffer of the second fill, which was measured, says itself when it ran.
    let times = filled.try_iter().nth(1).expect("three fills");
    let fill = &events[7];
    assert_eq!(fill["args"]["operation"], "other");
    for (name, seconds) in [
        ("ts", times.gpu_start),
        ("dur", times.gpu_end - times.gpu_start),
    ] {
        let recorded = fill[name].as_f64().expect("microseconds");
        assert!(
            abs_diff_eq!(recorded, seconds * 1e6, epsilon = 0.01),
            "{fill} is not {times:?}"
        );
    }
    let rows = metrics.operations();
    let of = |row: &OperationMetrics| {
        let sum = |number: &dyn Fn(&Value) -> f64| -> f64 {
            let of_row = |event: &&Value| {
                event["args"]["operation"] == row.operation
                    && event["args"]["variant"] == json!(row.variant)
                    && event["args"]["data_type"] == row.data_type
            };
            events.iter().filter(of_row).map(number).sum()
        };
        let args =
            |name: &'static str| sum(&|event| event["args"][name].as_f64().expect("a number"));
        [
            sum(&|_| 1.0),
            sum(&|event| event["dur"].as_f64().expect("a duration")) * 1e3,
            args("flops"),
            args("bytes"),
        ]
    };
    for row in &rows {
        let [calls, nanoseconds, flops, bytes] = of(row);
        assert_eq!(row.calls as f64, calls, "{row:?}");
        assert_eq!(
            row.gpu_time.as_nanos() as f64,
            nanoseconds.round(),
            "{row:?}"
        );
        assert_eq!(
            (row.flops as f64, row.bytes as f64),
            (flops, bytes),
            "{row:?}"
        );
        let (flops, bytes) = (
            row.flops as f64 / nanoseconds,
            row.bytes as f64 / nanoseconds,
        );
        let is_close = |a: f64, b: f64| relative_eq!(a, b, max_relative = 1e-9);
        assert!(is_close(row.gflops(), flops), "{row:?}");
        let share = row.peak_share.expect("a share");
        assert!(is_close(share, flops.max(bytes) / 1e6), "{row:?}");
    }
    let mut calls: Vec<_> = rows
        .iter()
        .map(|row| (row.operation, row.variant, row.data_type, row.calls))
        .collect();
    calls.sort_unstable();
    assert_eq!(
        calls,
        [
            ("Ops::binary", Some("add"), "f32", 1),
            ("Ops::binary", Some("mul"), "f32", 3),
            ("Ops::matmul", None, "f32", 1),
            ("Ops::unary", Some("exp"), "f32", 3),
            ("other", None, "-", 1)
        ]
    );

    let json: Value = serde_json::from_str(&metrics.to_json()).expect("JSON");
    assert_eq!(json["peak"]["gflops"], 1e6);
    let table = metrics.to_string();
    for (row, json) in rows
        .iter()
        .zip(json["operations"].as_array().expect("rows"))
    {
        assert_eq!(
            (json["operation"].as_str(), json["calls"].as_u64()),
            (Some(row.operation), Some(row.calls))
        );
        assert_eq!(
            (json["flops"].as_u64(), json["bytes"].as_u64()),
            (Some(row.flops), Some(row.bytes))
        );
        // The reader's last bit may be another than the writer's.
        let (read, seconds) = (json["gpu_seconds"].as_f64(), row.gpu_time.as_secs_f64());
        let difference = read.expect("a number") - seconds;
        assert!(difference.abs() <= f64::EPSILON * seconds, "{row:?}");
        assert_eq!(json["variant"], json!(row.variant));
        let variant = row.variant.map(|variant| format!(" {variant}"));
        let cells = format!(
            "| {}{} | {} | {} | {:.3} |",
            row.operation,
            variant.unwrap_or_default(),
            row.data_type,
            row.calls,
            row.gpu_time.as_secs_f64() * 1e3
        );
        assert!(table.contains(&cells), "{table}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.json");
    metrics.write_trace(&path).expect("a trace");
    assert_eq!(
        std::fs::read_to_string(&path).expect("the trace"),
        metrics.trace()
    );
    let refused = metrics.write_trace(folder.path()).expect_err("a folder");
    assert!(
        refused.to_string().contains("Metrics::write_trace"),
        "{refused}"
    );
    ops.reset_metrics();
    assert_eq!(ops.metrics().operations(), []);
}

#[test]
fn a_peak_is_measured_apart_from_the_metrics() {
    let ops = metal();
    ops.enable_metrics(true);
    let peak = ops.measure_peak().expect("a peak");
    assert!(
        peak.gflops > 0.0 && peak.gigabytes_per_second > 0.0,
        "{peak:?}"
    );
    let metrics = ops.metrics();
    assert_eq!((metrics.peak(), metrics.operations()), (Some(peak), vec![]));
}
