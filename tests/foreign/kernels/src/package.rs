//! Finds the sources of the package under test. Cargo has fetched them, pinned by Cargo.lock; nothing is copied.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "candle-metal-kernels";

/// A file of Metal Shading Language.
pub struct Source {
    /// Its name, such as `unary.metal`.
    pub name: String,
    /// What it says, unchanged.
    pub text: String,
}

/// The package's version and its `.metal` files, by name.
pub fn sources() -> Result<(String, Vec<Source>), String> {
    let (version, folder) = locate()?;
    let folder = folder.join("src/metal_src");
    let unreadable = |error| format!("{}: {error}", folder.display());
    let mut sources = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "metal")
        {
            sources.push(read(&path)?);
        }
    }
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((version, sources))
}

fn read(path: &Path) -> Result<Source, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Source {
        name: name.into_owned(),
        text,
    })
}

/// Asks cargo, which fetches the package where it is not there yet.
fn locate() -> Result<(String, PathBuf), String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--manifest-path", manifest])
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata: {}\n{log}", output.status));
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let package = metadata["packages"]
        .as_array()
        .and_then(|packages| packages.iter().find(|package| package["name"] == PACKAGE))
        .ok_or_else(|| format!("cargo metadata knows no package {PACKAGE}"))?;
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    let folder = Path::new(text("manifest_path")).parent();
    let folder = folder.ok_or_else(|| format!("{PACKAGE} has no folder"))?;
    Ok((text("version").to_owned(), folder.to_path_buf()))
}
