//! [`DynamicLibrary`]: functions that sources declare and do not define.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::metal::device::Device;
use crate::metal::handle::{Handle, c_path, check, create};
use crate::sys;

/// Functions that the sources of other libraries declare and call (`MTLDynamicLibrary`). Clones share it.
///
/// [`Device::new_dynamic_library`] makes it of a library of the type
/// [`LibraryType::Dynamic`](crate::LibraryType::Dynamic). Sources find it among the libraries of their
/// [`CompileOptions`](crate::CompileOptions), and a pipeline looks among its
/// [preloaded libraries](crate::ComputePipelineDescriptor::preloaded_libraries) before that. What links it keeps it.
///
/// ```
/// use metal_bridge::{CompileOptions, Device, DispatchType, StorageMode};
///
/// # if !metal_bridge::is_available() { return Ok(()); }
/// let device = Device::system_default()?;
/// # if !device.supports_dynamic_libraries() { return Ok(()); }
/// let options = CompileOptions::new().dynamic("@executable_path/tools.metallib");
/// let tools = device.new_library_with_source("int changed(int x) { return 2 * x; }", &options)?;
/// let tools = device.new_dynamic_library(&tools)?;
///
/// let source = "int changed(int x);
///     kernel void change(device int *x, uint i [[thread_position_in_grid]]) { x[i] = changed(x[i]); }";
/// let library = device.new_library_with_source(source, &CompileOptions::new().library(&tools))?;
/// let change = device.new_compute_pipeline_state(&library.new_function("change")?)?;
/// let x = device.new_buffer_with_data(&[1i32, 2, 3], StorageMode::Shared)?;
///
/// let mut commands = device.new_command_queue()?.command_buffer()?;
/// let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
/// encoder.set_compute_pipeline_state(&change)?;
/// encoder.set_buffer(&x, 0, 0)?;
/// // SAFETY: three threads, each on one of the three integers, and `changed` has the type that the kernel declares.
/// unsafe { encoder.dispatch_threads(3, 3)? };
/// encoder.end_encoding()?;
/// commands.commit()?;
/// assert_eq!(*x.wait_read::<i32>()?, [2, 4, 6]);
/// # Ok::<(), metal_bridge::Error>(())
/// ```
#[derive(Clone)]
pub struct DynamicLibrary {
    inner: Arc<DynamicLibraryInner>,
}

struct DynamicLibraryInner {
    handle: Handle<sys::mtb_dynamic_library>,
    device: Device,
    install_name: String,
}

impl Device {
    /// Whether sources may call functions of dynamic libraries (`supportsDynamicLibraries`).
    pub fn supports_dynamic_libraries(&self) -> bool {
        // SAFETY: the device is live.
        unsafe { sys::mtb_device_supports_dynamic_libraries(self.as_ptr()) }
    }

    /// Loads a dynamic library that [`DynamicLibrary::serialize_to_file`] has written (`newDynamicLibraryWithURL:error:`),
    /// and those that it needs, by their install names.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`](crate::Error::NotFound) if there is no such file and if an install name leads to none,
    /// [`Error::Unsupported`](crate::Error::Unsupported) if a file has no dynamic library for this Metal and if the
    /// device has none, [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a path that is not UTF-8.
    pub fn new_dynamic_library_with_file(&self, path: impl AsRef<Path>) -> Result<DynamicLibrary> {
        let path = c_path("Device::new_dynamic_library_with_file", path.as_ref())?;
        // SAFETY: both live during the call; returns an owned library, or NULL and an owned error.
        let handle = unsafe {
            create(|error| {
                sys::mtb_dynamic_library_create_from_file(self.as_ptr(), path.as_ptr(), error)
            })
        }?;
        Ok(DynamicLibrary::new(handle, self))
    }
}

impl DynamicLibrary {
    pub(crate) fn new(handle: Handle<sys::mtb_dynamic_library>, device: &Device) -> DynamicLibrary {
        // SAFETY: the library is live; the name lives as long as it does and is copied.
        let install_name =
            unsafe { sys::text(sys::mtb_dynamic_library_install_name(handle.as_ptr())) };
        DynamicLibrary {
            inner: Arc::new(DynamicLibraryInner {
                handle,
                device: device.clone(),
                install_name,
            }),
        }
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_dynamic_library {
        self.inner.handle.as_ptr()
    }

    /// The device that the library belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The name by which files of other libraries know this one's file (`installName`): an absolute path, or one that
    /// begins with `@executable_path/` or `@loader_path/`.
    pub fn install_name(&self) -> &str {
        &self.inner.install_name
    }

    /// Writes the library to a file (`serializeToURL:error:`), in the place of a file that is there.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) if the file cannot be written,
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a path that is not UTF-8, or where something else
    /// than a file is, such as a folder or a device.
    pub fn serialize_to_file(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path("DynamicLibrary::serialize_to_file", path.as_ref())?;
        // SAFETY: both live during the call.
        unsafe {
            check(|error| sys::mtb_dynamic_library_serialize(self.as_ptr(), path.as_ptr(), error))
        }
    }
}

impl PartialEq for DynamicLibrary {
    /// Whether both are the same object: clones are equal, two libraries of one source are not.
    fn eq(&self, other: &DynamicLibrary) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for DynamicLibrary {}

impl fmt::Debug for DynamicLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicLibrary")
            .field("install_name", &self.install_name())
            .finish()
    }
}
