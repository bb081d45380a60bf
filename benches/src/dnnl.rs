//! Convolutions by version 2 of oneDNN through its C interface, if the loader finds the library.

use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute_copy;
use std::ptr;

use crate::data;
use crate::layers::Layer;
use crate::libraries::function;

const LIBRARY: &CStr = c"libdnnl.so.2";

// Constants of dnnl_types.h.
const F32: c_int = 3;
/// Of four dimensions: `dnnl_nchw`, and `dnnl_oihw` for weights.
const TAG_PLAIN: c_int = 5;
const TAG_ANY: c_int = 1;
const FORWARD_INFERENCE: c_int = 96;
const DIRECT: c_int = 1;
const CPU: c_int = 1;
const IN_ORDER: u32 = 1;
/// `DNNL_ARG_SRC`, `DNNL_ARG_WEIGHTS` and `DNNL_ARG_DST`, and what asks for their descriptors.
const ARGUMENTS: [(c_int, c_int); 3] = [(1, 129), (33, 131), (17, 133)];
/// `DNNL_MEMORY_ALLOCATE`.
const ALLOCATE: *mut c_void = ptr::without_provenance_mut(usize::MAX);

/// How tensors lie.
#[derive(Debug, Clone, Copy)]
pub enum Layout {
    /// As MPS and the kernels have them: NCHW, weights OIHW.
    Plain,
    /// As oneDNN likes them best: in blocks of channels, as a rule.
    Chosen,
}

/// A `dnnl_memory_desc_t` (696 bytes).
#[repr(C, align(16))]
struct Descriptor([u8; 1024]);

/// A `dnnl_convolution_desc_t` (5976 bytes).
#[repr(C, align(16))]
struct Operation([u8; 8192]);

#[repr(C)]
struct Argument {
    name: c_int,
    memory: *mut c_void,
}

/// Calls a function of the library with these types; none if it is not there or does not give 0.
macro_rules! call {
    ($name:literal, $($argument:expr => $type:ty),+) => {{
        let found = function(&[LIBRARY], $name)?;
        // SAFETY: that is its type in version 2, and the pointers are to what it asks for.
        let status = unsafe {
            let function: unsafe extern "C" fn($($type),+) -> c_int = transmute_copy(&found);
            function($($argument),+)
        };
        (status == 0).then_some(())?
    }};
}

/// The convolution on memory that oneDNN allocates in this layout, so that nothing is copied into another one. Its objects last
/// as long as the program.
pub fn convolution(layer: &Layer, layout: Layout) -> Option<impl FnMut() + use<>> {
    let (mut engine, mut stream) = (ptr::null_mut(), ptr::null_mut());
    call!(c"dnnl_engine_create", &mut engine => *mut *mut c_void, CPU => c_int, 0 => usize);
    call!(c"dnnl_stream_create", &mut stream => *mut *mut c_void, engine => *mut c_void, IN_ORDER => u32);
    let description = description(layer, layout, engine)?;
    let mut primitive = ptr::null_mut();
    call!(c"dnnl_primitive_create", &mut primitive => *mut *mut c_void, description => *mut c_void);
    let mut arguments = Vec::new();
    for (name, query) in ARGUMENTS {
        arguments.push(Argument {
            name,
            memory: memory(description, query, engine)?,
        });
    }
    let execute = function(&[LIBRARY], c"dnnl_primitive_execute")?;
    let wait = function(&[LIBRARY], c"dnnl_stream_wait")?;
    type Execute =
        unsafe extern "C" fn(*const c_void, *mut c_void, c_int, *const Argument) -> c_int;
    // SAFETY: those are their types in version 2.
    let (execute, wait): (Execute, unsafe extern "C" fn(*mut c_void) -> c_int) =
        unsafe { (transmute_copy(&execute), transmute_copy(&wait)) };
    Some(move || {
        let count = arguments.len() as c_int;
        // SAFETY: the objects are never destroyed, and the arguments are what the primitive asks for.
        let done = unsafe {
            execute(primitive, stream, count, arguments.as_ptr()) == 0 && wait(stream) == 0
        };
        assert!(done, "oneDNN does not compute the convolution");
    })
}

fn description(layer: &Layer, layout: Layout, engine: *mut c_void) -> Option<*mut c_void> {
    let tag = match layout {
        Layout::Plain => TAG_PLAIN,
        Layout::Chosen => TAG_ANY,
    };
    let descriptor = |shape: [usize; 4]| {
        let mut descriptor = Descriptor([0; 1024]);
        let lengths = shape.map(|length| length as i64);
        call!(
            c"dnnl_memory_desc_init_by_tag",
            &mut descriptor => *mut Descriptor,
            4 => c_int,
            lengths.as_ptr() => *const i64,
            F32 => c_int,
            tag => c_int
        );
        Some(descriptor)
    };
    let (source, weights) = (descriptor(layer.source())?, descriptor(layer.weights())?);
    let result = descriptor(layer.result())?;
    let strides = [layer.stride as i64; 2];
    let padding = [layer.padding() as i64; 2];
    let mut operation = Operation([0; 8192]);
    call!(
        c"dnnl_convolution_forward_desc_init",
        &mut operation => *mut Operation,
        FORWARD_INFERENCE => c_int,
        DIRECT => c_int,
        &source => *const Descriptor,
        &weights => *const Descriptor,
        ptr::null() => *const Descriptor,
        &result => *const Descriptor,
        strides.as_ptr() => *const i64,
        padding.as_ptr() => *const i64,
        padding.as_ptr() => *const i64
    );
    let mut description = ptr::null_mut();
    call!(
        c"dnnl_primitive_desc_create",
        &mut description => *mut *mut c_void,
        &operation => *const Operation,
        ptr::null() => *const c_void,
        engine => *mut c_void,
        ptr::null() => *const c_void
    );
    Some(description)
}

/// Memory for a tensor of the convolution, with numbers in it: in which order does not matter.
fn memory(description: *mut c_void, query: c_int, engine: *mut c_void) -> Option<*mut c_void> {
    type Query = unsafe extern "C" fn(*const c_void, c_int, c_int) -> *const c_void;
    let ask = function(&[LIBRARY], c"dnnl_primitive_desc_query_md")?;
    let size = function(&[LIBRARY], c"dnnl_memory_desc_get_size")?;
    // SAFETY: those are their types in version 2; the descriptor belongs to the description.
    let (descriptor, bytes) = unsafe {
        let ask: Query = transmute_copy(&ask);
        let size: unsafe extern "C" fn(*const c_void) -> usize = transmute_copy(&size);
        let descriptor = ask(description, query, 0);
        (descriptor, size(descriptor))
    };
    let (mut memory, mut start) = (ptr::null_mut(), ptr::null_mut());
    call!(
        c"dnnl_memory_create",
        &mut memory => *mut *mut c_void,
        descriptor => *const c_void,
        engine => *mut c_void,
        ALLOCATE => *mut c_void
    );
    call!(c"dnnl_memory_get_data_handle", memory => *mut c_void, &mut start => *mut *mut c_void);
    let numbers = data::uniform(bytes / 4, 1);
    // SAFETY: the memory has this many bytes.
    unsafe { ptr::copy_nonoverlapping(numbers.as_ptr(), start.cast(), numbers.len()) };
    Some(memory)
}
