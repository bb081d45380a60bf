//! What a program has of CUDA: devices, streams, events, modules, and how calls fail.

pub(crate) mod awaited;
pub(crate) mod bridge;
pub(crate) mod commands;
pub(crate) mod contained;
pub(crate) mod devices;
pub(crate) mod failure;
pub(crate) mod handles;
pub(crate) mod modules;
pub(crate) mod parameters;
pub(crate) mod properties;
pub(crate) mod registry;
pub(crate) mod stream;
pub(crate) mod transfer;
