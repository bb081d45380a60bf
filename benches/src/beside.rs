//! Lines of the table that sets the software device beside what the machine can do.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// Whether the arguments of the benchmark name a part of this line's name, the benchmark itself, or nothing.
pub fn is_wanted(name: &str) -> bool {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let file = Path::new(&program).file_stem().and_then(OsStr::to_str);
    // Cargo appends `-` and a hash to the benchmark's name.
    let own = file.map(|file| file.rsplit_once('-').map_or(file, |(own, _)| own));
    // Cargo adds `--bench`.
    let mut wanted = arguments
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    // `cargo bench ops` gives its word to every benchmark.
    let means = |word: String| own == Some(&word) || name.contains(&word);
    wanted.peek().is_none() || wanted.any(means)
}

/// A line of the table.
pub struct Row {
    pub name: String,
    pub unit: &'static str,
    pub ours: f64,
    /// The name and the value of what it is measured beside.
    pub yardstick: Option<(&'static str, f64)>,
}

impl Row {
    /// From the times of ours and the yardstick, if there is one, for `work` units.
    pub fn rates(
        name: String,
        unit: &'static str,
        work: f64,
        times: &[Duration],
        against: &'static str,
    ) -> Row {
        let rate = |time: Duration| work / time.as_secs_f64() / 1e9;
        Row {
            name,
            unit,
            ours: rate(times[0]),
            yardstick: times.get(1).map(|time| (against, rate(*time))),
        }
    }

    /// Prints it as a line of a Markdown table.
    pub fn print(&self) {
        let Row {
            name, unit, ours, ..
        } = self;
        match self.yardstick {
            Some((what, value)) => println!(
                "| {name} | {unit} | {ours:.1} | {what} {value:.1} | {:.2} |",
                ours / value
            ),
            None => println!("| {name} | {unit} | {ours:.2} | | |"),
        }
    }
}
