//! Compiles the plain Objective-C that the bridge is measured beside, as the crate compiles its own.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=native");
    let of_bridge = |name: &str| env::var(format!("DEP_METAL_BRIDGE_{name}")).unwrap_or_default();
    let mut build = cc::Build::new();
    let clang = of_bridge("CLANG");
    if !clang.is_empty() {
        build.compiler(clang);
    }
    for flag in of_bridge("FLAGS").split_whitespace() {
        build.flag(flag);
    }
    build
        .includes(env::split_paths(&of_bridge("INCLUDE")))
        .file("native/plain.m")
        .opt_level(2)
        .compile("plain");
}
