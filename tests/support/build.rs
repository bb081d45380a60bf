//! Compiles the test-only Objective-C with the flags that metal-bridge was compiled with, where it was.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(metal_backend)");
    println!("cargo::rustc-check-cfg=cfg(software_metal)");
    println!("cargo::rerun-if-changed=native");
    let Some(include) = env::var_os("DEP_METAL_BRIDGE_INCLUDE") else {
        // Built without a Metal: nothing to call without a pool.
        return;
    };
    let clang = env::var("DEP_METAL_BRIDGE_CLANG").unwrap_or_default();
    let flags = env::var("DEP_METAL_BRIDGE_FLAGS").unwrap_or_default();
    println!("cargo::rustc-env=METAL_BRIDGE_OBJC_FLAGS={flags}");
    println!(
        "cargo::rustc-env=METAL_BRIDGE_OBJC_INCLUDE={}",
        Path::new(&include).display()
    );

    let mut build = cc::Build::new();
    build
        .includes(env::split_paths(&include))
        .file("native/without_pool.m");
    if clang.is_empty() {
        build.file("native/live_objects_apple.m");
    } else {
        build
            .compiler(clang)
            .file("native/live_objects_software.m")
            .file("native/raising_commits_software.m");
        println!("cargo::rustc-cfg=software_metal");
    }
    for flag in flags.split_whitespace() {
        build.flag(flag);
    }
    build.compile("metal_bridge_test_support");
    println!("cargo::rustc-cfg=metal_backend");
}
