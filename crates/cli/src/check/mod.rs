//! `metal-bridge check`: compiles sources of the Metal Shading Language and says what is in them and what is wrong.

mod color;
mod contents;
pub mod diagnostics;
mod pipelines;
mod sanitize;

use std::io::{self, Write};
use std::path::PathBuf;

use metal_bridge::software::{CheckOptions, SourceCheck, check_source};
use serde::Serialize;

use self::color::{ColorChoice, Style};
use self::diagnostics::Totals;
use self::pipelines::Pipelines;
use self::sanitize::{Outcome, Sanitizer};
use super::failure::{Failure, unless_closed};
use super::include_folders::expose;
use super::source::{SourceOptions, display_name, read};

#[derive(clap::Args)]
pub struct Arguments {
    /// The sources; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Enforce what Apple's compiler enforces: address spaces on every pointer, no recursion, no double, …
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    source: SourceOptions,

    /// Compile each kernel to machine code, as a pipeline does: tells the threadgroup memory that it declares
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pipelines: Pipelines,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Colour diagnostics
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorChoice,

    #[command(flatten)]
    sanitize: Sanitizer,
}

/// One file, as JSON has it.
#[derive(Serialize)]
struct Report {
    file: String,
    #[serde(flatten)]
    check: SourceCheck,
    #[serde(skip_serializing_if = "Option::is_none")]
    sanitizer: Option<Outcome>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.sanitize.sanitize {
        let [path] = &arguments.files[..] else {
            return Err(Failure::WrongArguments(
                "--sanitize takes one file at a time",
            ));
        };
        sanitize::prepare(&arguments.source.include_paths(path))?;
    } else {
        let folders = arguments.files.iter();
        let folders: Vec<_> = folders
            .flat_map(|path| arguments.source.include_paths(path))
            .collect();
        expose(&folders)?;
    }
    let style = Style::for_stderr(arguments.color);
    let mut totals = Totals::default();
    let mut reports = Vec::new();
    for path in &arguments.files {
        let name = display_name(path);
        let source = read(path);
        let options = CheckOptions {
            name: name.clone(),
            compile: arguments.source.compile_options(),
            include_paths: arguments.source.include_paths(path),
            strict: arguments.strict,
        };
        let mut check = match &source {
            Ok(source) => check_source(source, &options)?,
            Err(error) => diagnostics::unreadable(error),
        };
        // With the sanitizer's checks, a kernel takes another amount of threadgroup memory than it declares.
        let pipelines =
            !arguments.sanitize.sanitize && arguments.pipelines.wanted(check.kernels.len());
        if let (Ok(source), true, true) = (&source, check.succeeded, pipelines) {
            pipelines::make(source, &options.compile, &mut check);
        }
        totals.add(&check.diagnostics, check.succeeded);
        if !arguments.json {
            let mut errors = io::stderr().lock();
            unless_closed(diagnostics::print(
                &mut errors,
                &name,
                &check.diagnostics,
                style,
            ))?;
            unless_closed(contents::print(&mut io::stdout().lock(), &name, &check))?;
        }
        let sanitizer = match source {
            Ok(source) if check.succeeded && arguments.sanitize.sanitize => {
                let outcome = sanitize::run(
                    &arguments.sanitize,
                    &name,
                    &source,
                    &options.compile,
                    &check,
                )?;
                totals.add(&outcome.diagnostics, !outcome.failed());
                if !arguments.json {
                    let mut errors = io::stderr().lock();
                    unless_closed(diagnostics::print(
                        &mut errors,
                        &name,
                        &outcome.diagnostics,
                        style,
                    ))?;
                    unless_closed(outcome.print(&mut io::stdout().lock()))?;
                }
                Some(outcome)
            }
            _ => None,
        };
        reports.push(Report {
            file: name,
            check,
            sanitizer,
        });
    }
    if arguments.json {
        unless_closed(print_json(&reports))?;
    } else {
        unless_closed(totals.print(&mut io::stderr().lock()))?;
    }
    if totals.failed() {
        return Err(Failure::Reported);
    }
    Ok(())
}

fn print_json(reports: &[Report]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, reports)?;
    writeln!(out)
}
