//! Prints what criterion measured as one Markdown table: a row a benchmark, a column a contender.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One row of the table and how its time turns into a rate.
pub struct Row {
    /// The criterion group, which is also the row's name.
    pub group: String,
    /// The work of one iteration, in `unit`s times 1e9.
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

/// The median time of one iteration in nanoseconds, or none where the benchmark was filtered out.
fn median_ns(directory: &Path, group: &str, contender: &str) -> Option<f64> {
    // Criterion replaces the separators of an id when it names the folder.
    let folder = directory.join(group.replace('/', "_")).join(contender);
    let text = std::fs::read_to_string(folder.join("new/estimates.json")).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    json["median"]["point_estimate"].as_f64()
}

/// Prints the rows that have been measured. `baseline` names the contender that the ratio column compares ours with.
pub fn print(rows: &[Row], ours: &str, contenders: &[&str]) {
    let directory = output_directory();
    println!(
        "\n| benchmark | unit | {ours} | {} | ratio |",
        contenders.join(" | ")
    );
    println!("|---|---|---:|{}---:|", "---:|".repeat(contenders.len()));
    for row in rows {
        let rate = |contender: &str| {
            let ns = median_ns(&directory, &row.group, contender)?;
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
