//! A Llama inference engine on the bridge: GGUF files and Hugging Face's directories in, text out.
//!
//! | piece | type |
//! |---|---|
//! | a file: metadata, tensors, mapped weights | [`gguf::Gguf`] |
//! | the same of a directory with safetensors files | [`hugging_face::open`] |
//! | text to tokens and back | [`tokenizer::Tokenizer`] |
//! | weights in GPU buffers, shared by all sessions | [`Model`] |
//! | one text in the making: KV cache, position, logits | [`Session`] |
//! | choice of the next token | [`sampling::Sampler`] |
//! | texts of a JSON schema or of a grammar only | [`Model::constraint`] |
//! | prompt to text | [`Session::generate`] |
//! | prompts that each begin like the text before | [`Conversation`] |
//! | texts of many readers at once, which join and leave a running batch | [`Scheduler`] |
//! | messages to tokens, by the model's chat template | [`chat::ChatTemplate`] |
//! | a vector for a text | [`Session::embed`] |
//! | how well a model foretells a text | [`Session::perplexity`] |
//! | a file with its weights in a smaller format | [`quantize::quantize`] |
//!
//! ```no_run
//! use std::ops::ControlFlow;
//!
//! use metal_bridge::Device;
//! use metal_bridge_llama::{GenerateOptions, Model, Session};
//!
//! # fn main() -> Result<(), metal_bridge_llama::Error> {
//! let device = Device::system_default()?;
//! let model = Model::load(&device, "models/tiny-stories/tiny-stories-q8_0.gguf")?;
//! let mut session = Session::new(&model)?;
//! session.generate("Once upon a time", &GenerateOptions::default(), |text| {
//!     print!("{text}");
//!     ControlFlow::Continue(())
//! })?;
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod architecture;
mod batch;
mod cache;
pub mod chat;
mod config;
pub mod constraint;
mod conversation;
mod counts;
mod draft;
mod embedding;
mod error;
mod evaluate;
mod forward;
mod frequencies;
mod generate;
mod generator;
pub mod gguf;
pub mod hugging_face;
mod keys;
mod loader;
mod log_probability;
mod model;
mod options;
mod pages;
mod part;
mod perplexity;
mod plan;
pub mod quantize;
mod rope;
mod running;
pub mod sampling;
mod scheduler;
mod scratch;
mod session;
mod split;
pub mod tokenizer;
mod weights;

pub use config::{LayerConfig, ModelConfig};
pub use conversation::Conversation;
pub use counts::Counts;
pub use embedding::Pooling;
pub use error::{Error, Result};
pub use generate::Generation;
pub use generator::{GenerateOptions, Piece, StopReason};
pub use log_probability::{LogProbabilities, LogProbability};
pub use model::{Model, open};
pub use options::SessionOptions;
pub use perplexity::{Perplexity, PerplexityError, PerplexityOptions};
pub use rope::{RopeConfig, RopeScaling, Yarn};
pub use scheduler::{Answer, Reader, Request, Scheduler};
pub use session::Session;

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
