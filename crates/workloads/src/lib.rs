//! What metal-bridge is measured and tried with, by its command line and its tests: [`synthetic`] models.

#![warn(missing_docs)]
#![warn(clippy::undocumented_unsafe_blocks)]

pub mod synthetic;
