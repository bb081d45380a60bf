//! Prints what criterion measured as one Markdown table: a row a benchmark, a column a contender.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// One row of the table and how its time turns into a rate.
pub struct Row {
    /// The criterion group, which is also the row's name.
    pub group: String,
    /// The work of one iteration in billions: with the time in nanoseconds it gives the rate.
    pub giga_work: f64,
    /// `GB/s`, `GFLOP/s`, ...; `ns` for the time itself.
    pub unit: &'static str,
}

/// Where criterion keeps its results: beside the other build products.
pub fn output_directory() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
        PathBuf::from,
    );
    target.join("criterion")
}

/// The median time of one iteration in nanoseconds, or none if the benchmark has not run since `start`: an older
/// run's result must not stand beside this one's.
fn median_ns(directory: &Path, start: SystemTime, group: &str, contender: &str) -> Option<f64> {
    // Criterion replaces the separators of an id when it names the folder.
    let folder = directory.join(group.replace('/', "_")).join(contender);
    let path = folder.join("new/estimates.json");
    if path.metadata().ok()?.modified().ok()? < start {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    json["median"]["point_estimate"].as_f64()
}

/// Prints the rows measured since `start`. The ratio is that of `ours` to the best contender: above 1 is faster for a rate,
/// slower for a time.
pub fn print(rows: &[Row], start: SystemTime, ours: &str, contenders: &[&str]) {
    let directory = output_directory();
    println!(
        "\n| benchmark | unit | {ours} | {} | ratio |",
        contenders.join(" | ")
    );
    println!("|---|---|---:|{}---:|", "---:|".repeat(contenders.len()));
    for row in rows {
        let rate = |contender: &str| {
            let ns = median_ns(&directory, start, &row.group, contender)?;
            Some(if row.unit == "ns" {
                ns
            } else {
                row.giga_work / ns * 1e9
            })
        };
        let Some(own) = rate(ours) else { continue };
        let others: BTreeMap<&str, f64> = contenders
            .iter()
            .filter_map(|c| Some((*c, rate(c)?)))
            .collect();
        let cells: Vec<String> = contenders
            .iter()
            .map(|c| {
                others
                    .get(c)
                    .map_or_else(String::new, |v| format!("{v:.2}"))
            })
            .collect();
        let best =
            others
                .values()
                .copied()
                .reduce(if row.unit == "ns" { f64::min } else { f64::max });
        let ratio = best.map_or_else(String::new, |b| format!("{:.2}", own / b));
        println!(
            "| {} | {} | {own:.2} | {} | {ratio} |",
            row.group,
            row.unit,
            cells.join(" | ")
        );
    }
}
