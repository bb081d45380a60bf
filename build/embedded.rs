//! Embeds texts in the library, as C sources that scripts write: the bridge's own kernels, and the shading language's
//! headers, so that kernels compile wherever the program runs.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The source with the text of `transfer.metal`.
pub fn bridge_kernels(native: &Path, generated: &Path) -> Result<PathBuf, String> {
    let source = generated.join("transfer_source.c");
    let text = native.join("bridge/memory/transfer.metal");
    let arguments = [
        text.as_os_str(),
        OsStr::new("mtbi_transfer_source"),
        source.as_os_str(),
    ];
    run(&native.join("embed_text.sh"), &arguments, generated)?;
    Ok(source)
}

/// The source with the text of every header, and the path of the clang that was found, which the translator tries first.
pub fn shading_headers(software: &Path, generated: &Path, clang: &Path) -> Result<PathBuf, String> {
    let source = generated.join("smtl_embedded_headers.c");
    let headers = software.join("msl/include");
    let arguments = [headers.as_os_str(), source.as_os_str(), clang.as_os_str()];
    run(&software.join("embed_headers.sh"), &arguments, generated)?;
    Ok(source)
}

/// Has the script write a source to `generated`.
fn run(script: &Path, arguments: &[&OsStr], generated: &Path) -> Result<(), String> {
    fs::create_dir_all(generated)
        .map_err(|error| format!("cannot make {}: {error}", generated.display()))?;
    let output = Command::new("sh")
        .arg(script)
        .args(arguments)
        .output()
        .map_err(|error| format!("cannot run sh: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} failed: {}", script.display(), errors.trim()))
}
