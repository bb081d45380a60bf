//! Compiles `native/` and links Metal.framework or the software Metal.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
