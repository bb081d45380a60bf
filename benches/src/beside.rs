//! Lines of the table that sets the software device beside what the machine can do.

use std::time::Duration;

/// Whether the arguments of the benchmark name a part of this line's name, or nothing.
pub fn is_wanted(name: &str) -> bool {
    // Cargo adds `--bench`.
    let mut wanted = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    wanted.peek().is_none() || wanted.any(|part| name.contains(&part))
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
