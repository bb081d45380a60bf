//! Metal source that was registered, and its kernels.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, Weak};

use metal_bridge::sys::{self, Handle, create, text};

use crate::codes::*;
use crate::runtime::devices::Device;
use crate::runtime::failure::{Failed, Outcome, require};
use crate::runtime::lock::lock;
use crate::runtime::parameters::declared_values;
use crate::runtime::registry::Registry;
use crate::types::*;

pub(crate) static MODULES: Registry<Module> = Registry::new("module");
pub(crate) static FUNCTIONS: Registry<Function> = Registry::new("kernel");

type Library = Arc<Handle<sys::mtb_library>>;

/// Source that was compiled for at least one device.
pub(crate) struct Module {
    source: String,
    /// By device; compiled when first needed there.
    libraries: Mutex<HashMap<i32, Library>>,
}

impl Module {
    /// Compiles `source` for the device.
    pub(crate) fn new(device: &Device, source: String) -> Outcome<Module> {
        let module = Module {
            source,
            libraries: Mutex::default(),
        };
        module.library(device)?;
        Ok(module)
    }

    fn library(&self, device: &Device) -> Outcome<Library> {
        let mut libraries = lock(&self.libraries);
        if let Some(library) = libraries.get(&device.index) {
            return Ok(library.clone());
        }
        // SAFETY: the device is live, and the source has that many bytes; the call returns an owned library, or NULL
        // and an owned error.
        let library = unsafe {
            create(|error| {
                sys::mtb_library_create_from_source(
                    device.handle.as_ptr(),
                    self.source.as_ptr().cast(),
                    self.source.len(),
                    ptr::null(),
                    error,
                )
            })
        }?;
        let library = Arc::new(library);
        libraries.insert(device.index, library.clone());
        Ok(library)
    }
}

/// A kernel of a module.
pub(crate) struct Function {
    /// Dead once the module is unregistered.
    pub(crate) module: Weak<Module>,
    name: CString,
    /// What the program has said of the arguments, in the order of their indices.
    given: Option<Vec<cudaMetalParameter>>,
    pipelines: Mutex<HashMap<i32, Arc<Pipeline>>>,
}

/// A kernel for one device.
pub(crate) struct Pipeline {
    pub(crate) handle: Handle<sys::mtb_pipeline>,
    pub(crate) limits: Limits,
    /// In the order of their indices.
    pub(crate) arguments: Vec<Argument>,
    /// The indices of its arguments in threadgroup memory.
    pub(crate) threadgroup: Vec<u32>,
}

pub(crate) struct Limits {
    pub(crate) threads: usize,
    pub(crate) static_memory: usize,
}

pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) index: usize,
    pub(crate) is_used: bool,
    pub(crate) parameter: Parameter,
}

pub(crate) enum Parameter {
    Pointer,
    /// A value of this many bytes.
    Value(usize),
}

impl Function {
    /// The kernel of this name, compiled for the device.
    pub(crate) fn new(
        device: &Device,
        module: &Arc<Module>,
        name: CString,
        given: Option<Vec<cudaMetalParameter>>,
    ) -> Outcome<Function> {
        let function = Function {
            module: Arc::downgrade(module),
            name,
            given,
            pipelines: Mutex::default(),
        };
        function.pipeline(device)?;
        Ok(function)
    }

    pub(crate) fn pipeline(&self, device: &Device) -> Outcome<Arc<Pipeline>> {
        let mut pipelines = lock(&self.pipelines);
        if let Some(pipeline) = pipelines.get(&device.index) {
            return Ok(pipeline.clone());
        }
        let module = self
            .module
            .upgrade()
            .ok_or(Failed::from(cudaErrorInvalidDeviceFunction))?;
        let pipeline = Arc::new(self.compile(device, &module)?);
        pipelines.insert(device.index, pipeline.clone());
        Ok(pipeline)
    }

    fn compile(&self, device: &Device, module: &Module) -> Outcome<Pipeline> {
        let library = module.library(device)?;
        // SAFETY: all are live, and the name is a C string; each call returns an owned handle, or NULL and an owned
        // error.
        let handle = unsafe {
            let function = create(|error| {
                sys::mtb_function_create(library.as_ptr(), self.name.as_ptr(), ptr::null(), error)
            })?;
            create(|error| sys::mtb_pipeline_create(function.as_ptr(), error))?
        };
        // SAFETY: the pipeline is live.
        let limits = unsafe {
            let pipeline = handle.as_ptr();
            Limits {
                threads: sys::mtb_pipeline_max_total_threads_per_threadgroup(pipeline),
                static_memory: sys::mtb_pipeline_static_threadgroup_memory_length(pipeline),
            }
        };
        let mut buffers = Vec::new();
        let mut threadgroup = Vec::new();
        for argument in reflection(&handle) {
            match argument.kind {
                sys::MTB_ARGUMENT_BUFFER => buffers.push(argument),
                sys::MTB_ARGUMENT_THREADGROUP_MEMORY => threadgroup.push(argument.index),
                _ => {
                    let message = "the kernel has an argument that is neither a buffer nor threadgroup memory";
                    return Err(Failed::new(cudaErrorNotSupported, message));
                }
            }
        }
        buffers.sort_by_key(|argument| argument.index);
        Ok(Pipeline {
            arguments: self.arguments(&module.source, &buffers)?,
            handle,
            limits,
            threadgroup,
        })
    }

    fn arguments(&self, source: &str, buffers: &[sys::mtb_argument]) -> Outcome<Vec<Argument>> {
        let name = self.name.to_string_lossy();
        if let Some(given) = &self.given {
            require(given.len() == buffers.len(), cudaErrorInvalidValue, || {
                let (said, has) = (given.len(), buffers.len());
                format!("the list has {said} parameters, but {name} has {has} buffer arguments")
            })?;
        }
        let unclear = |why: &str| {
            let message = format!(
                "{why}: say which arguments of {name} are pointers with cudaMetalGetFunctionWithParameters"
            );
            Failed::new(cudaErrorInvalidDeviceFunction, message)
        };
        let declared = match &self.given {
            Some(_) => HashMap::new(),
            None => declared_values(source, &name).map_err(unclear)?,
        };
        let arguments = buffers.iter().enumerate().map(|(index, argument)| {
            // SAFETY: the name belongs to the pipeline, which is live.
            let name = unsafe { text(argument.name) };
            let is_value = match &self.given {
                Some(given) => given[index] == cudaMetalParameterValue,
                None => {
                    let why =
                        || format!("the declaration of argument {name} does not show whether it is a value or a pointer");
                    let found = declared.get(&name).copied();
                    found.ok_or_else(|| unclear(&why()))?
                }
            };
            Ok(Argument {
                index: argument.index as usize,
                is_used: argument.is_used,
                parameter: if is_value {
                    Parameter::Value(argument.data_size)
                } else {
                    Parameter::Pointer
                },
                name,
            })
        });
        arguments.collect()
    }
}

/// The kernel of a handle.
pub(crate) fn function(handle: *const c_void) -> Outcome<Arc<Function>> {
    let found = FUNCTIONS.get(handle);
    found.map_err(|_| {
        let message = format!("{handle:p} is not a kernel of cudaMetalGetFunction");
        Failed::new(cudaErrorInvalidDeviceFunction, message)
    })
}

fn reflection(pipeline: &Handle<sys::mtb_pipeline>) -> Vec<sys::mtb_argument> {
    // SAFETY: the pipeline is live.
    let count = unsafe { sys::mtb_pipeline_argument_count(pipeline.as_ptr()) };
    let at = |position| {
        let mut argument = sys::mtb_argument {
            name: ptr::null(),
            kind: 0,
            access: 0,
            index: 0,
            is_used: false,
            data_size: 0,
            alignment: 0,
        };
        // SAFETY: the pipeline is live, and the call fills the structure if it returns true.
        unsafe { sys::mtb_pipeline_get_argument(pipeline.as_ptr(), position, &mut argument) }
            .then_some(argument)
    };
    (0..count).filter_map(at).collect()
}
