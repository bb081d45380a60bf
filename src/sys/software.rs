//! The part of `native/software/msl/msl.h` that checks sources, one to one.

#![allow(non_camel_case_types)]

use std::ffi::c_char;

#[repr(C)]
pub struct smtl_macro {
    pub name: *const c_char,
    pub value: *const c_char,
}

pub type smtl_math_mode = u32;
pub const SMTL_MATH_SAFE: smtl_math_mode = 0;
pub const SMTL_MATH_RELAXED: smtl_math_mode = 1;
pub const SMTL_MATH_FAST: smtl_math_mode = 2;

pub type smtl_exports = u32;
pub const SMTL_EXPORTS_NONE: smtl_exports = 0;
pub const SMTL_EXPORTS_MARKED: smtl_exports = 1;
pub const SMTL_EXPORTS_ALL: smtl_exports = 2;

#[repr(C)]
pub struct smtl_compile_options {
    pub macros: *const smtl_macro,
    pub macro_count: usize,
    pub language_version: u32,
    pub math_mode: smtl_math_mode,
    pub include_paths: *const *const c_char,
    pub include_path_count: usize,
    pub name: *const c_char,
    pub enable_logging: bool,
    pub exports: smtl_exports,
}

unsafe extern "C" {
    pub fn smtl_check(
        source: *const c_char,
        length: usize,
        options: *const smtl_compile_options,
        strict: bool,
    ) -> *mut c_char;
}
