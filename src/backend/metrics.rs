//! [`Metrics`]: what operations took, and how fast that was.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{Error, Failure, Result};
use crate::metal::dispatches::Work;

/// What a device is able to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// 10^9 floating-point operations in a second.
    pub gflops: f64,
    /// 10^9 bytes read and written in a second.
    pub gigabytes_per_second: f64,
}

/// What an operation took, in all of its calls of one variant with one type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationMetrics {
    /// The method of [`Ops`](crate::ops::Ops), such as `Ops::matmul`; `other` for what is not one of them.
    pub operation: &'static str,
    /// What a method of several operations computed, such as `exp` for `Ops::unary`, or `MPS` for what Metal Performance Shaders
    /// computed; `None` for all other methods.
    pub variant: Option<&'static str>,
    /// The type of its elements, such as `f32`; of weights, if it takes any.
    pub data_type: &'static str,
    /// Calls that had something to do.
    pub calls: u64,
    /// How long the GPU ran, by the timestamps of the command buffers.
    pub gpu_time: Duration,
    /// Floating-point operations: see [`Metrics`].
    pub flops: u64,
    /// Bytes read and written: see [`Metrics`].
    pub bytes: u64,
    /// The least time that the device needs for the operations and bytes by its [`Peak`], over the time that it took; none if
    /// nobody told the peak.
    pub peak_share: Option<f64>,
}

impl OperationMetrics {
    /// 10^9 floating-point operations in a second.
    pub fn gflops(&self) -> f64 {
        rate(self.flops, self.gpu_time)
    }

    /// 10^9 bytes in a second.
    pub fn gigabytes_per_second(&self) -> f64 {
        rate(self.bytes, self.gpu_time)
    }
}

/// 10^9 in a second; 0 if it took no time.
fn rate(count: u64, time: Duration) -> f64 {
    match time.as_nanos() {
        0 => 0.0,
        nanoseconds => count as f64 / nanoseconds as f64,
    }
}

/// One call, as the GPU ran it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub(super) work: Work,
    /// Nanoseconds of the system's monotonic clock.
    pub(super) start: u64,
    pub(super) nanoseconds: u64,
}

/// What the operations of a [`MetalOps`](crate::MetalOps) took while its metrics were on: by operation
/// ([`Metrics::operations`], also as a table by `Display` and as [JSON](Metrics::to_json)), and call by call
/// ([`Metrics::trace`]).
///
/// Floating-point operations, by definition rather than by what a kernel executes: a multiply-add counts 2, and a function or a
/// comparison 1, however it is computed. What only finds elements counts nothing, such as the arithmetic of indices.
///
/// | operation | counted |
/// |---|---|
/// | products of `[m, k]` and `[k, n]`, also by weights | `2 m n k`, for each matrix of a batch |
/// | convolutions | 2 for each element of y and each weight that it meets; transposed ones: each element of x |
/// | attention | `2 rows keys (head size + value size)` for each head, masked keys too |
/// | layer norm, group norm, batch norm in training | 5 for each element of x: sum, difference, square, sum, quotient |
/// | RMS norm; batch norm with given statistics | 3; 2 for each element of x |
/// | norms with a weight, a bias, a residual that is added first | 1 more for each element of x and each of these |
/// | poolings | 1 for each element of y and each element of its window, padding too |
/// | linear interpolation | 2 for each element of y and each of the 2 elements of a sequence, or 4 of an image, that it mixes |
/// | uniform and normal numbers | 2 for each number: it is scaled and shifted |
/// | functions of one and two tensors, comparisons, gates | 1 for each element of y |
/// | reductions, softmax, sums and products up to each element | 1 for each element of x |
/// | scattered sums | 1 for each element of x |
/// | rotary embedding | 1 for each element that turns |
/// | all others, such as copies, gathers and sorts | none: the bytes say what they cost |
///
/// Bytes: those of the elements that the operands have, read or written, each operand once. Elements that a stride of 0 repeats
/// count once, and of a table only the rows that are taken. What a kernel reads twice counts once. Operations of several
/// passes count what each pass moves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    pub(super) spans: Vec<Span>,
    pub(super) peak: Option<Peak>,
}

impl Metrics {
    /// By operation, variant and type, those first that took most time.
    pub fn operations(&self) -> Vec<OperationMetrics> {
        let mut rows: BTreeMap<_, OperationMetrics> = BTreeMap::new();
        for span in &self.spans {
            let row = rows
                .entry((span.work.operation, span.work.variant, span.work.data_type))
                .or_insert(OperationMetrics {
                    operation: span.work.operation,
                    variant: span.work.variant,
                    data_type: span.work.data_type,
                    calls: 0,
                    gpu_time: Duration::ZERO,
                    flops: 0,
                    bytes: 0,
                    peak_share: None,
                });
            row.calls += 1;
            row.gpu_time += Duration::from_nanos(span.nanoseconds);
            row.flops = row.flops.saturating_add(span.work.flops);
            row.bytes = row.bytes.saturating_add(span.work.bytes);
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.sort_by_key(|row| Reverse(row.gpu_time));
        for row in &mut rows {
            row.peak_share = self.peak.map(|peak| {
                let share = |rate: f64, peak: f64| if peak > 0.0 { rate / peak } else { 0.0 };
                share(row.gflops(), peak.gflops)
                    .max(share(row.gigabytes_per_second(), peak.gigabytes_per_second))
            });
        }
        rows
    }

    /// What the device is able to do, if somebody told.
    pub fn peak(&self) -> Option<Peak> {
        self.peak
    }

    /// An object with `peak` (`gflops` and `gigabytes_per_second`, or null) and `operations`, a list of objects with the fields of
    /// [`OperationMetrics`], its rates, and `gpu_seconds` in place of the time.
    pub fn to_json(&self) -> String {
        let row = |row: OperationMetrics| {
            json!({
                "operation": row.operation,
                "variant": row.variant,
                "data_type": row.data_type,
                "calls": row.calls,
                "gpu_seconds": row.gpu_time.as_secs_f64(),
                "flops": row.flops,
                "bytes": row.bytes,
                "gflops": row.gflops(),
                "gigabytes_per_second": row.gigabytes_per_second(),
                "peak_share": row.peak_share,
            })
        };
        let peak = self.peak.map(|peak| {
            json!({ "gflops": peak.gflops, "gigabytes_per_second": peak.gigabytes_per_second })
        });
        let operations: Vec<Value> = self.operations().into_iter().map(row).collect();
        json!({ "peak": peak, "operations": operations }).to_string()
    }

    /// Call by call in the trace event format, which Chrome (`chrome://tracing`) and Perfetto open: complete events (`X`), whose
    /// `ts` and `dur` are microseconds of the GPU's timestamps, with the floating-point operations and bytes as arguments.
    pub fn trace(&self) -> String {
        let events: Vec<Value> = self.spans.iter().map(event).collect();
        json!({ "displayTimeUnit": "ns", "traceEvents": events }).to_string()
    }

    /// Writes [`Metrics::trace`] to a file.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the file cannot be written.
    pub fn write_trace(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        fs::write(path, self.trace()).map_err(|error| {
            let message = format!("the trace cannot be written to {}: {error}", path.display());
            Error::InvalidArgument(Failure::new("Metrics::write_trace", message))
        })
    }
}

/// `Ops::unary exp`, or `Ops::matmul`.
fn name(operation: &str, variant: Option<&str>) -> String {
    match variant {
        Some(variant) => format!("{operation} {variant}"),
        None => operation.to_owned(),
    }
}

fn event(span: &Span) -> Value {
    json!({
        "name": format!("{} {}", name(span.work.operation, span.work.variant), span.work.data_type),
        "cat": "gpu",
        "ph": "X",
        "pid": 1,
        "tid": 1,
        "ts": span.start as f64 / 1e3,
        "dur": span.nanoseconds as f64 / 1e3,
        "args": {
            "operation": span.work.operation,
            "variant": span.work.variant,
            "data_type": span.work.data_type,
            "flops": span.work.flops,
            "bytes": span.work.bytes,
        },
    })
}

/// A table in Markdown; times in milliseconds, a dash where there is nothing to say.
impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| operation | type | calls | GPU ms | GFLOP/s | GB/s | of the peak |"
        )?;
        writeln!(f, "|---|---|---:|---:|---:|---:|---:|")?;
        for row in self.operations() {
            let gflops = match row.flops {
                0 => "-".to_owned(),
                _ => format!("{:.2}", row.gflops()),
            };
            let share = row
                .peak_share
                .map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share));
            writeln!(
                f,
                "| {} | {} | {} | {:.3} | {gflops} | {:.2} | {share} |",
                name(row.operation, row.variant),
                row.data_type,
                row.calls,
                row.gpu_time.as_secs_f64() * 1e3,
                row.gigabytes_per_second(),
            )?;
        }
        Ok(())
    }
}
