//! The report as one page: the sources beside their figures, and plots.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use metal_bridge::analysis::{AccessProfile, Space};

use super::Report;
use super::computed;
use super::names::{access_name, line_name, pattern_name, percent};
use super::text::headline;

const STYLE: &str = "body{font:14px sans-serif;margin:2em;max-width:90em}table{border-collapse:collapse}\
td,th{padding:1px 8px;text-align:right;white-space:pre}td.source,th.source{text-align:left;font-family:monospace}\
tr.counted{background:#fff4d6}th{border-bottom:1px solid #888}li{margin:.3em 0}svg text{font:11px sans-serif}";

/// Sources beyond this are not shown.
const LONGEST_SOURCE: u64 = 4 << 20;

pub fn page(report: &Report) -> String {
    let mut page = String::new();
    page += "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Kernels that ran</title>";
    push(
        &mut page,
        format_args!("<style>{STYLE}</style></head><body>\n<h1>Kernels that ran</h1>\n"),
    );
    page += "<p>Counted on the software Metal. Gains, costs and occupancy are estimates.</p>\n";
    if !report.recommendations.is_empty() {
        page += "<h2>Advice, by estimated gain</h2>\n<ol>\n";
        for recommendation in &report.recommendations {
            push(
                &mut page,
                format_args!("<li>{}</li>\n", escaped(&recommendation.to_string())),
            );
        }
        page += "</ol>\n";
    }
    for kernel in &report.profile.kernels {
        push(
            &mut page,
            format_args!(
                "<h2>{}</h2>\n<p>{}",
                escaped(&kernel.name),
                escaped(&headline(kernel))
            ),
        );
        if let Some(occupancy) = kernel.occupancy(&report.core) {
            let share = 100.0 * occupancy.share;
            let limit = occupancy.limit.name();
            push(
                &mut page,
                format_args!("; {share:.0} % of a core's threads, limited by {limit}"),
            );
        }
        page += "</p>\n";
        let accesses = kernel.accesses_by_line();
        add_plot(&mut page, &accesses);
        if let Some(roofline) = kernel.roofline() {
            let sentence = escaped(&computed::sentence(&roofline));
            push(&mut page, format_args!("<p>{sentence}</p>\n"));
            page += &computed::plot(&roofline);
        }
        let computed = computed::by_line(kernel);
        add_sources(&mut page, &accesses, &computed, &report.sources);
    }
    page += "</body></html>\n";
    page
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = page.write_fmt(text);
}

fn escaped(text: &str) -> String {
    let replaced = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    replaced.replace('"', "&quot;")
}

/// The accesses of each line.
fn by_line(accesses: &[AccessProfile]) -> BTreeMap<(&str, u32), Vec<&AccessProfile>> {
    let mut lines = BTreeMap::<_, Vec<_>>::new();
    for access in accesses {
        let at = (&access.at.file[..], access.at.line);
        lines.entry(at).or_default().push(access);
    }
    lines
}

/// A bar for each line: what it costs, of which the dark part has to be.
fn add_plot(page: &mut String, accesses: &[AccessProfile]) {
    const HEIGHT: usize = 18;
    const WIDTH: f64 = 500.0;
    let lines: Vec<_> = by_line(accesses)
        .into_values()
        .map(|accesses| {
            let cost: u64 = accesses.iter().map(|access| access.estimated_cost()).sum();
            let least: u64 = accesses.iter().map(|access| least_cost(access)).sum();
            (line_name(&accesses[0].at), cost, least)
        })
        .filter(|&(_, cost, _)| cost > 0)
        .collect();
    let Some(most) = lines.iter().map(|&(_, cost, _)| cost).max() else {
        return;
    };
    let total = lines.len() * HEIGHT;
    push(
        page,
        format_args!(
            "<svg width=\"900\" height=\"{total}\" role=\"img\"><title>Estimated cost by line</title>\n"
        ),
    );
    for (i, (name, cost, least)) in lines.iter().enumerate() {
        let (top, text) = (i * HEIGHT + 2, i * HEIGHT + 13);
        let scaled = |count: u64| WIDTH * count as f64 / most as f64;
        let name = escaped(name);
        push(
            page,
            format_args!("<text x=\"195\" y=\"{text}\" text-anchor=\"end\">{name}</text>"),
        );
        for (count, color) in [(*cost, "#e8a33d"), (*least, "#3b6ea5")] {
            let width = scaled(count);
            push(
                page,
                format_args!(
                    "<rect x=\"200\" y=\"{top}\" width=\"{width:.1}\" height=\"14\" fill=\"{color}\"/>"
                ),
            );
        }
        let behind = 205.0 + scaled(*cost);
        push(
            page,
            format_args!("<text x=\"{behind:.1}\" y=\"{text}\">{cost}, at least {least}</text>\n"),
        );
    }
    *page += "</svg>\n<p>Lines of 128 bytes and turns of threadgroup memory, by line; blue: if each SIMD-group's bytes lay side by side.</p>\n";
}

/// What the access costs if its bytes lie side by side and in different banks.
fn least_cost(access: &AccessProfile) -> u64 {
    let least = match access.object.space {
        Space::Threadgroup => access.least_turns,
        _ => access.least_lines_of_128,
    };
    least.min(access.estimated_cost())
}

/// What a file has, if it is one of those that may be shown, or in one of these folders.
fn text_of(file: &str, shown: &[PathBuf]) -> Option<Vec<u8>> {
    let path = Path::new(file).canonicalize().ok()?;
    let may_be_shown = shown.iter().any(|root| path.starts_with(root));
    if !may_be_shown || !path.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(LONGEST_SOURCE + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= LONGEST_SOURCE).then_some(text)
}

/// The sources that may be shown, with the figures beside their lines; of other sources, the lines with figures.
fn add_sources(
    page: &mut String,
    accesses: &[AccessProfile],
    computed: &BTreeMap<(String, u32), String>,
    shown: &[PathBuf],
) {
    let mut lines = by_line(accesses);
    for (file, line) in computed.keys() {
        lines.entry((file, *line)).or_default();
    }
    let mut files: Vec<_> = lines.keys().map(|&(file, _)| file).collect();
    files.dedup();
    for file in files {
        let text = text_of(file, shown).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut source: BTreeMap<u32, &str> = (1..).zip(text.lines()).collect();
        for &(of, line) in lines.keys() {
            if of == file {
                source.entry(line).or_default();
            }
        }
        let name = escaped(if file.is_empty() {
            "unknown lines"
        } else {
            file
        });
        push(
            page,
            format_args!(
                "<h3>{name}</h3>\n<table><tr><th>line</th><th class=\"source\">source</th>"
            ),
        );
        *page += "<th class=\"source\">access</th><th>times</th><th>lanes</th><th>pattern</th><th>used</th><th>conflicts</th><th class=\"source\">computes</th></tr>\n";
        for (line, text) in source {
            let accesses = lines.get(&(file, line)).map_or(&[][..], Vec::as_slice);
            let computes = computed.get(&(file.to_owned(), line));
            add_line(
                page,
                (line, text),
                accesses,
                computes.map_or("", String::as_str),
            );
        }
        *page += "</table>\n";
    }
}

fn add_line(
    page: &mut String,
    (line, text): (u32, &str),
    accesses: &[&AccessProfile],
    computes: &str,
) {
    let text = escaped(text);
    if accesses.is_empty() {
        push(
            page,
            format_args!(
                "<tr><td>{line}</td><td class=\"source\">{text}</td><td colspan=\"6\"></td>\
                 <td class=\"source\">{computes}</td></tr>\n"
            ),
        );
    }
    for (i, access) in accesses.iter().enumerate() {
        let (number, text, computes) = if i == 0 {
            (line.to_string(), &text[..], computes)
        } else {
            (String::new(), "", "")
        };
        let (used, conflicts) = match access.object.space {
            Space::Threadgroup => (
                String::new(),
                format!("{:.1} x", access.bank_conflicts().degree()),
            ),
            _ => (
                format!("{:.0} %", 100.0 * access.coalescing().efficiency()),
                String::new(),
            ),
        };
        push(
            page,
            format_args!(
                "<tr class=\"counted\"><td>{number}</td><td class=\"source\">{text}</td><td class=\"source\">{}</td>\
                 <td>{}</td><td>{}</td><td>{}</td><td>{used}</td><td>{conflicts}</td>\
                 <td class=\"source\">{computes}</td></tr>\n",
                escaped(&access_name(access)),
                access.executions,
                percent(access.lanes, access.all_lanes),
                pattern_name(access),
            ),
        );
    }
}
