//! Embeds the bridge's own kernels in the library.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Has `embed_text.sh` write the C source with the text of `transfer.metal` to `generated`.
pub fn embed(native: &Path, generated: &Path) -> Result<(), String> {
    fs::create_dir_all(generated)
        .map_err(|error| format!("cannot make {}: {error}", generated.display()))?;
    let script = native.join("embed_text.sh");
    let output = Command::new("sh")
        .arg(&script)
        .arg(native.join("bridge/memory/transfer.metal"))
        .arg("mtbi_transfer_source")
        .arg(generated.join("transfer_source.c"))
        .output()
        .map_err(|error| format!("cannot run sh: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(format!("{} failed: {}", script.display(), errors.trim()))
    }
}
