//! Sets the `cfg`s that metal-bridge was built with: `metal_backend` if there is a Metal to call, and `software_metal`
//! if that is the software Metal. Tests ask for both. The command line asks for the second: it has `check` only with
//! the software Metal.
//!
//! `crates/cli/build.rs` is a link to this file, which a package holds as a file of its own.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(metal_backend, software_metal)");
    // Unset if no native code was built; empty with Apple's Metal, whose compiler is not named.
    let Ok(clang) = env::var("DEP_METAL_BRIDGE_CLANG") else {
        return;
    };
    println!("cargo::rustc-cfg=metal_backend");
    if !clang.is_empty() {
        println!("cargo::rustc-cfg=software_metal");
    }
}
