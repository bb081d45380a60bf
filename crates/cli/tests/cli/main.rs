//! The command line as a user sees it: what it prints where, and how it exits.

#[cfg(software_metal)]
mod analyze;
#[cfg(metal_backend)]
mod chat;
#[cfg(software_metal)]
mod check;
mod commands;
#[cfg(software_metal)]
mod folder;
#[cfg(metal_backend)]
mod measuring;
mod quantize;
#[cfg(software_metal)]
mod sanitize;
#[cfg(metal_backend)]
mod serve;
#[cfg(software_metal)]
mod terminal;
#[cfg(metal_backend)]
mod topology;
