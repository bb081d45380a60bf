//! Where the WGSL comes from: this folder's programs/, a table of built-in functions, and packages of crates.io, which cargo has
//! fetched; nothing of them is copied.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use vello_shaders::compile::ShaderInfo;

use crate::program::Program;
use crate::{builtins, burn};

/// Names the packages that are fetched and not compiled.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sources/Cargo.toml");

/// Collections of modules, by name.
pub fn all() -> Result<Vec<(String, Vec<Program>)>, String> {
    let metadata = metadata()?;
    Ok(vec![
        ("builtins".into(), builtins::programs()?),
        ("programs".into(), own()?),
        (
            "wgpu".into(),
            examples(&package(&metadata, "wgpu", "0.16.3")?)?,
        ),
        (
            "burn-wgpu".into(),
            burn::programs(&package(&metadata, "burn-wgpu", "0.9.0")?)?,
        ),
        ("vello".into(), vello()?),
    ])
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn own() -> Result<Vec<Program>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let unreadable = |error| format!("{}: {error}", folder.display());
    let mut programs = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        programs.push(Program::new(&name, &read(&path)?)?);
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// wgpu's examples: the last version that has them in its package.
fn examples(package: &Path) -> Result<Vec<Program>, String> {
    let program = |file: &str, directives: &str| {
        let source = read(&package.join("examples").join(file))?;
        Program::new(file, &format!("{directives}{source}"))
    };
    Ok(vec![
        program(
            "boids/compute.wgsl",
            "//! groups 4 1 1\n//! fill * random -1 1\n//! fill params values 0.04 0.1 0.025 0.025 0.02 0.05 0.005\n\
             //! tolerance 1e-4 1e-4\n",
        )?,
        program(
            "hello-compute/shader.wgsl",
            "//! groups 256 1 1\n//! fill * random 1 5000\n",
        )?,
    ])
}

/// Stages of Vello's that compute the same from any small numbers. The others walk structures that the stages before them made.
const VELLO_EXECUTED: &[&str] = &[
    "backdrop",
    "bbox_clear",
    "clip_reduce",
    "draw_reduce",
    "path_count_setup",
    "path_tiling_setup",
    "pathtag_reduce",
    "pathtag_reduce2",
    "pathtag_scan1",
    "pathtag_scan_large",
    "pathtag_scan_small",
];

/// Vello's stages in WGSL, after its own preprocessor.
fn vello() -> Result<Vec<Program>, String> {
    let shaders = ShaderInfo::from_default().map_err(|error| error.to_string())?;
    let mut programs = shaders
        .into_iter()
        .map(|(name, shader)| {
            let use_of_it = match VELLO_EXECUTED.contains(&name.as_str()) {
                true => "//! length 2048\n//! fill * random 0 8\n",
                false => "//! compiled-only needs what the stages before it made\n",
            };
            Program::new(&name, &format!("{use_of_it}{}", shader.source))
        })
        .collect::<Result<Vec<_>, _>>()?;
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

fn metadata() -> Result<Value, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--manifest-path", SOURCES])
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata: {}\n{log}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// Where cargo keeps a package.
fn package(metadata: &Value, name: &str, version: &str) -> Result<PathBuf, String> {
    let is_it = |package: &&Value| package["name"] == name && package["version"] == version;
    let packages = metadata["packages"].as_array();
    packages
        .and_then(|packages| packages.iter().find(is_it))
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .map(Path::to_path_buf)
        .ok_or_else(|| format!("cargo metadata knows no package {name} {version}"))
}
