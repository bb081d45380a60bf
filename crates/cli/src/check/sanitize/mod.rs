//! `--sanitize`: compiles kernels with the sanitizer's checks, launches one if a grid is given, and tells what was found.

mod findings;

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;

use metal_bridge::sanitizer::{self, Report};
use metal_bridge::software::{Diagnostic, Kernel, Severity, SourceCheck};
use metal_bridge::{CompileOptions, ComputePipeline, Device};
use serde::Serialize;

use self::findings::Source;
use crate::failure::Failure;
use crate::include_folders::expose;
use crate::launch::Launch;
use crate::source::with_name;

#[derive(clap::Args)]
#[command(next_help_heading = "Sanitizer")]
#[command(group(clap::ArgGroup::new("launching").args(["grid", "constant"]).multiple(true).requires("sanitize")))]
pub struct Sanitizer {
    /// Compile the kernels with the sanitizer's checks, and with --grid launch one and print what they find;
    /// SOFTWARE_METAL_SANITIZE chooses the checks (bounds, race, uninit), all of them otherwise
    #[arg(long)]
    pub sanitize: bool,

    #[command(flatten)]
    launch: Launch,
}

/// What became of the kernels of a file.
#[derive(Serialize)]
pub struct Outcome {
    /// Kernels that were compiled with the checks.
    pub instrumented: Vec<String>,
    /// The kernel that was launched.
    pub launched: Option<String>,
    /// What the checks have found.
    pub reports: Vec<Report>,
    /// The reports, and whatever else went wrong, for people.
    pub diagnostics: Vec<Diagnostic>,
}

impl Outcome {
    pub fn failed(&self) -> bool {
        let mut all = self.diagnostics.iter();
        all.any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// What was done, in a line.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let counted = |count: usize, what: &str| match count {
            0 => format!("no {what}"),
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        match &self.launched {
            Some(name) => writeln!(
                out,
                "\nlaunched {name}: {}",
                counted(self.reports.len(), "report")
            ),
            None => {
                let kernels = counted(self.instrumented.len(), "kernel");
                writeln!(out, "\ncompiled {kernels} with the sanitizer's checks")
            }
        }
    }
}

/// Switches the checks on, before anything has used Metal. `include` lists the folders in which a source's
/// `#include "..."` look.
pub fn prepare(include: &[PathBuf]) -> Result<(), Failure> {
    let set = |name: &str, value: &OsStr| {
        // SAFETY: the program has not started a thread yet.
        unsafe { env::set_var(name, value) }
    };
    expose(include)?;
    // The command prints the reports itself, as diagnostics.
    set("SOFTWARE_METAL_SANITIZE_QUIET", "1".as_ref());
    if env::var_os("SOFTWARE_METAL_SANITIZE").is_none_or(|checks| checks.is_empty()) {
        set("SOFTWARE_METAL_SANITIZE", "all".as_ref());
    }
    if sanitizer::checks().any() {
        return Ok(());
    }
    Err(Failure::new(
        "SOFTWARE_METAL_SANITIZE must name bounds, race, uninit or all",
    ))
}

/// Does what the arguments ask for with a source that has compiled without the checks.
pub fn run(
    arguments: &Sanitizer,
    name: &str,
    source: &[u8],
    options: &CompileOptions,
    check: &SourceCheck,
) -> Result<Outcome, Failure> {
    let chosen = arguments.launch.kernel(&check.kernels)?;
    let constants = arguments.launch.constant_values(check)?;
    let text = String::from_utf8_lossy(source);
    let library_source = with_name(name, &text);
    let source = Source::new(name, &text);
    let device = Device::system_default()?;
    let library = device.new_library_with_source(&library_source, options)?;
    let instrument = |kernel: &Kernel| -> metal_bridge::Result<ComputePipeline> {
        let function = library.new_function_with_constants(&kernel.name, &constants)?;
        device.new_compute_pipeline_state(&function)
    };
    let mut outcome = Outcome {
        instrumented: Vec::new(),
        launched: None,
        reports: Vec::new(),
        diagnostics: Vec::new(),
    };
    let wanted = |kernel: &&Kernel| chosen.is_none_or(|chosen| chosen.name == kernel.name);
    for kernel in check.kernels.iter().filter(wanted) {
        match instrument(kernel) {
            Ok(pipeline) => {
                outcome.instrumented.push(kernel.name.clone());
                if chosen.is_some() {
                    launch(&mut outcome, &arguments.launch, &pipeline, &source);
                }
            }
            Err(error) => {
                // A host may give the constants that lack a value: without them, the failure is not the source's
                // error.
                let excused = chosen.is_none() && arguments.launch.lacks_constants(check);
                outcome.diagnostics.push(source.problem(
                    if excused {
                        Severity::Warning
                    } else {
                        Severity::Error
                    },
                    format!(
                        "kernel '{}' cannot be checked: {}",
                        kernel.name,
                        in_one_line(&error)
                    ),
                ));
            }
        }
    }
    Ok(outcome)
}

fn launch(outcome: &mut Outcome, launch: &Launch, pipeline: &ComputePipeline, source: &Source<'_>) {
    let name = pipeline.function_name().to_owned();
    let result = launch.run(pipeline);
    outcome.reports = sanitizer::reports();
    for report in &outcome.reports {
        outcome.diagnostics.extend(source.finding(report));
    }
    match result {
        Ok(()) => {}
        // If a report has ended the command buffer, its error adds nothing to the report.
        Err(metal_bridge::Error::CommandBuffer(_)) if !outcome.reports.is_empty() => {}
        Err(error) => {
            let message = format!("kernel '{name}': {}", in_one_line(&error));
            let problem = source.problem(Severity::Error, message);
            outcome.diagnostics.push(problem);
            return;
        }
    }
    outcome.launched = Some(name);
}

fn in_one_line(error: &metal_bridge::Error) -> String {
    let text = error.to_string();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    lines.join(" ")
}
