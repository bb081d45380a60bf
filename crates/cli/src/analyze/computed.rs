//! What a kernel computed: its operations, its branches and its roofline, as text and as a part of a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use metal_bridge::analysis::{Bound, Gpu, KernelProfile, Roofline};

use super::names::{line_name, percent};
use crate::table::Table;

pub fn print(out: &mut impl Write, kernel: &KernelProfile) -> io::Result<()> {
    let lines = kernel.operations_by_line();
    let mut table = Table::new([
        "line",
        "float",
        "half",
        "bfloat",
        "int",
        "long",
        "functions",
    ]);
    for line in &lines {
        let [float, half, bfloat, int, long, functions] = line
            .operations
            .by_type()
            .map(|(_, count)| count.to_string());
        let name = line_name(&line.at);
        table.push([name, float, half, bfloat, int, long, functions]);
    }
    table.print_section(out)?;
    let branches = kernel.branches_by_line();
    let mut table = Table::new(["branch", "times", "lanes", "taken by", "diverges"]);
    for branch in &branches {
        table.push([
            line_name(&branch.at),
            branch.executions.to_string(),
            percent(branch.lanes, branch.all_lanes),
            percent(branch.taken, branch.lanes),
            percent(branch.diverged, branch.executions),
        ]);
    }
    table.print_section(out)?;
    match kernel.roofline() {
        Some(roofline) => writeln!(out, "  {}\n", sentence(&roofline)),
        None => Ok(()),
    }
}

/// What each line computed, and how its branches part: few words, by file and line.
pub fn by_line(kernel: &KernelProfile) -> BTreeMap<(String, u32), String> {
    let mut lines = BTreeMap::<_, Vec<String>>::new();
    for line in kernel.operations_by_line() {
        let counts = line.operations.by_type();
        let counts = counts.iter().filter(|&&(_, count)| count > 0);
        let counts: Vec<_> = counts
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        lines
            .entry((line.at.file, line.at.line))
            .or_default()
            .extend(counts);
    }
    for branch in kernel.branches_by_line() {
        let diverges = percent(branch.diverged, branch.executions);
        let taken = percent(branch.taken, branch.lanes);
        let text = format!("branch: taken by {taken}, diverges {diverges}");
        lines
            .entry((branch.at.file, branch.at.line))
            .or_default()
            .push(text);
    }
    let joined = lines.into_iter().map(|(at, parts)| (at, parts.join(", ")));
    joined.collect()
}

/// What limits the kernel on which GPUs.
pub fn sentence(roofline: &Roofline) -> String {
    let at_least = if roofline.complete { "" } else { "at least " };
    let mut text = format!(
        "roofline (estimated, of peaks that Apple published): {} floating-point operations, {at_least}{} bytes of lines, \
         {:.2} operations a byte",
        roofline.operations, roofline.bytes, roofline.intensity
    );
    for bound in [Bound::Memory, Bound::Arithmetic] {
        let gpus: Vec<_> = Gpu::PUBLISHED
            .iter()
            .filter(|gpu| roofline.bound(gpu) == bound)
            .map(|gpu| format!("{} (from {:.1})", gpu.name, gpu.ridge()))
            .collect();
        if !gpus.is_empty() {
            // Writing to a string does not fail.
            let _ = write!(text, "; {} on {}", bound.name(), gpus.join(", "));
        }
    }
    text
}

/// A plot of both logarithms: the roofs of the GPUs, and the kernel.
pub fn plot(roofline: &Roofline) -> String {
    const WIDTH: f64 = 560.0;
    const HEIGHT: f64 = 260.0;
    // Powers of ten that the axes begin and end at: operations a byte, and TFLOPS.
    let point = roofline.intensity.log10();
    let (left, right) = (point.floor().min(-1.0), point.ceil().max(3.0));
    let reached = Gpu::PUBLISHED.map(|gpu| roofline.attainable(&gpu).log10());
    let low = reached
        .iter()
        .fold(-2.0, |low: f64, at| low.min(at.floor()));
    let high = 2.0;
    let x = |log: f64| 60.0 + WIDTH * (log - left) / (right - left);
    let y = |log: f64| 10.0 + HEIGHT * (high - log) / (high - low);
    let mut svg =
        "<svg width=\"760\" height=\"310\" role=\"img\"><title>Roofline</title>\n".to_owned();
    let mut push = |text: std::fmt::Arguments<'_>| {
        // Writing to a string does not fail.
        let _ = svg.write_fmt(text);
    };
    let (bottom, end) = (y(low), x(right));
    for power in left as i32..=right as i32 {
        let at = x(power.into());
        push(format_args!(
            "<path d=\"M{at:.1} 10V{bottom:.1}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"285\" \
             text-anchor=\"middle\">1e{power}</text>\n"
        ));
    }
    for power in low as i32..=high as i32 {
        let at = y(power.into());
        push(format_args!(
            "<path d=\"M60 {at:.1}H{end:.1}\" stroke=\"#ddd\"/><text x=\"55\" y=\"{at:.1}\" \
             text-anchor=\"end\">1e{power}</text>\n"
        ));
    }
    for (i, gpu) in Gpu::PUBLISHED.iter().enumerate() {
        // Peaks of two generations lie close together.
        let beside = end + if i < 4 { 4.0 } else { 64.0 };
        let start = (left + (gpu.gigabytes / 1000.0).log10()).max(low);
        let from = start - (gpu.gigabytes / 1000.0).log10();
        let (ridge, peak) = (gpu.ridge().log10(), gpu.teraflops.log10());
        push(format_args!(
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}H{end:.1}\" fill=\"none\" stroke=\"#3b6ea5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            x(from),
            y(start),
            x(ridge),
            y(peak),
            beside,
            y(peak) + 4.0,
            gpu.name
        ));
        push(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#e8a33d\"/>\n",
            x(point),
            y(roofline.attainable(gpu).log10())
        ));
    }
    push(format_args!(
        "<text x=\"340\" y=\"303\" text-anchor=\"middle\">floating-point operations a byte; upwards: TFLOPS</text></svg>\n"
    ));
    svg
}
