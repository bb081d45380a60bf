//! Sources on the command line: which file, and how Metal compiles it.

use std::io;
use std::path::{Path, PathBuf};

use metal_bridge::{CompileOptions, LanguageVersion, MathMode};

use crate::files;

#[derive(clap::Args)]
pub struct SourceOptions {
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
}

impl SourceOptions {
    /// The folder of the source, then those that were asked for.
    pub fn include_paths(&self, path: &Path) -> Vec<PathBuf> {
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

    pub fn compile_options(&self) -> CompileOptions {
        let mut compile = CompileOptions::new();
        compile.macros.clone_from(&self.define);
        compile.language_version = self.std;
        if self.safe_math {
            compile.math_mode = MathMode::Safe;
        }
        compile
    }
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What diagnostics call the source.
pub fn display_name(path: &Path) -> String {
    if is_standard_input(path) {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    }
}

/// The bytes of a source.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    match is_standard_input(path) {
        true => files::read_from(io::stdin().lock(), files::WRITTEN),
        false => files::read(path, files::WRITTEN),
    }
}

/// The text behind a `#line` that gives its name.
pub fn with_name(name: &str, text: &str) -> String {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    format!("#line 1 \"{name}\"\n{text}")
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
