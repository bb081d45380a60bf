//! [`Library`] and [`Function`]: compiled shading language.

use std::fmt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use super::device::Device;
use super::function_constants::FunctionConstantValues;
use super::functions::dynamic_library::DynamicLibrary;
use super::handle::{Handle, c_path, c_string, create};
use crate::error::{Error, Failure, Result};
use crate::sys;

/// What the compiler may do to floating-point arithmetic (`MTLMathMode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MathMode {
    /// Metal's default, which is fast.
    #[default]
    Default,
    /// IEEE 754, no reassociation.
    Safe,
    /// Reassociation, but infinities and NaNs are kept (macOS 15; `Fast` on older systems).
    Relaxed,
    /// Anything that is right for real numbers.
    Fast,
}

/// What a source becomes (`MTLLibraryType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LibraryType {
    /// Kernels and functions.
    #[default]
    Executable,
    /// Functions for the sources of other libraries: see [`DynamicLibrary`].
    Dynamic,
}

/// A version of the Metal Shading Language (`MTLLanguageVersion`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LanguageVersion {
    /// 3 of 3.1.
    pub major: u16,
    /// 1 of 3.1.
    pub minor: u16,
}

impl LanguageVersion {
    /// A version, such as `LanguageVersion::new(3, 1)`.
    pub const fn new(major: u16, minor: u16) -> LanguageVersion {
        LanguageVersion { major, minor }
    }
}

/// How a source is compiled (`MTLCompileOptions`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompileOptions {
    /// Preprocessor macros: name and value, 1 if there is none.
    pub macros: Vec<(String, Option<String>)>,
    /// `None` for the newest that the system has.
    pub language_version: Option<LanguageVersion>,
    /// What the compiler may do to floating-point arithmetic.
    pub math_mode: MathMode,
    /// What the source becomes.
    pub library_type: LibraryType,
    /// The [install name](DynamicLibrary::install_name) that a dynamic library needs, and no other library has.
    pub install_name: Option<String>,
    /// Where functions are that the source declares and does not define.
    pub libraries: Vec<DynamicLibrary>,
}

impl CompileOptions {
    /// Metal's defaults: no macros, the newest language, fast arithmetic.
    pub fn new() -> CompileOptions {
        CompileOptions::default()
    }

    /// Adds the macro `name` with a value.
    pub fn define(mut self, name: impl Into<String>, value: impl Into<String>) -> CompileOptions {
        self.macros.push((name.into(), Some(value.into())));
        self
    }

    /// Chooses the version of the language.
    pub fn language_version(mut self, version: LanguageVersion) -> CompileOptions {
        self.language_version = Some(version);
        self
    }

    /// Chooses what the compiler may do to floating-point arithmetic.
    pub fn math_mode(mut self, mode: MathMode) -> CompileOptions {
        self.math_mode = mode;
        self
    }

    /// Makes a dynamic library with this install name. Files of libraries that need this one have the name, and they load only
    /// if it leads to a file: it is an absolute path, or begins with `@executable_path/` or `@loader_path/`. A library that no
    /// file needs may have any name, such as `tools`; nothing looks for it, and `@rpath/` has no meaning.
    pub fn dynamic(mut self, install_name: impl Into<String>) -> CompileOptions {
        self.library_type = LibraryType::Dynamic;
        self.install_name = Some(install_name.into());
        self
    }

    /// Adds a library to those where functions are that the source declares and does not define.
    pub fn library(mut self, library: &DynamicLibrary) -> CompileOptions {
        self.libraries.push(library.clone());
        self
    }
}

/// Compiled shading language (`MTLLibrary`). Clones share it.
#[derive(Clone)]
pub struct Library {
    inner: Arc<LibraryInner>,
}

struct LibraryInner {
    handle: Handle<sys::mtb_library>,
    device: Device,
}

impl Device {
    /// Compiles `source` (`newLibraryWithSource:options:error:`). Several threads may compile at once.
    ///
    /// # Errors
    ///
    /// [`Error::Compile`] with the compiler's log, whose lines are the source's own; [`Error::InvalidArgument`] for
    /// macros and install names that are not valid; [`Error::Unsupported`] for a dynamic library if the device has none;
    /// [`Error::WrongDevice`].
    pub fn new_library_with_source(
        &self,
        source: &str,
        options: &CompileOptions,
    ) -> Result<Library> {
        const FUNCTION: &str = "Device::new_library_with_source";
        let mut strings = Vec::with_capacity(options.macros.len());
        for (name, value) in &options.macros {
            let name = c_string(FUNCTION, "a macro's name", name)?;
            let value = value
                .as_deref()
                .map(|value| c_string(FUNCTION, "a macro's value", value))
                .transpose()?;
            strings.push((name, value));
        }
        let macros: Vec<_> = strings
            .iter()
            .map(|(name, value)| sys::mtb_macro {
                name: name.as_ptr(),
                value: value.as_ref().map_or(ptr::null(), |value| value.as_ptr()),
            })
            .collect();
        let install_name = (options.install_name.as_deref())
            .map(|name| c_string(FUNCTION, "the install name", name))
            .transpose()?;
        let libraries: Vec<_> = options
            .libraries
            .iter()
            .map(DynamicLibrary::as_ptr)
            .collect();
        let options = sys::mtb_compile_options {
            macros: macros.as_ptr(),
            macro_count: macros.len(),
            language_version: options.language_version.map_or(0, |version| {
                u32::from(version.major) << 16 | u32::from(version.minor)
            }),
            math_mode: match options.math_mode {
                MathMode::Default => sys::MTB_MATH_DEFAULT,
                MathMode::Safe => sys::MTB_MATH_SAFE,
                MathMode::Relaxed => sys::MTB_MATH_RELAXED,
                MathMode::Fast => sys::MTB_MATH_FAST,
            },
            library_type: match options.library_type {
                LibraryType::Executable => sys::MTB_LIBRARY_EXECUTABLE,
                LibraryType::Dynamic => sys::MTB_LIBRARY_DYNAMIC,
            },
            install_name: install_name
                .as_ref()
                .map_or(ptr::null(), |name| name.as_ptr()),
            libraries: libraries.as_ptr(),
            library_count: libraries.len(),
        };
        let (pointer, length) = (source.as_ptr().cast(), source.len());
        // SAFETY: source, options and all that they point to live during the call.
        let handle = unsafe {
            create(|error| {
                sys::mtb_library_create_from_source(self.as_ptr(), pointer, length, &options, error)
            })
        }?;
        Ok(self.library(handle))
    }

    /// Loads a compiled library from a `.metallib` file (`newLibraryWithURL:error:`).
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no such file, [`Error::Compile`] or [`Error::Unsupported`] if it is not a
    /// library for this Metal, [`Error::InvalidArgument`] for a path that is not UTF-8.
    pub fn new_library_with_file(&self, path: impl AsRef<Path>) -> Result<Library> {
        const FUNCTION: &str = "Device::new_library_with_file";
        let path = c_path(FUNCTION, path.as_ref())?;
        // SAFETY: the path lives during the call.
        let handle = unsafe {
            create(|error| sys::mtb_library_create_from_file(self.as_ptr(), path.as_ptr(), error))
        }?;
        Ok(self.library(handle))
    }

    /// Loads a compiled library, the content of a `.metallib` file (`newLibraryWithData:error:`).
    ///
    /// # Errors
    ///
    /// As [`new_library_with_file`](Device::new_library_with_file).
    pub fn new_library_with_data(&self, data: &[u8]) -> Result<Library> {
        let (pointer, length) = (data.as_ptr().cast(), data.len());
        // SAFETY: the data lives during the call, which copies it.
        let handle = unsafe {
            create(|error| {
                sys::mtb_library_create_from_bytes(self.as_ptr(), pointer, length, error)
            })
        }?;
        Ok(self.library(handle))
    }

    /// Makes a dynamic library of one that was [compiled](CompileOptions::dynamic) for it (`newDynamicLibrary:error:`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for an executable library, [`Error::Compile`], [`Error::Unsupported`],
    /// [`Error::WrongDevice`] for a library of another device.
    pub fn new_dynamic_library(&self, library: &Library) -> Result<DynamicLibrary> {
        if library.device() != self {
            let message = format!("the library belongs to {}", library.device().name());
            let function = "Device::new_dynamic_library";
            return Err(Error::WrongDevice(Failure::new(function, message)));
        }
        // SAFETY: the library is live; returns an owned library, or NULL and an owned error.
        let handle =
            unsafe { create(|error| sys::mtb_dynamic_library_create(library.as_ptr(), error)) }?;
        Ok(DynamicLibrary::new(handle, self))
    }

    fn library(&self, handle: Handle<sys::mtb_library>) -> Library {
        Library {
            inner: Arc::new(LibraryInner {
                handle,
                device: self.clone(),
            }),
        }
    }
}

impl Library {
    fn as_ptr(&self) -> *mut sys::mtb_library {
        self.inner.handle.as_ptr()
    }

    /// The device that the library belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The names of the functions in the library (`functionNames`).
    pub fn function_names(&self) -> Vec<String> {
        // SAFETY: the library is live; the names live as long as it does and are copied.
        unsafe {
            let count = sys::mtb_library_function_count(self.as_ptr());
            (0..count)
                .map(|index| sys::text(sys::mtb_library_function_name(self.as_ptr(), index)))
                .collect()
        }
    }

    /// The compiler's warnings, if it had any.
    pub fn warnings(&self) -> Option<String> {
        // SAFETY: the library is live; the text lives as long as it does and is copied.
        let warnings = unsafe { sys::text(sys::mtb_library_warnings(self.as_ptr())) };
        (!warnings.is_empty()).then_some(warnings)
    }

    /// The function of that name (`newFunctionWithName:`).
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Compile`] if the function has constants that need values.
    pub fn new_function(&self, name: &str) -> Result<Function> {
        self.function("Library::new_function", name, ptr::null())
    }

    /// The function of that name with values for its constants (`newFunctionWithName:constantValues:error:`).
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Compile`] if a value is missing or of another type; [`Error::InvalidArgument`]
    /// and [`Error::OutOfRange`] for values that cannot belong to a constant.
    pub fn new_function_with_constants(
        &self,
        name: &str,
        values: &FunctionConstantValues,
    ) -> Result<Function> {
        let values = values.to_handle()?;
        self.function(
            "Library::new_function_with_constants",
            name,
            values.as_ptr(),
        )
    }

    fn function(
        &self,
        caller: &'static str,
        name: &str,
        values: *const sys::mtb_constant_values,
    ) -> Result<Function> {
        let c_name = c_string(caller, "the function's name", name)?;
        // SAFETY: all are live or NULL, and the name lives during the call.
        let handle = unsafe {
            create(|error| sys::mtb_function_create(self.as_ptr(), c_name.as_ptr(), values, error))
        }?;
        Ok(Function {
            inner: Arc::new(FunctionInner {
                handle,
                device: self.device().clone(),
                name: name.into(),
            }),
        })
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("function_names", &self.function_names())
            .finish()
    }
}

/// A kernel, or a function that is declared with `[[visible]]`, of a [`Library`], with its constants fixed (`MTLFunction`). Clones share it.
#[derive(Clone)]
pub struct Function {
    inner: Arc<FunctionInner>,
}

struct FunctionInner {
    handle: Handle<sys::mtb_function>,
    device: Device,
    name: String,
}

impl Function {
    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_function {
        self.inner.handle.as_ptr()
    }

    /// The device that the function belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The function's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name())
            .finish()
    }
}
