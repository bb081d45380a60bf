//! The clang that built the native code, for tests that read headers as it does.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// The clang that `scripts/find-clang` finds; on macOS, Apple's.
fn clang() -> &'static str {
    static FOUND: LazyLock<String> = LazyLock::new(|| {
        if cfg!(target_os = "macos") {
            return "clang".to_owned();
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/find-clang");
        let found = Command::new(script).output().expect("the script runs");
        assert!(found.status.success(), "clang, which built the native code");
        String::from_utf8_lossy(&found.stdout).trim().to_owned()
    });
    &FOUND
}

/// What clang writes for `source`, given on its standard input.
pub fn run_clang(arguments: &[&str], source: &str) -> Vec<u8> {
    let mut child = Command::new(clang())
        .args(arguments)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("clang starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(source.as_bytes())
        .expect("clang reads");
    let output = child.wait_with_output().expect("clang ends");
    assert!(output.status.success(), "clang does not take the source");
    output.stdout
}

/// The flags and include folders with which Objective-C on the crate's Metal compiles.
pub fn objective_c_arguments() -> Vec<String> {
    let flags = env!("METAL_BRIDGE_OBJC_FLAGS").split_whitespace();
    let folders = std::env::split_paths(env!("METAL_BRIDGE_OBJC_INCLUDE"));
    flags
        .map(str::to_owned)
        .chain(folders.flat_map(|folder| ["-isystem".to_owned(), folder.display().to_string()]))
        .collect()
}
