//! [`ComputeEncoder`]: records dispatches of kernels.

use std::fmt;

use bytemuck::NoUninit;

use super::access::Access;
use super::buffer::Buffer;
use super::device::Size;
use super::dispatches::Dispatches;
use super::handle::{Handle, c_string, check};
use super::pipeline::ComputePipeline;
use super::recording::{Recording, Resource};
use crate::error::Result;
use crate::sys;

/// How the dispatches of an encoder follow each other (`MTLDispatchType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DispatchType {
    /// Each sees what the ones before it wrote.
    #[default]
    Serial,
    /// They may overlap: [`ComputeEncoder::memory_barrier`] orders them.
    Concurrent,
}

impl DispatchType {
    pub(crate) fn to_sys(self) -> sys::mtb_dispatch_type {
        match self {
            DispatchType::Serial => sys::MTB_DISPATCH_SERIAL,
            DispatchType::Concurrent => sys::MTB_DISPATCH_CONCURRENT,
        }
    }
}

/// The number of bindings of an encoder; the first has the index 0.
pub const MAX_BINDINGS: usize = sys::MTB_MAX_BINDINGS as usize;

/// The most bytes that [`ComputeEncoder::set_bytes`] takes: Metal's limit.
pub const MAX_INLINE_BYTES: usize = sys::MTB_MAX_INLINE_BYTES as usize;

/// Records dispatches of kernels (`MTLComputeCommandEncoder`). Dropping it ends it.
///
/// What is set (pipeline, buffers, bytes, threadgroup memory) stays set until it is replaced.
pub struct ComputeEncoder<'a> {
    handle: Held<'a>,
    pub(super) recording: &'a mut Recording,
    /// What an encoder that places the barriers itself keeps of its dispatches.
    pub(super) dispatches: Option<&'a mut Dispatches>,
}

enum Held<'a> {
    /// Dropping it ends the encoder.
    Own(Handle<sys::mtb_compute_encoder>),
    /// Its owner ends it.
    Lent(&'a mut Handle<sys::mtb_compute_encoder>),
}

impl<'a> ComputeEncoder<'a> {
    pub(crate) fn new(
        handle: Handle<sys::mtb_compute_encoder>,
        recording: &'a mut Recording,
    ) -> ComputeEncoder<'a> {
        ComputeEncoder {
            handle: Held::Own(handle),
            recording,
            dispatches: None,
        }
    }

    /// An open encoder that goes on after this value, and places the barriers itself.
    pub(super) fn lent(
        handle: &'a mut Handle<sys::mtb_compute_encoder>,
        recording: &'a mut Recording,
        dispatches: &'a mut Dispatches,
    ) -> ComputeEncoder<'a> {
        ComputeEncoder {
            handle: Held::Lent(handle),
            recording,
            dispatches: Some(dispatches),
        }
    }

    /// The encoder, which lives at least as long as this value.
    pub(super) fn as_ptr(&self) -> *mut sys::mtb_compute_encoder {
        match &self.handle {
            Held::Own(handle) => handle.as_ptr(),
            Held::Lent(handle) => handle.as_ptr(),
        }
    }

    /// Names the encoder in Metal's tools and errors (`label`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a label with a NUL.
    pub fn set_label(&mut self, label: &str) -> Result<()> {
        let label = c_string("ComputeEncoder::set_label", "the label", label)?;
        // SAFETY: both are live; the label is copied.
        unsafe {
            check(|error| sys::mtb_compute_encoder_set_label(self.as_ptr(), label.as_ptr(), error))
        }
    }

    /// Chooses the kernel that the next dispatches launch (`setComputePipelineState:`).
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    #[inline]
    pub fn set_compute_pipeline_state(&mut self, pipeline: &ComputePipeline) -> Result<()> {
        // SAFETY: both are live.
        unsafe {
            check(|error| {
                sys::mtb_compute_encoder_set_pipeline(self.as_ptr(), pipeline.as_ptr(), error)
            })
        }
    }

    /// Binds `buffer` from the byte at `offset` on, for kernels that may read and write it
    /// (`setBuffer:offset:atIndex:`).
    ///
    /// # Errors
    ///
    /// [`Error::InUse`](crate::Error::InUse) while a guard for CPU access lives,
    /// [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::OutOfRange`](crate::Error::OutOfRange) for the offset or
    /// the index, [`Error::WrongDevice`](crate::Error::WrongDevice).
    #[inline]
    pub fn set_buffer(&mut self, buffer: &Buffer, offset: usize, index: usize) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::set_buffer";
        self.bind(FUNCTION, buffer, Access::Write, offset, index)
    }

    /// Binds `buffer` from the byte at `offset` on, for kernels that only read it (`setBuffer:offset:atIndex:`). The
    /// CPU may go on reading it, too.
    ///
    /// The caller promises at the dispatch that the kernel does not write it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`](crate::Error::InUse) while a guard that writes lives,
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for the offset or the index,
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    #[inline]
    pub fn set_buffer_read_only(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        index: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::set_buffer_read_only";
        self.bind(FUNCTION, buffer, Access::Read, offset, index)
    }

    #[inline]
    fn bind(
        &mut self,
        function: &'static str,
        buffer: &Buffer,
        access: Access,
        offset: usize,
        index: usize,
    ) -> Result<()> {
        let (encoder, raw) = (self.as_ptr(), buffer.as_ptr());
        // SAFETY: both are live.
        let bind = || unsafe {
            check(|error| sys::mtb_compute_encoder_set_buffer(encoder, raw, offset, index, error))
        };
        self.recording.encode(function, [(buffer, access)], bind)
    }

    /// Moves the binding at `index`, which has to have a buffer, to another offset in bytes
    /// (`setBufferOffset:atIndex:`).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange), [`Error::InvalidState`](crate::Error::InvalidState) if no
    /// buffer is bound.
    #[inline]
    pub fn set_buffer_offset(&mut self, offset: usize, index: usize) -> Result<()> {
        // SAFETY: the encoder is live.
        unsafe {
            check(|error| {
                sys::mtb_compute_encoder_set_buffer_offset(self.as_ptr(), offset, index, error)
            })
        }
    }

    /// Binds a copy of `bytes`, at most [`MAX_INLINE_BYTES`] (`setBytes:length:atIndex:`).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for no bytes, for too many and for the index.
    #[inline]
    pub fn set_bytes(&mut self, bytes: &[u8], index: usize) -> Result<()> {
        let (pointer, length) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the encoder is live, and the bytes are copied.
        unsafe {
            check(|error| {
                sys::mtb_compute_encoder_set_bytes(self.as_ptr(), pointer, length, index, error)
            })
        }
    }

    /// Binds a copy of `value`, which has to be laid out as the kernel's argument is (`setBytes:length:atIndex:`).
    ///
    /// # Errors
    ///
    /// As [`set_bytes`](ComputeEncoder::set_bytes).
    #[inline]
    pub fn set_value<T: NoUninit>(&mut self, value: &T, index: usize) -> Result<()> {
        self.set_bytes(bytemuck::bytes_of(value), index)
    }

    /// Gives the threadgroup argument at `index` this many bytes, a multiple of 16
    /// (`setThreadgroupMemoryLength:atIndex:`).
    ///
    /// # Errors
    ///
    /// [`Error::Misaligned`](crate::Error::Misaligned), [`Error::OutOfRange`](crate::Error::OutOfRange) for more than
    /// the device has and for the index.
    #[inline]
    pub fn set_threadgroup_memory_length(&mut self, length: usize, index: usize) -> Result<()> {
        // SAFETY: the encoder is live.
        unsafe {
            check(|error| {
                sys::mtb_compute_encoder_set_threadgroup_memory(self.as_ptr(), length, index, error)
            })
        }
    }

    /// Launches the kernel on a grid of `threads` (`dispatchThreads:threadsPerThreadgroup:`), which need not fill the
    /// last threadgroups. If either size has a zero, there are no threads: the call does nothing, and needs nothing
    /// set.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidState`](crate::Error::InvalidState) without a pipeline,
    /// [`Error::MissingArgument`](crate::Error::MissingArgument) if the kernel has an argument that nothing is bound
    /// to, [`Error::OutOfRange`](crate::Error::OutOfRange) for more threads or threadgroup memory than the pipeline or the
    /// device has.
    ///
    /// # Safety
    ///
    /// No compiler checks a kernel. The caller promises that, with what is bound and these sizes,
    ///
    /// - every address that it reads or writes lies in the rest of the buffer bound to the argument, in the bytes or
    ///   the threadgroup memory given for it, or in a buffer named by [`use_buffer`](ComputeEncoder::use_buffer);
    /// - it writes to no buffer bound by [`set_buffer_read_only`](ComputeEncoder::set_buffer_read_only) or used for
    ///   reading only, and to no bytes of [`set_bytes`](ComputeEncoder::set_bytes);
    /// - what is bound to an argument is laid out as the argument's type is, and aligned for it, and where it calls
    ///   through a [table](crate::VisibleFunctionTable) there is a function of the type that it calls.
    #[inline]
    pub unsafe fn dispatch_threads(
        &mut self,
        threads: impl Into<Size>,
        threads_per_threadgroup: impl Into<Size>,
    ) -> Result<()> {
        let (grid, group) = (
            threads.into().to_sys(),
            threads_per_threadgroup.into().to_sys(),
        );
        self.order_dispatch()?;
        // SAFETY: the encoder is live; what the kernel does is the caller's promise.
        unsafe {
            check(|error| {
                sys::mtb_compute_encoder_dispatch_threads(self.as_ptr(), grid, group, error)
            })
        }
    }

    /// Launches the kernel on a grid of whole `threadgroups` (`dispatchThreadgroups:threadsPerThreadgroup:`).
    ///
    /// # Errors
    ///
    /// As [`dispatch_threads`](ComputeEncoder::dispatch_threads).
    ///
    /// # Safety
    ///
    /// As [`dispatch_threads`](ComputeEncoder::dispatch_threads).
    #[inline]
    pub unsafe fn dispatch_threadgroups(
        &mut self,
        threadgroups: impl Into<Size>,
        threads_per_threadgroup: impl Into<Size>,
    ) -> Result<()> {
        let (grid, group) = (
            threadgroups.into().to_sys(),
            threads_per_threadgroup.into().to_sys(),
        );
        self.order_dispatch()?;
        // SAFETY: the encoder is live; what the kernel does is the caller's promise.
        unsafe {
            check(|error| {
                sys::mtb_compute_encoder_dispatch_threadgroups(self.as_ptr(), grid, group, error)
            })
        }
    }

    /// Encodes launches of a layer above, which use what `uses` names.
    pub(crate) fn encode_launches<R: Resource>(
        &mut self,
        function: &'static str,
        uses: impl IntoIterator<Item = (R, Access)>,
        encode: impl FnOnce(*mut sys::mtb_compute_encoder) -> Result<()>,
    ) -> Result<()> {
        self.order_dispatch()?;
        let raw = self.as_ptr();
        self.recording.encode(function, uses, || encode(raw))
    }

    /// Lets kernels reach a buffer that they know by its [address](Buffer::gpu_address) only
    /// (`useResource:usage:`), to read and write it.
    ///
    /// # Errors
    ///
    /// As [`set_buffer`](ComputeEncoder::set_buffer).
    pub fn use_buffer(&mut self, buffer: &Buffer) -> Result<()> {
        self.make_resident("ComputeEncoder::use_buffer", buffer, Access::Write)
    }

    /// [`use_buffer`](ComputeEncoder::use_buffer) for kernels that only read it.
    ///
    /// # Errors
    ///
    /// As [`set_buffer_read_only`](ComputeEncoder::set_buffer_read_only).
    pub fn use_buffer_read_only(&mut self, buffer: &Buffer) -> Result<()> {
        const FUNCTION: &str = "ComputeEncoder::use_buffer_read_only";
        self.make_resident(FUNCTION, buffer, Access::Read)
    }

    fn make_resident(
        &mut self,
        function: &'static str,
        buffer: &Buffer,
        access: Access,
    ) -> Result<()> {
        let usage = match access {
            Access::Read => sys::MTB_USAGE_READ,
            Access::Write => sys::MTB_USAGE_READ_WRITE,
        };
        let (encoder, raw) = (self.as_ptr(), buffer.as_ptr());
        // SAFETY: both are live.
        let make_resident = || unsafe {
            check(|error| sys::mtb_compute_encoder_use_buffer(encoder, raw, usage, error))
        };
        self.recording
            .encode(function, [(buffer, access)], make_resident)
    }

    /// Begins a named group of commands in Metal's tools (`pushDebugGroup:`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a name with a NUL.
    pub fn push_debug_group(&mut self, name: &str) -> Result<()> {
        let name = c_string("ComputeEncoder::push_debug_group", "the name", name)?;
        // SAFETY: both are live; the name is copied.
        unsafe {
            check(|error| {
                sys::mtb_compute_encoder_push_debug_group(self.as_ptr(), name.as_ptr(), error)
            })
        }
    }

    /// Ends the group that was begun last (`popDebugGroup`). The end of the encoder ends those that are left.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidState`](crate::Error::InvalidState) if there is none.
    pub fn pop_debug_group(&mut self) -> Result<()> {
        // SAFETY: the encoder is live.
        unsafe { check(|error| sys::mtb_compute_encoder_pop_debug_group(self.as_ptr(), error)) }
    }

    /// Ends the encoder (`endEncoding`), as dropping it does.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    pub fn end_encoding(self) -> Result<()> {
        // SAFETY: the encoder is live.
        unsafe { check(|error| sys::mtb_compute_encoder_end(self.as_ptr(), error)) }
    }
}

impl Drop for ComputeEncoder<'_> {
    /// The handle ends the encoder. This empty drop makes the borrow of the command buffer last until then: without
    /// it, a commit would compile before the encoder has ended.
    fn drop(&mut self) {}
}

impl fmt::Debug for ComputeEncoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComputeEncoder")
            .field("uses", &self.recording.len())
            .finish()
    }
}
