//! Gives the shared library the name that programs ask the system's loader for.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Until 1.0 each 0.x has an interface of its own.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmetal_cudart.so.0.1");
    }
}
