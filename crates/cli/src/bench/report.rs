//! The figures of a model in llama-bench's columns, and in the keys of its JSON.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use metal_bridge_llama::gguf::{Gguf, TensorType};
use serde::Serialize;

use super::test::{Kind, Test};
use crate::DecodingChoice;

/// What the table says of the model.
#[derive(Clone)]
pub struct ModelSummary {
    /// Its name, and the format of most of its weights.
    name: String,
    /// Bytes of its tensors.
    bytes: u64,
    parameters: u64,
}

impl ModelSummary {
    pub fn new(gguf: &Gguf) -> Self {
        let tensors = gguf.tensors();
        let mut bytes_in: HashMap<TensorType, u64> = HashMap::new();
        for tensor in tensors {
            *bytes_in.entry(tensor.element_type()).or_default() += tensor.byte_len();
        }
        // Formats of equal shares are told apart by their names, so that each run chooses the same.
        let most = bytes_in
            .into_iter()
            .max_by_key(|&(format, bytes)| (bytes, format.name()));
        // Both keys are optional, and the model's loader has judged what has to be right.
        let text = |key| gguf.get_str(key).ok().flatten();
        let name = text("general.name").or(text("general.architecture"));
        let parts = [name, most.map(|(format, _)| format.name())]
            .into_iter()
            .flatten();
        // A name may hold the end of a line, which would end the table's row.
        let words = parts.flat_map(str::split_whitespace);
        Self {
            name: words.collect::<Vec<_>>().join(" "),
            bytes: tensors.iter().map(|tensor| tensor.byte_len()).sum(),
            parameters: tensors.iter().map(|tensor| tensor.element_count()).sum(),
        }
    }
}

/// One test and what it took.
pub struct Row {
    pub model: ModelSummary,
    pub backend: String,
    pub threads: usize,
    pub test: Test,
    pub decoding: DecodingChoice,
    pub times: Vec<Duration>,
    /// To encode a command buffer and to commit it.
    pub host_time_per_command_buffer: Duration,
    pub dispatches_per_command_buffer: f64,
    pub peak_memory_bytes: Option<u64>,
}

/// A row with llama-bench's keys; after `samples_ts` come keys of metal-bridge's own.
#[derive(Serialize)]
struct Record<'a> {
    model_type: &'a str,
    model_size: u64,
    model_n_params: u64,
    backends: &'a str,
    n_threads: usize,
    n_prompt: usize,
    n_gen: usize,
    n_depth: usize,
    type_k: &'static str,
    type_v: &'static str,
    avg_ns: f64,
    stddev_ns: f64,
    avg_ts: f64,
    stddev_ts: f64,
    samples_ns: Vec<f64>,
    samples_ts: Vec<f64>,
    test: String,
    n_parallel: usize,
    replay: bool,
    activations: &'static str,
    host_ns_per_command_buffer: f64,
    dispatches_per_command_buffer: f64,
    peak_memory_bytes: Option<u64>,
}

impl Row {
    /// Tokens a second, for each run.
    fn rates(&self) -> Vec<f64> {
        let rate = |time: &Duration| self.test.all_tokens() as f64 / time.as_secs_f64();
        self.times.iter().map(rate).collect()
    }

    fn record(&self) -> Record<'_> {
        let samples_ts = self.rates();
        let samples_ns: Vec<f64> = self.times.iter().map(|t| t.as_secs_f64() * 1e9).collect();
        let (avg_ns, stddev_ns) = mean_and_deviation(&samples_ns);
        let (avg_ts, stddev_ts) = mean_and_deviation(&samples_ts);
        let tokens_if = |kind| match self.test.kind == kind {
            true => self.test.tokens,
            false => 0,
        };
        Record {
            model_type: &self.model.name,
            model_size: self.model.bytes,
            model_n_params: self.model.parameters,
            backends: &self.backend,
            n_threads: self.threads,
            n_prompt: tokens_if(Kind::Prompt),
            n_gen: tokens_if(Kind::Decode),
            n_depth: self.test.depth,
            type_k: self.decoding.cache.name(),
            type_v: self.decoding.cache.name(),
            avg_ns,
            stddev_ns,
            avg_ts,
            stddev_ts,
            samples_ns,
            samples_ts,
            test: self.test.name(),
            n_parallel: self.test.texts,
            replay: self.decoding.replay,
            activations: self.decoding.activations.name(),
            host_ns_per_command_buffer: self.host_time_per_command_buffer.as_secs_f64() * 1e9,
            dispatches_per_command_buffer: self.dispatches_per_command_buffer,
            peak_memory_bytes: self.peak_memory_bytes,
        }
    }

    fn cells(&self) -> [String; 7] {
        let (mean, deviation) = mean_and_deviation(&self.rates());
        [
            self.model.name.replace('|', "\\|"),
            size(self.model.bytes),
            parameters(self.model.parameters),
            self.backend.replace('|', "\\|"),
            self.threads.to_string(),
            self.test.name(),
            format!("{mean:.2} ± {deviation:.2}"),
        ]
    }
}

/// The mean, and the deviation of samples from it; 0 for one sample.
fn mean_and_deviation(samples: &[f64]) -> (f64, f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

fn size(bytes: u64) -> String {
    let (mib, gib) = (f64::from(1 << 20), f64::from(1 << 30));
    match bytes as f64 {
        bytes if bytes < gib => format!("{:.2} MiB", bytes / mib),
        bytes => format!("{:.2} GiB", bytes / gib),
    }
}

fn parameters(count: u64) -> String {
    match count as f64 {
        count if count < 1e9 => format!("{:.2} M", count / 1e6),
        count => format!("{:.2} B", count / 1e9),
    }
}

pub fn print_json(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    let records: Vec<_> = rows.iter().map(Row::record).collect();
    serde_json::to_writer_pretty(&mut *out, &records)?;
    writeln!(out)
}

/// A table in Markdown whose columns are aligned in plain text, too.
pub fn print_markdown(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    const HEAD: [&str; 7] = [
        "model", "size", "params", "backend", "threads", "test", "t/s",
    ];
    /// Columns of numbers, to the right.
    const NUMBERS: [bool; 7] = [false, true, true, false, true, true, true];
    let cells: Vec<_> = std::iter::once(HEAD.map(str::to_owned))
        .chain(rows.iter().map(Row::cells))
        .collect();
    let widths: [usize; 7] = std::array::from_fn(|column| {
        let widths = cells.iter().map(|row| row[column].chars().count());
        // Room for `--:`.
        widths.max().unwrap_or(0).max(3)
    });
    for (index, row) in cells.iter().enumerate() {
        for ((cell, width), is_number) in row.iter().zip(widths).zip(NUMBERS) {
            match is_number {
                true => write!(out, "| {cell:>width$} ")?,
                false => write!(out, "| {cell:<width$} ")?,
            }
        }
        writeln!(out, "|")?;
        if index == 0 {
            for (width, is_number) in widths.into_iter().zip(NUMBERS) {
                let (dashes, end) = ("-".repeat(width - 1), if is_number { ':' } else { '-' });
                write!(out, "| {dashes}{end} ")?;
            }
            writeln!(out, "|")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_those_of_samples() {
        assert_eq!(mean_and_deviation(&[3.0]), (3.0, 0.0));
        assert_eq!(mean_and_deviation(&[1.0, 3.0]), (2.0, f64::sqrt(2.0)));
    }

    #[test]
    fn sizes_and_counts_have_the_unit_that_suits_them() {
        assert_eq!(size(1 << 29), "512.00 MiB");
        assert_eq!(size(3 << 29), "1.50 GiB");
        assert_eq!(parameters(1_500_000), "1.50 M");
        assert_eq!(parameters(1_100_000_000), "1.10 B");
    }
}
