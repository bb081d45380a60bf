//! The `metal-bridge` command line.

fn main() {}
