//! Calls that must succeed, and what the tests need of streams and memory.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::{Condvar, Mutex};

use metal_cudart::*;

/// Fails the test if a call returned something else.
#[track_caller]
pub fn expect(expected: cudaError_t, code: cudaError_t) {
    if code != expected {
        // SAFETY: names live for ever, and the message until this thread's next error.
        let (name, wanted, message) = unsafe {
            let message = cudaMetalGetLastErrorMessage();
            (
                CStr::from_ptr(cudaGetErrorName(code)),
                CStr::from_ptr(cudaGetErrorName(expected)),
                (!message.is_null()).then(|| CStr::from_ptr(message).to_owned()),
            )
        };
        panic!("{name:?} where {wanted:?} was expected: {message:?}");
    }
}

#[track_caller]
pub fn ok(code: cudaError_t) {
    expect(cudaSuccess, code);
}

/// Memory of the device, or of the host for `Pinned` and `Managed`, freed at the end.
pub struct Memory {
    pub pointer: *mut c_void,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Device,
    Pinned,
    Managed,
}

// SAFETY: an address; the tests order what happens there.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn new(kind: Kind, length: usize) -> Memory {
        let mut pointer = ptr::null_mut();
        // SAFETY: a result pointer.
        ok(unsafe {
            match kind {
                Kind::Device => cudaMalloc(&mut pointer, length),
                Kind::Pinned => cudaMallocHost(&mut pointer, length),
                Kind::Managed => cudaMallocManaged(&mut pointer, length, cudaMemAttachGlobal),
            }
        });
        Memory { pointer, kind }
    }

    pub fn device(length: usize) -> Memory {
        Memory::new(Kind::Device, length)
    }

    pub fn pinned(length: usize) -> Memory {
        Memory::new(Kind::Pinned, length)
    }

    pub fn at(&self, offset: usize) -> *mut c_void {
        self.pointer.wrapping_byte_add(offset)
    }

    /// A copy of the bytes, when the default stream's work is done.
    #[track_caller]
    pub fn read(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let host = bytes.as_mut_ptr().cast();
        // SAFETY: the vector has the bytes.
        ok(unsafe { cudaMemcpy(host, self.at(offset), length, cudaMemcpyDefault) });
        bytes
    }

    #[track_caller]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let (host, length) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the slice has the bytes.
        ok(unsafe { cudaMemcpy(self.at(offset), host, length, cudaMemcpyDefault) });
    }

    /// The bytes of memory that the CPU sees.
    #[expect(clippy::mut_from_ref, reason = "the memory is not the value's own")]
    pub fn bytes(&self, length: usize) -> &mut [u8] {
        assert_ne!(self.kind, Kind::Device);
        // SAFETY: allocated with at least this length; the tests order what happens there.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.cast(), length) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated here. If a test has failed, the call may fail too.
        unsafe {
            match self.kind {
                Kind::Device | Kind::Managed => cudaFree(self.pointer),
                Kind::Pinned => cudaFreeHost(self.pointer),
            }
        };
    }
}

/// What the runtime knows of a pointer.
#[track_caller]
pub fn attributes(pointer: *const c_void) -> cudaPointerAttributes {
    let mut attributes = cudaPointerAttributes {
        r#type: 9,
        device: 9,
        devicePointer: ptr::null_mut(),
        hostPointer: ptr::null_mut(),
    };
    // SAFETY: a pointer to the attributes.
    ok(unsafe { cudaPointerGetAttributes(&mut attributes, pointer) });
    attributes
}

/// Makes a device the thread's current one.
#[track_caller]
pub fn set_device(device: usize) {
    // SAFETY: a number, checked by the call.
    ok(unsafe { cudaSetDevice(device as i32) });
}

pub fn stream(flags: u32) -> cudaStream_t {
    let mut stream = ptr::null_mut();
    // SAFETY: a pointer to the handle.
    ok(unsafe { cudaStreamCreateWithFlags(&mut stream, flags) });
    stream
}

pub fn event(flags: u32) -> cudaEvent_t {
    let mut event = ptr::null_mut();
    // SAFETY: a pointer to the handle.
    ok(unsafe { cudaEventCreateWithFlags(&mut event, flags) });
    event
}

pub fn synchronize(stream: cudaStream_t) {
    // SAFETY: a handle, checked by the call.
    ok(unsafe { cudaStreamSynchronize(stream) });
}

/// Commits work that waits at the gate. Streams that wait for this work go on before its completions have been called:
/// each completion takes longer than the work itself.
pub fn fall_behind(gate: &Gate, memory: &Memory, stream: cudaStream_t) {
    gate.close(stream);
    for _ in 0..200 {
        // SAFETY: the memory has the bytes.
        ok(unsafe { cudaMemsetAsync(memory.pointer, 7, 4, stream) });
    }
}

/// Holds a stream up from its host function on until it is opened.
#[derive(Default)]
pub struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Has the stream's later work wait for the gate, which must outlive it.
    pub fn close(&self, stream: cudaStream_t) {
        let context = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the function takes a gate.
        ok(unsafe { cudaLaunchHostFunc(stream, Some(wait_at_gate), context) });
    }

    pub fn open(&self) {
        self.state.lock().unwrap().0 = true;
        self.changed.notify_all();
    }

    /// Waits until the stream has come to the gate.
    pub fn wait_for_arrival(&self) {
        let state = self.state.lock().unwrap();
        drop(
            self.changed
                .wait_while(state, |(_, arrived)| !*arrived)
                .unwrap(),
        );
    }
}

unsafe extern "C-unwind" fn wait_at_gate(context: *mut c_void) {
    // SAFETY: the gate outlives the stream's work.
    let gate = unsafe { &*context.cast::<Gate>() };
    let mut state = gate.state.lock().unwrap();
    state.1 = true;
    gate.changed.notify_all();
    drop(gate.changed.wait_while(state, |(open, _)| !*open).unwrap());
}
