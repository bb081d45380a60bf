//! What a program has of CUDA: devices, streams, events, modules, and how calls fail.

pub(crate) mod commands;
pub(crate) mod contained;
pub(crate) mod context;
pub(crate) mod device_state;
pub(crate) mod devices;
pub(crate) mod events;
pub(crate) mod failure;
pub(crate) mod handles;
pub(crate) mod lock;
pub(crate) mod marker;
pub(crate) mod modules;
pub(crate) mod parameters;
pub(crate) mod properties;
pub(crate) mod registry;
pub(crate) mod sticky;
pub(crate) mod stream;
pub(crate) mod timeline;
pub(crate) mod transfer;
