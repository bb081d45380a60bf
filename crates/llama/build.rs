//! Sets the `cfg`s that metal-bridge was built with: `metal_backend` if there is a Metal to call, and `software_metal` where it
//! is the software Metal. Tests ask for both, and the command line for the second: `check` is there with the software Metal only.
//!
//! `crates/cli/build.rs` is a link to this file, which a package holds as a file of its own.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(metal_backend, software_metal)");
    // Apple's compiler is not named; if nothing was built, there is no compiler.
    let Ok(clang) = env::var("DEP_METAL_BRIDGE_CLANG") else {
        return;
    };
    println!("cargo::rustc-cfg=metal_backend");
    if !clang.is_empty() {
        println!("cargo::rustc-cfg=software_metal");
    }
}
