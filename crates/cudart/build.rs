//! Compiles `native/` with the compiler of metal-bridge, and gives the shared library the name that programs
//! ask the system's loader for.
//!
//! Sets `cfg(software_metal)`, for tests, if the Metal below is the software Metal.

use std::env;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(software_metal)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=native");
    let mut build = cc::Build::new();
    // Empty with Apple's Metal.
    let clang = env::var("DEP_METAL_BRIDGE_CLANG").unwrap_or_default();
    if !clang.is_empty() {
        build.compiler(clang);
        println!("cargo::rustc-cfg=software_metal");
    }
    build
        .cpp(true)
        .std("c++17")
        .file("native/contained.cpp")
        .compile("metal_cudart_native");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Until 1.0 each 0.x has an interface of its own.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmetal_cudart.so.0.1");
        // Metal's threads run until the process ends.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
