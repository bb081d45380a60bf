//! `metal-bridge check`: compiles sources of the Metal Shading Language and says what is in them and what is wrong.

mod color;
mod diagnostics;
mod pipelines;
mod sanitize;
mod table;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use metal_bridge::software::{CheckOptions, SourceCheck, check_source};
use metal_bridge::{CompileOptions, LanguageVersion, MathMode};
use serde::Serialize;

use self::color::{ColorChoice, Style};
use self::diagnostics::Totals;
use self::pipelines::Pipelines;
use self::sanitize::{Outcome, Sanitizer};
use super::failure::Failure;
use super::include_folders::expose;

#[derive(clap::Args)]
pub struct Arguments {
    /// The sources; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Enforce what Apple's compiler enforces: address spaces on every pointer, no recursion, no double, …
    #[arg(long)]
    strict: bool,

    /// Look for included files there, after the folder of the source
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,

    /// Define a macro, as 1 if there is no value
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = parse_macro)]
    define: Vec<(String, Option<String>)>,

    /// The language's version, such as metal3.1 (also -std=metal3.1); the newest otherwise
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    std: Option<LanguageVersion>,

    /// Compile with IEEE 754 arithmetic, without reassociation
    #[arg(long)]
    safe_math: bool,

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
        sanitize::prepare(&arguments.include_paths(path))?;
    } else {
        let folders = arguments.files.iter();
        let folders: Vec<_> = folders
            .flat_map(|path| arguments.include_paths(path))
            .collect();
        expose(&folders)?;
    }
    let style = Style::for_stderr(arguments.color);
    let mut totals = Totals::default();
    let mut reports = Vec::new();
    for path in &arguments.files {
        let name = display_name(path);
        let source = read(path);
        let options = arguments.options(path, &name);
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
            diagnostics::print(&mut io::stderr().lock(), &name, &check.diagnostics, style)?;
            table::print(&mut io::stdout().lock(), &name, &check)?;
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
                    diagnostics::print(
                        &mut io::stderr().lock(),
                        &name,
                        &outcome.diagnostics,
                        style,
                    )?;
                    outcome.print(&mut io::stdout().lock())?;
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
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &reports)?;
        writeln!(out)?;
    } else {
        totals.print(&mut io::stderr().lock())?;
    }
    if totals.failed() {
        return Err(Failure::Reported);
    }
    Ok(())
}

impl Arguments {
    /// The folder of the source, then those that were asked for.
    fn include_paths(&self, path: &Path) -> Vec<PathBuf> {
        let own = path.parent().filter(|_| !is_standard_input(path));
        let own = own.map(|folder| {
            if folder.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                folder.to_owned()
            }
        });
        own.into_iter()
            .chain(self.include.iter().cloned())
            .collect()
    }

    fn options(&self, path: &Path, name: &str) -> CheckOptions {
        let mut compile = CompileOptions::new();
        compile.macros.clone_from(&self.define);
        compile.language_version = self.std;
        if self.safe_math {
            compile.math_mode = MathMode::Safe;
        }
        CheckOptions {
            name: name.to_owned(),
            compile,
            include_paths: self.include_paths(path),
            strict: self.strict,
        }
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn display_name(path: &Path) -> String {
    if is_standard_input(path) {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    /// No source is as long; what else has a name may never end.
    const LONGEST: u64 = 64 << 20;
    let mut source = Vec::new();
    if is_standard_input(path) {
        let input = io::stdin().lock();
        input.take(LONGEST + 1).read_to_end(&mut source)?;
    } else {
        let file = fs::File::open(path)?;
        file.take(LONGEST + 1).read_to_end(&mut source)?;
    }
    if source.len() as u64 > LONGEST {
        return Err(io::Error::other("it has more than 64 MiB"));
    }
    Ok(source)
}

fn parse_macro(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let identifier = name.split('(').next().unwrap_or_default();
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    if !identifier.starts_with(begins)
        || !identifier.chars().all(|c| begins(c) || c.is_ascii_digit())
    {
        return Err(format!("\"{identifier}\" is not the name of a macro"));
    }
    Ok((name.to_owned(), value))
}

fn parse_version(text: &str) -> Result<LanguageVersion, String> {
    let wrong = || format!("\"{text}\" is not a version such as metal3.1");
    let version = ["macos-metal", "ios-metal", "metal"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix));
    let (major, minor) = version
        .ok_or_else(wrong)?
        .split_once('.')
        .ok_or_else(wrong)?;
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => Ok(LanguageVersion::new(major, minor)),
        _ => Err(wrong()),
    }
}
