//! What has changed between two profiles.

use std::collections::BTreeMap;
use std::io::{self, Write};

use metal_bridge::analysis::{KernelProfile, Profile, Space};
use serde::Serialize;

use super::names::{object_name, operations_name};
use crate::table::Table;

/// One figure of a kernel, before and after.
#[derive(Debug, PartialEq, Serialize)]
pub struct Change {
    pub kernel: String,
    pub figure: String,
    pub before: u64,
    pub after: u64,
}

/// Figures of all kernels of one name together: their lines may have moved, but their objects have names.
fn figures(profile: &Profile) -> BTreeMap<(String, String), u64> {
    let mut all = BTreeMap::new();
    for kernel in &profile.kernels {
        for (figure, count) in figures_of(kernel) {
            *all.entry((kernel.name.clone(), figure)).or_insert(0) += count;
        }
    }
    all
}

fn figures_of(kernel: &KernelProfile) -> Vec<(String, u64)> {
    let mut all = vec![
        ("launches".to_owned(), kernel.launches),
        ("threads".to_owned(), kernel.threads),
    ];
    for access in &kernel.accesses {
        let object = object_name(&access.object);
        let idle = access.all_lanes - access.lanes;
        all.push(("estimated cost".to_owned(), access.estimated_cost()));
        all.push(("idle lanes".to_owned(), idle));
        match access.object.space {
            Space::Threadgroup => all.push((format!("turns for {object}"), access.turns)),
            _ => {
                all.push((format!("bytes asked of {object}"), access.bytes));
                all.push((format!("lines of {object}"), access.lines_of_128));
            }
        }
    }
    for (kind, count) in kernel.all_operations().by_type() {
        all.push((operations_name(kind), count));
    }
    for branch in &kernel.branches {
        all.push(("branches".to_owned(), branch.executions));
        all.push(("branches that diverge".to_owned(), branch.diverged));
    }
    if let Some(roofline) = kernel.roofline() {
        all.push(("bytes of device memory touched".to_owned(), roofline.bytes));
    }
    for barrier in &kernel.barriers {
        all.push(("barriers".to_owned(), barrier.executions));
    }
    for function in &kernel.simd_functions {
        all.push(("SIMD-group functions".to_owned(), function.executions));
    }
    all
}

/// What differs, in the order of kernels and figures.
pub fn changes(before: &Profile, after: &Profile) -> Vec<Change> {
    let (before, after) = (figures(before), figures(after));
    let mut keys: Vec<_> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let change = |key: &(String, String)| Change {
        kernel: key.0.clone(),
        figure: key.1.clone(),
        before: before.get(key).copied().unwrap_or(0),
        after: after.get(key).copied().unwrap_or(0),
    };
    let all = keys.into_iter().map(change);
    all.filter(|change| change.before != change.after).collect()
}

pub fn print(out: &mut impl Write, changes: &[Change]) -> io::Result<()> {
    if changes.is_empty() {
        return writeln!(out, "nothing has changed");
    }
    let mut table = Table::new(["kernel", "figure", "before", "after", "change"]);
    for change in changes {
        let relative = match change.before {
            0 => "new".to_owned(),
            before => format!(
                "{:+.1} %",
                100.0 * (change.after as f64 / before as f64 - 1.0)
            ),
        };
        table.push([
            change.kernel.clone(),
            change.figure.clone(),
            change.before.to_string(),
            change.after.to_string(),
            relative,
        ]);
    }
    table.print(out)
}
