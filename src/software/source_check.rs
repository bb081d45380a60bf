//! [`check_source`]: what a source has in it, and what is wrong with it.

use std::ffi::{CStr, CString};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

use serde::{Deserialize, Serialize};

use crate::metal::library::{CompileOptions, MathMode};
use crate::sys::software as sys;

/// How a source is checked.
#[derive(Debug, Clone, Default)]
pub struct CheckOptions {
    /// What diagnostics call the source.
    pub name: String,
    /// How it is compiled.
    pub compile: CompileOptions,
    /// Where `#include "..."` looks, in this order.
    pub include_paths: Vec<PathBuf>,
    /// Enforce what Apple's compiler enforces, such as an address space on every pointer.
    pub strict: bool,
}

/// A checked source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceCheck {
    /// Whether there is no error.
    pub succeeded: bool,
    /// In the order of the source; none if it does not compile.
    pub kernels: Vec<Kernel>,
    /// Those of the whole source.
    pub function_constants: Vec<FunctionConstant>,
    /// Errors, warnings and their notes, in the order of the compiler.
    pub diagnostics: Vec<Diagnostic>,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The name by which a library has it.
    pub name: String,
    /// As its attribute says; 0 if it has none.
    pub max_total_threads_per_threadgroup: u32,
    /// Bytes of threadgroup memory that it declares. Only machine code tells, of which [`check_source`] makes none:
    /// [`ComputePipeline::static_threadgroup_memory_length`](crate::ComputePipeline::static_threadgroup_memory_length).
    #[serde(default)]
    pub threadgroup_memory: Option<u64>,
    /// What a launch has to bind.
    pub arguments: Vec<Argument>,
}

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// In the table of its kind.
    pub index: u32,
    /// The parameter's name.
    pub name: String,
    /// As in the source.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Which table it is bound in.
    pub kind: ArgumentKind,
    /// What the kernel may do with it.
    pub access: Access,
    /// Bytes of one element; 0: not known.
    pub size: u64,
    /// Whether a function constant decides if it is there.
    pub conditional: bool,
    /// The members of a structure.
    pub members: Vec<Member>,
}

/// How an argument is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentKind {
    /// A buffer, or bytes.
    Buffer,
    /// The length of threadgroup memory.
    Threadgroup,
}

/// What a kernel may do with an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read only.
    Read,
    /// Read and written.
    ReadWrite,
}

/// A member of a structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// From the beginning of the structure, in bytes.
    pub offset: u64,
    /// In an argument buffer: what `[[id(n)]]` says, or the first after all those of the member before it.
    pub index: u32,
    /// In Metal's words.
    #[serde(rename = "type")]
    pub type_name: String,
    /// In bytes.
    pub size: u64,
}

/// A function constant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionConstant {
    /// Its name in the source.
    pub name: String,
    /// The number in its attribute.
    pub index: u32,
    /// In Metal's words.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Whether a pipeline needs a value for it.
    pub required: bool,
}

/// Something that the compiler says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The source's name, or that of a file which it includes; empty if it is about no source.
    pub file: String,
    /// From 1; 0: about no line.
    pub line: u64,
    /// In bytes from 1; 0: not known.
    pub column: u64,
    /// How bad it is.
    pub severity: Severity,
    /// The compiler's words.
    pub message: String,
    /// The line of the source; empty if it is not known.
    pub source: String,
    /// Where in `source` it is, in bytes from 1; 0: not known.
    pub caret: u64,
}

/// How bad a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The source cannot be used.
    Error,
    /// It can, but may not do what is meant.
    Warning,
    /// More about the diagnostic before it.
    Note,
}

/// Compiles a source, of any bytes, and tells what is in it and what is wrong with it. A source that does
/// not compile is not an error of this function.
///
/// # Errors
///
/// A name, path or macro with a zero byte in it, or no memory.
pub fn check_source(source: &[u8], options: &CheckOptions) -> Result<SourceCheck> {
    let name = CString::new(options.name.as_str())?;
    let paths = options
        .include_paths
        .iter()
        .map(|path| CString::new(path.as_os_str().as_bytes()))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let path_pointers: Vec<_> = paths.iter().map(|path| path.as_ptr()).collect();
    let macros = options
        .compile
        .macros
        .iter()
        .map(|(name, value)| {
            let value = value.as_deref().unwrap_or("1");
            Ok((CString::new(name.as_str())?, CString::new(value)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let macro_pointers: Vec<_> = macros
        .iter()
        .map(|(name, value)| sys::smtl_macro {
            name: name.as_ptr(),
            value: value.as_ptr(),
        })
        .collect();
    let version = options.compile.language_version;
    let native = sys::smtl_compile_options {
        macros: macro_pointers.as_ptr(),
        macro_count: macro_pointers.len(),
        language_version: version.map_or(0, |version| {
            u32::from(version.major) << 16 | u32::from(version.minor)
        }),
        math_mode: match options.compile.math_mode {
            MathMode::Safe => sys::SMTL_MATH_SAFE,
            MathMode::Relaxed => sys::SMTL_MATH_RELAXED,
            MathMode::Default | MathMode::Fast => sys::SMTL_MATH_FAST,
        },
        include_paths: path_pointers.as_ptr(),
        include_path_count: path_pointers.len(),
        name: if options.name.is_empty() {
            ptr::null()
        } else {
            name.as_ptr()
        },
        enable_logging: false,
        exports: sys::SMTL_EXPORTS_NONE,
    };
    // SAFETY: the pointers are those of vectors and strings that live to the end of this function, with their lengths.
    let text = unsafe {
        sys::smtl_check(
            source.as_ptr().cast(),
            source.len(),
            &native,
            options.strict,
        )
    };
    if text.is_null() {
        return Err(ErrorKind::OutOfMemory.into());
    }
    // SAFETY: not null, and then a string with a zero at its end that belongs to us until it is freed.
    let json = unsafe { CStr::from_ptr(text) }.to_bytes().to_vec();
    // SAFETY: it came from malloc, and nothing refers to it any more.
    unsafe { libc::free(text.cast()) };
    serde_json::from_slice(&json).map_err(|error| Error::new(ErrorKind::InvalidData, error))
}
