//! What the software Metal does beside Metal, as a program of the crate sees it: checks of kernels, another order, poisoned memory.
#![cfg(software_metal)]

mod probe;
mod profile;
mod sanitizer;
mod shuffle;
