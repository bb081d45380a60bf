//! [`VisibleFunctionTable`] and [`FunctionHandle`]: functions that kernels pick by index.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::metal::access::{Access, Conflict, Tracker};
use crate::metal::buffer::conflict_error;
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Device;
use crate::metal::handle::{Handle, check, create};
use crate::metal::library::Function;
use crate::metal::pipeline::ComputePipeline;
use crate::metal::recording::{Resource, Tracked};
use crate::sys;

/// A function that a pipeline has linked, for the tables of that pipeline (`MTLFunctionHandle`). Clones share it.
#[derive(Clone)]
pub struct FunctionHandle {
    inner: Arc<FunctionHandleInner>,
}

struct FunctionHandleInner {
    handle: Handle<sys::mtb_function_handle>,
    name: String,
}

/// Functions that kernels pick by index (`MTLVisibleFunctionTable`). Clones share it.
///
/// A kernel takes it as `visible_function_table<T>`, at an index of its buffers. The table keeps its pipeline alive, and
/// a command buffer that uses the table keeps it until it has completed; until then nobody can change the table
/// ([`Error::InUse`]).
///
/// ```
/// use metal_bridge::{CompileOptions, ComputePipelineDescriptor, Device, DispatchType, StorageMode};
///
/// # if !metal_bridge::is_available() { return Ok(()); }
/// let device = Device::system_default()?;
/// # if !device.supports_function_pointers() { return Ok(()); }
/// let source = "#include <metal_stdlib>
///     using namespace metal;
///     [[visible]] int doubled(int x) { return 2 * x; }
///     [[visible]] int negative(int x) { return -x; }
///     kernel void call(device int *x, visible_function_table<int(int)> table, uint i [[thread_position_in_grid]]) {
///         x[i] = table[i % 2](x[i]);
///     }";
/// let library = device.new_library_with_source(source, &CompileOptions::new())?;
/// let (doubled, negative) = (library.new_function("doubled")?, library.new_function("negative")?);
/// let descriptor = ComputePipelineDescriptor::new(&library.new_function("call")?).link(&doubled).link(&negative);
/// let call = device.new_compute_pipeline_state_with_descriptor(&descriptor)?;
///
/// let table = call.new_visible_function_table(2)?;
/// table.set_function(Some(&call.function_handle(&doubled)?), 0)?;
/// table.set_function(Some(&call.function_handle(&negative)?), 1)?;
/// let x = device.new_buffer_with_data(&[1i32, 2, 3], StorageMode::Shared)?;
///
/// let mut commands = device.new_command_queue()?.command_buffer()?;
/// let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
/// encoder.set_compute_pipeline_state(&call)?;
/// encoder.set_buffer(&x, 0, 0)?;
/// encoder.set_visible_function_table(&table, 1)?;
/// // SAFETY: three threads, each on one of the three integers, and both functions have the table's type.
/// unsafe { encoder.dispatch_threads(3, 3)? };
/// encoder.end_encoding()?;
/// commands.commit()?;
/// assert_eq!(*x.wait_read::<i32>()?, [2, -2, 6]);
/// # Ok::<(), metal_bridge::Error>(())
/// ```
#[derive(Clone)]
pub struct VisibleFunctionTable {
    inner: Arc<TableInner>,
}

struct TableInner {
    handle: Handle<sys::mtb_visible_function_table>,
    pipeline: ComputePipeline,
    function_count: usize,
    /// Who calls through the table, and who changes it: command buffers read, changes write.
    tracker: Tracker,
}

impl Device {
    /// Whether kernels may call functions that their pipelines link (`supportsFunctionPointers`).
    pub fn supports_function_pointers(&self) -> bool {
        // SAFETY: the device is live.
        unsafe { sys::mtb_device_supports_function_pointers(self.as_ptr()) }
    }
}

impl ComputePipeline {
    /// The handle of a function that the pipeline was made with (`functionHandleWithFunction:`).
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for a function that is not among
    /// [`LinkedFunctions::functions`](crate::LinkedFunctions::functions) of the pipeline's descriptor: another
    /// [`Function`] of the same name is not the same. [`Error::WrongDevice`], [`Error::Unsupported`].
    pub fn function_handle(&self, function: &Function) -> Result<FunctionHandle> {
        // SAFETY: both are live; returns an owned handle, or NULL and an owned error.
        let handle = unsafe {
            create(|error| sys::mtb_function_handle_create(self.as_ptr(), function.as_ptr(), error))
        }?;
        Ok(FunctionHandle {
            inner: Arc::new(FunctionHandleInner {
                handle,
                name: function.name().to_owned(),
            }),
        })
    }

    /// Makes a table of `function_count` indices that have no functions yet (`newVisibleFunctionTableWithDescriptor:`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a count of zero, [`Error::OutOfRange`] and [`Error::OutOfMemory`] for too large a
    /// table, [`Error::Unsupported`] if the device has no function pointers.
    pub fn new_visible_function_table(
        &self,
        function_count: usize,
    ) -> Result<VisibleFunctionTable> {
        // SAFETY: the pipeline is live; returns an owned table, or NULL and an owned error.
        let handle = unsafe {
            create(|error| {
                sys::mtb_visible_function_table_create(self.as_ptr(), function_count, error)
            })
        }?;
        Ok(VisibleFunctionTable {
            inner: Arc::new(TableInner {
                handle,
                pipeline: self.clone(),
                function_count,
                tracker: Tracker::default(),
            }),
        })
    }
}

impl FunctionHandle {
    /// The function's name (`name`).
    pub fn name(&self) -> &str {
        &self.inner.name
    }
}

impl fmt::Debug for FunctionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionHandle")
            .field("name", &self.name())
            .finish()
    }
}

impl VisibleFunctionTable {
    /// The pipeline whose functions the table has.
    pub fn pipeline(&self) -> &ComputePipeline {
        &self.inner.pipeline
    }

    /// The number of indices (`functionCount`).
    pub fn function_count(&self) -> usize {
        self.inner.function_count
    }

    /// Sets the function at `index` (`setFunction:atIndex:`); `None` leaves the index without one.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a command buffer, committed or not, uses the table, and while another thread changes it;
    /// [`Error::OutOfRange`]; [`Error::InvalidArgument`] for a handle of another pipeline.
    pub fn set_function(&self, function: Option<&FunctionHandle>, index: usize) -> Result<()> {
        const FUNCTION: &str = "VisibleFunctionTable::set_function";
        let tracker = &self.inner.tracker;
        let begun = tracker.begin_cpu(Access::Write, Some(Instant::now()));
        begun.map_err(|conflict| {
            let conflict = match conflict {
                Conflict::Waited(_) => Conflict::Running,
                other => other,
            };
            conflict_error(FUNCTION, &self.inner.describe(), conflict)
        })?;
        let raw = function.map_or(std::ptr::null_mut(), |function| {
            function.inner.handle.as_ptr()
        });
        let table = self.inner.handle.as_ptr();
        // SAFETY: both are live, and until the end of the change nobody else uses the table.
        let set = unsafe {
            check(|error| sys::mtb_visible_function_table_set_function(table, raw, index, error))
        };
        tracker.end_cpu(Access::Write);
        set
    }

    /// Waits until no committed command buffer uses the table.
    ///
    /// # Errors
    ///
    /// [`Error::Deadlock`] if that wait could not end, as
    /// [`Buffer::wait_until_idle`](crate::Buffer::wait_until_idle) says.
    pub fn wait_until_idle(&self) -> Result<()> {
        const FUNCTION: &str = "VisibleFunctionTable::wait_until_idle";
        let waited = self.inner.tracker.wait_idle(None);
        waited.map_err(|conflict| conflict_error(FUNCTION, &self.inner.describe(), conflict))
    }
}

impl fmt::Debug for VisibleFunctionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VisibleFunctionTable")
            .field("pipeline", self.pipeline())
            .field("function_count", &self.function_count())
            .finish()
    }
}

impl TableInner {
    /// For a message.
    fn describe(&self) -> String {
        format!(
            "the visible function table of {} functions",
            self.function_count
        )
    }
}

impl Tracked for TableInner {
    fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}

impl Resource for &Arc<TableInner> {
    fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Kernels only read it.
    fn check_writable(&self, _: &'static str) -> Result<()> {
        Ok(())
    }

    fn conflict(&self, function: &'static str, conflict: Conflict) -> Error {
        conflict_error(function, &self.describe(), conflict)
    }

    fn keep(&self) -> Arc<dyn Tracked> {
        (*self).clone()
    }
}

impl ComputeEncoder<'_> {
    /// Binds `table` (`setVisibleFunctionTable:atBufferIndex:`). Tables and buffers have one list of indices: what is
    /// bound at an index replaces what was there. A dispatch is refused with [`Error::InvalidArgument`] if the kernel
    /// takes a table and the one that is bound belongs to another pipeline than the encoder's, and if the kernel takes
    /// a buffer where a table is bound.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while another thread changes the table, [`Error::OutOfRange`] for the index,
    /// [`Error::WrongDevice`].
    pub fn set_visible_function_table(
        &mut self,
        table: &VisibleFunctionTable,
        index: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::set_visible_function_table";
        let (encoder, raw) = (self.as_ptr(), table.inner.handle.as_ptr());
        // SAFETY: both are live.
        let bind = || unsafe {
            check(|error| {
                sys::mtb_compute_encoder_set_visible_function_table(encoder, raw, index, error)
            })
        };
        let uses = [(&table.inner, Access::Read)];
        self.recording.encode(FUNCTION, uses, bind)
    }
}
