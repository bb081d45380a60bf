//! The engine: what it computes, where it ends, what it refuses and what it leaves behind.
#![cfg(metal_backend)]

mod activations;
mod architectures;
mod constraints;
mod conversation;
#[cfg(software_metal)]
mod devices;
mod directories;
mod embedding;
mod exact;
#[cfg(software_metal)]
mod failures;
mod formats;
mod generation;
mod hyperparameters;
mod live_objects;
mod models;
mod pages;
mod perplexity;
mod reference;
mod replay;
mod scheduler;
mod schemas;
mod speculation;
mod support;
