//! What the benchmarks share.

pub mod beside;
pub mod calls;
pub mod contenders;
pub mod data;
pub mod dnnl;
pub mod layers;
pub mod libraries;
pub mod metal;
pub mod opening;
pub mod rounds;
pub mod table;
