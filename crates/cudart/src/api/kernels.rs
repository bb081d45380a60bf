//! Calls: kernels.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::slice;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use metal_bridge::sys::{self, check, create};

use crate::api::calls::calls;
use crate::api::out::out;
use crate::codes::*;
use crate::memory::allocation::{ALLOCATIONS, Buffer, Kind};
use crate::memory::pointers::allocation_at;
use crate::runtime::commands::commit;
use crate::runtime::context::Context;
use crate::runtime::device_state::DeviceState;
use crate::runtime::devices::Device;
use crate::runtime::failure::{Failed, Outcome, require};
use crate::runtime::handles::{DefaultStream, stream};
use crate::runtime::modules::{
    Argument, FUNCTIONS, Function, MODULES, Module, Parameter, Pipeline, function,
};
use crate::types::*;

calls! {
    /// Compiles Metal source, a C string, for the current device; other devices compile it when they need it.
    cudaMetalRegisterSource = register_source(module: *mut cudaMetalModule_t, source: *const c_char);
    /// Gives a module and its kernels back; work that was committed keeps what it needs.
    cudaMetalUnregisterSource = unregister_source(module: cudaMetalModule_t);
    /// A kernel of a module. Its source tells which arguments are values: references to constant memory.
    cudaMetalGetFunction = get_function(
        function: *mut cudaMetalFunction_t,
        module: cudaMetalModule_t,
        name: *const c_char,
    );
    /// The same, but the program says what each buffer argument is, in the order of their indices.
    cudaMetalGetFunctionWithParameters = get_function_with_parameters(
        function: *mut cudaMetalFunction_t,
        module: cudaMetalModule_t,
        name: *const c_char,
        parameters: *const cudaMetalParameter,
        count: usize,
    );
    /// What a kernel needs, and its limits on the current device.
    cudaFuncGetAttributes = get_attributes(
        attributes: *mut cudaFuncAttributes,
        function: *const c_void,
    );
    /// Launches a kernel: `arguments` has the address of each buffer argument's value, in the order of their indices.
    cudaLaunchKernel, cudaLaunchKernel_ptsz = launch(
        function: *const c_void,
        grid: dim3,
        block: dim3,
        arguments: *mut *mut c_void,
        shared_bytes: usize,
        stream: cudaStream_t,
    );
}

/// # Safety
///
/// `text` is NULL or a C string that lives during the call.
unsafe fn c_str<'a>(text: *const c_char, name: &str) -> Outcome<&'a CStr> {
    require(!text.is_null(), cudaErrorInvalidValue, || {
        format!("{name} is NULL")
    })?;
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) })
}

unsafe fn register_source(module: *mut cudaMetalModule_t, source: *const c_char) -> Outcome {
    // SAFETY: the caller's promise.
    let (result, source) = unsafe { (out(module, "module")?, c_str(source, "the source")?) };
    let source = source.to_str().map_err(|error| {
        let message = format!("the source is not UTF-8: {error}");
        Failed::new(cudaErrorInvalidSource, message)
    })?;
    let compiled = Module::new(Context::current()?.state.device, source.to_owned())?;
    result.set(MODULES.add(Arc::new(compiled)));
    Ok(())
}

unsafe fn unregister_source(module: cudaMetalModule_t) -> Outcome {
    let module = MODULES.remove(module)?;
    FUNCTIONS.remove_where(|function| function.module.as_ptr() == Arc::as_ptr(&module));
    Ok(())
}

fn add_function(
    module: cudaMetalModule_t,
    name: &CStr,
    given: Option<Vec<cudaMetalParameter>>,
) -> Outcome<cudaMetalFunction_t> {
    let module = MODULES.get(module)?;
    let device = Context::current()?.state.device;
    let function = Function::new(device, &module, name.to_owned(), given)?;
    Ok(FUNCTIONS.add(Arc::new(function)))
}

unsafe fn get_function(
    function: *mut cudaMetalFunction_t,
    module: cudaMetalModule_t,
    name: *const c_char,
) -> Outcome {
    // SAFETY: the caller's promise.
    let (result, name) = unsafe { (out(function, "function")?, c_str(name, "the name")?) };
    result.set(add_function(module, name, None)?);
    Ok(())
}

unsafe fn get_function_with_parameters(
    function: *mut cudaMetalFunction_t,
    module: cudaMetalModule_t,
    name: *const c_char,
    parameters: *const cudaMetalParameter,
    count: usize,
) -> Outcome {
    // SAFETY: the caller's promise.
    let (result, name) = unsafe { (out(function, "function")?, c_str(name, "the name")?) };
    let most = sys::MTB_MAX_BINDINGS as usize;
    require(count <= most, cudaErrorInvalidValue, || {
        format!("a kernel has at most {most} parameters, not {count}")
    })?;
    let is_list = count == 0 || !parameters.is_null();
    require(is_list, cudaErrorInvalidValue, || {
        format!("the list of {count} parameters is NULL")
    })?;
    let given = match count {
        0 => Vec::new(),
        // SAFETY: the caller's promise: the list has this many elements.
        _ => unsafe { slice::from_raw_parts(parameters, count) }.to_vec(),
    };
    for (index, parameter) in given.iter().enumerate() {
        require(
            *parameter <= cudaMetalParameterValue,
            cudaErrorInvalidValue,
            || {
                format!(
                    "parameter {index} must be cudaMetalParameterPointer or cudaMetalParameterValue, not {parameter}"
                )
            },
        )?;
    }
    result.set(add_function(module, name, Some(given))?);
    Ok(())
}

/// The device's threadgroup memory, without what the kernel declares itself.
fn dynamic_memory(device: &Device, pipeline: &Pipeline) -> usize {
    let all = usize::try_from(device.limits.max_threadgroup_memory_length).unwrap_or(usize::MAX);
    all.saturating_sub(pipeline.limits.static_memory)
}

unsafe fn get_attributes(attributes: *mut cudaFuncAttributes, handle: *const c_void) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(attributes, "attributes") }?;
    let device = Context::current()?.state.device;
    let pipeline = function(handle)?.pipeline(device)?;
    let as_int = |value: usize| c_int::try_from(value).unwrap_or(c_int::MAX);
    result.set(cudaFuncAttributes {
        sharedSizeBytes: pipeline.limits.static_memory,
        maxThreadsPerBlock: as_int(pipeline.limits.threads),
        maxDynamicSharedSizeBytes: as_int(dynamic_memory(device, &pipeline)),
        ..Default::default()
    });
    Ok(())
}

/// Checks a launch against the device (`cudaErrorInvalidConfiguration`) and the kernel
/// (`cudaErrorLaunchOutOfResources`).
fn check_configuration(
    device: &Device,
    pipeline: &Pipeline,
    grid: dim3,
    block: dim3,
    shared_bytes: usize,
) -> Outcome {
    let most = device.limits.max_threads_per_threadgroup;
    let sizes = [
        (block.x, most.width),
        (block.y, most.height),
        (block.z, most.depth),
    ];
    let fits = sizes
        .iter()
        .all(|(size, most)| (1..=*most).contains(&(*size as usize)));
    let threads = [block.x, block.y, block.z]
        .iter()
        .try_fold(1usize, |product, size| product.checked_mul(*size as usize));
    let threads = threads.filter(|threads| fits && *threads <= most.width);
    let has_blocks = [grid.x, grid.y, grid.z]
        .iter()
        .all(|size| (1..=i32::MAX as u32).contains(size));
    let Some(threads) = threads.filter(|_| has_blocks) else {
        let message =
            format!("the device cannot run a grid of {grid:?} blocks of {block:?} threads");
        return Err(Failed::new(cudaErrorInvalidConfiguration, message));
    };
    require(
        threads <= pipeline.limits.threads,
        cudaErrorLaunchOutOfResources,
        || {
            let most = pipeline.limits.threads;
            format!("blocks of {threads} threads: the kernel can have {most} at most")
        },
    )?;
    let most = dynamic_memory(device, pipeline);
    require(shared_bytes <= most, cudaErrorInvalidValue, || {
        format!("{shared_bytes} bytes of shared memory: the kernel can have {most} at most")
    })
}

/// An argument as it is bound.
enum Binding {
    Buffer(Buffer, usize),
    Bytes(Vec<u8>),
}

/// # Safety
///
/// `value` points to a value of the argument's kind.
unsafe fn binding(
    state: &DeviceState,
    argument: &Argument,
    value: *const c_void,
) -> Outcome<Option<Binding>> {
    require(!value.is_null(), cudaErrorInvalidValue, || {
        format!("the address of argument {} is NULL", argument.name)
    })?;
    if let Parameter::Value(length) = argument.parameter {
        // SAFETY: the caller's promise.
        let bytes = unsafe { slice::from_raw_parts(value.cast::<u8>(), length) };
        return Ok(Some(Binding::Bytes(bytes.to_vec())));
    }
    // SAFETY: the caller's promise: the value is a pointer, which need not be aligned.
    let pointer = unsafe { value.cast::<*const c_void>().read_unaligned() };
    if pointer.is_null() && !argument.is_used {
        return Ok(None);
    }
    let Some((allocation, offset)) = allocation_at(pointer, 1)? else {
        let message = format!(
            "argument {} is {pointer:p}, which is not in memory that the runtime knows",
            argument.name
        );
        return Err(Failed::new(cudaErrorInvalidValue, message));
    };
    let is_reachable =
        allocation.kind != Kind::Device || allocation.state.device.index == state.device.index;
    require(is_reachable, cudaErrorPeerAccessUnsupported, || {
        format!(
            "argument {} is memory of device {}: Metal lets kernels use memory of their own device only, \
             peers or not; copy it",
            argument.name, allocation.state.device.index
        )
    })?;
    let (buffer, start) = allocation.buffer(state)?;
    Ok(Some(Binding::Buffer(buffer, start + offset)))
}

/// Buffers that the kernel may reach by addresses that stand in memory.
fn indirect_buffers(state: &DeviceState) -> Outcome<Vec<Buffer>> {
    let allocations = ALLOCATIONS.read().unwrap_or_else(PoisonError::into_inner);
    let taken = allocations.values().filter(|allocation| {
        allocation.address_taken.load(Ordering::Acquire)
            && (allocation.is_on_host() || allocation.state.device.index == state.device.index)
    });
    taken
        .map(|allocation| allocation.buffer(state).map(|(buffer, _)| buffer))
        .collect()
}

unsafe fn launch(
    default: DefaultStream,
    handle: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared_bytes: usize,
    stream_handle: cudaStream_t,
) -> Outcome {
    let function = function(handle)?;
    let stream = stream(default, stream_handle)?;
    let state = stream.state();
    require(
        Arc::ptr_eq(state, &Context::current()?.state),
        cudaErrorInvalidResourceHandle,
        || "the stream is of a device that is not the current one".to_owned(),
    )?;
    let pipeline = function.pipeline(state.device)?;
    check_configuration(state.device, &pipeline, grid, block, shared_bytes)?;

    let count = pipeline.arguments.len();
    require(
        count == 0 || !arguments.is_null(),
        cudaErrorInvalidValue,
        || format!("the list of arguments is NULL, but the kernel takes {count}"),
    )?;
    let mut bindings = Vec::with_capacity(count);
    for (index, argument) in pipeline.arguments.iter().enumerate() {
        // SAFETY: the caller's promise: an address for each argument, of a value of its kind.
        let binding = unsafe { binding(state, argument, *arguments.add(index)) }?;
        bindings.extend(binding.map(|binding| (argument.index, binding)));
    }
    let memory = threadgroup_memory(&pipeline, shared_bytes)?;
    let indirect = indirect_buffers(state)?;
    stream.enqueue(|| {
        commit(stream.queue(), &state.sticky, |commands| {
            let size = |size: dim3| sys::mtb_size {
                width: size.x as usize,
                height: size.y as usize,
                depth: size.z as usize,
            };
            let sizes = (size(grid), size(block));
            encode(commands, &pipeline, (&bindings, &indirect), memory, sizes)
        })
    })
}

/// The index and the length of the kernel's dynamic threadgroup memory.
fn threadgroup_memory(pipeline: &Pipeline, shared_bytes: usize) -> Outcome<Option<(usize, usize)>> {
    match *pipeline.threadgroup.as_slice() {
        // As in CUDA, a launch may ask for memory that no argument uses.
        [] => Ok(None),
        [index] if shared_bytes > 0 => {
            // Metal wants multiples of 16.
            Ok(Some((index as usize, shared_bytes.next_multiple_of(16))))
        }
        [_] => Err(Failed::new(
            cudaErrorInvalidValue,
            "the kernel has an argument in threadgroup memory, but the launch gives it no bytes",
        )),
        _ => Err(Failed::new(
            cudaErrorNotSupported,
            "the kernel has several arguments in threadgroup memory, but a launch of CUDA's gives one size",
        )),
    }
}

fn encode(
    commands: *mut sys::mtb_command_buffer,
    pipeline: &Pipeline,
    (bindings, indirect): (&[(usize, Binding)], &[Buffer]),
    memory: Option<(usize, usize)>,
    (grid, block): (sys::mtb_size, sys::mtb_size),
) -> Result<(), sys::OwnedError> {
    // SAFETY: the command buffer is live and this thread's; the call returns an owned encoder, or NULL and an owned
    // error.
    let encoder = unsafe {
        create(|error| sys::mtb_compute_encoder_create(commands, sys::MTB_DISPATCH_SERIAL, error))
    }?;
    let raw = encoder.as_ptr();
    // SAFETY: the encoder is live and this thread's, and so is what it is given during each call; bytes are copied.
    unsafe {
        check(|error| sys::mtb_compute_encoder_set_pipeline(raw, pipeline.handle.as_ptr(), error))?;
        for (index, binding) in bindings {
            check(|error| match binding {
                Binding::Buffer(buffer, offset) => sys::mtb_compute_encoder_set_buffer(
                    raw,
                    buffer.as_ptr(),
                    *offset,
                    *index,
                    error,
                ),
                Binding::Bytes(bytes) => {
                    let (start, length) = (bytes.as_ptr().cast(), bytes.len());
                    sys::mtb_compute_encoder_set_bytes(raw, start, length, *index, error)
                }
            })?;
        }
        for buffer in indirect {
            check(|error| {
                let usage = sys::MTB_USAGE_READ_WRITE;
                sys::mtb_compute_encoder_use_buffer(raw, buffer.as_ptr(), usage, error)
            })?;
        }
        if let Some((index, length)) = memory {
            check(|error| {
                sys::mtb_compute_encoder_set_threadgroup_memory(raw, length, index, error)
            })?;
        }
        check(|error| sys::mtb_compute_encoder_dispatch_threadgroups(raw, grid, block, error))?;
        check(|error| sys::mtb_compute_encoder_end(raw, error))
    }
}
