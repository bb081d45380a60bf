//! A Llama inference engine on the bridge.

pub mod gguf;
pub mod sampling;
pub mod synthetic;
pub mod tokenizer;
