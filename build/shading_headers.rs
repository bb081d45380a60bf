//! Embeds the shading language's headers in the library, so that kernels compile wherever the program runs.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Has the software Metal's own script write its C source to `generated`: the text of every header, and the path of the
/// clang that was found, which the translator tries first.
pub fn embed(software: &Path, generated: &Path, clang: &Path) -> Result<(), String> {
    fs::create_dir_all(generated)
        .map_err(|error| format!("cannot make {}: {error}", generated.display()))?;
    let script = software.join("embed_headers.sh");
    let output = Command::new("sh")
        .arg(&script)
        .args([
            &software.join("msl/include"),
            &generated.join("smtl_embedded_headers.c"),
        ])
        .arg(clang)
        .output()
        .map_err(|error| format!("cannot run sh: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("{} failed: {}", script.display(), errors.trim()))
    }
}
