//! Apple's Metal for Rust inference engines, through a hand-written Objective-C bridge.

pub mod llama;
mod sys;
