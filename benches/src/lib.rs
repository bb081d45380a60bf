//! What the benchmarks share.

pub mod data;
pub mod table;
