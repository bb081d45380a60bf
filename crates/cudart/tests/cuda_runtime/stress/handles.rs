//! What CUDA's runtime gives to a program, given back when it is dropped, and its codes as errors.

use std::ffi::{CStr, c_void};
use std::ptr;

use metal_cudart::*;

pub(super) type Result<T> = std::result::Result<T, String>;

/// The code of a call as an error that says what the runtime has to say.
pub(super) fn check(call: &'static str, code: cudaError_t) -> Result<()> {
    if code == cudaSuccess {
        return Ok(());
    }
    let message = cudaMetalGetLastErrorMessage();
    // SAFETY: names live for ever, and the message until this thread's next error.
    let (name, message) = unsafe {
        let message = (!message.is_null()).then(|| CStr::from_ptr(message));
        (CStr::from_ptr(cudaGetErrorName(code)), message)
    };
    Err(format!("{call}: {name:?} {message:?}"))
}

/// A stream that was made.
pub(super) struct Stream(pub(super) cudaStream_t);

// SAFETY: a number, which any thread may use.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    pub(super) fn new(flags: u32) -> Result<Stream> {
        let mut stream = ptr::null_mut();
        // SAFETY: a pointer to the handle.
        let code = unsafe { cudaStreamCreateWithFlags(&mut stream, flags) };
        check("cudaStreamCreateWithFlags", code)?;
        Ok(Stream(stream))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: a handle, checked by the call.
        unsafe { cudaStreamDestroy(self.0) };
    }
}

/// An event that was made.
pub(super) struct Event(pub(super) cudaEvent_t);

impl Event {
    pub(super) fn new(flags: u32) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: a pointer to the handle.
        let code = unsafe { cudaEventCreateWithFlags(&mut event, flags) };
        check("cudaEventCreateWithFlags", code)?;
        Ok(Event(event))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: a handle, checked by the call.
        unsafe { cudaEventDestroy(self.0) };
    }
}

/// Source that was registered.
pub(super) struct Module(cudaMetalModule_t);

// SAFETY: a number, which any thread may use.
unsafe impl Sync for Module {}

impl Module {
    pub(super) fn new(source: &CStr) -> Result<Module> {
        let mut module = ptr::null_mut();
        // SAFETY: a pointer to the handle and a C string.
        let code = unsafe { cudaMetalRegisterSource(&mut module, source.as_ptr()) };
        check("cudaMetalRegisterSource", code)?;
        Ok(Module(module))
    }

    pub(super) fn function(&self, name: &CStr) -> Result<cudaMetalFunction_t> {
        let mut function = ptr::null_mut();
        // SAFETY: a pointer to the handle and a C string.
        let code = unsafe { cudaMetalGetFunction(&mut function, self.0, name.as_ptr()) };
        check("cudaMetalGetFunction", code)?;
        Ok(function)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: a handle, checked by the call.
        unsafe { cudaMetalUnregisterSource(self.0) };
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Device,
    /// `cudaMallocAsync` and `cudaFreeAsync`, in the thread's own stream.
    DeviceAsync,
    Pinned,
    Managed,
}

pub(super) struct Memory {
    pub(super) pointer: *mut c_void,
    pub(super) kind: Kind,
}

impl Memory {
    pub(super) fn new(kind: Kind, length: usize) -> Result<Memory> {
        let mut pointer = ptr::null_mut();
        // SAFETY: a result pointer.
        let code = unsafe {
            match kind {
                Kind::Device => cudaMalloc(&mut pointer, length),
                Kind::DeviceAsync => cudaMallocAsync_ptsz(&mut pointer, length, ptr::null_mut()),
                Kind::Pinned => cudaMallocHost(&mut pointer, length),
                Kind::Managed => cudaMallocManaged(&mut pointer, length, cudaMemAttachGlobal),
            }
        };
        check("the allocation", code)?;
        Ok(Memory { pointer, kind })
    }

    pub(super) fn at(&self, offset: usize) -> *mut c_void {
        self.pointer.wrapping_byte_add(offset)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated above, and checked by the calls.
        unsafe {
            match self.kind {
                Kind::Device | Kind::Managed => cudaFree(self.pointer),
                Kind::DeviceAsync => cudaFreeAsync_ptsz(self.pointer, ptr::null_mut()),
                Kind::Pinned => cudaFreeHost(self.pointer),
            }
        };
    }
}
