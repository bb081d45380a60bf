//! The types of the header, as C has them: `include/driver_types.h` says what each field means.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::codes::cudaError_t;

/// A stream: a number that is never given twice, or one of the two default streams.
pub type cudaStream_t = *mut c_void;
/// An event: a number that is never given twice.
pub type cudaEvent_t = *mut c_void;
/// Metal source that was compiled.
pub type cudaMetalModule_t = *mut c_void;
/// A kernel of a module, for `cudaLaunchKernel`.
pub type cudaMetalFunction_t = *mut c_void;

/// The legacy default stream, by name.
pub const cudaStreamLegacy: usize = 1;
/// The calling thread's default stream, by name.
pub const cudaStreamPerThread: usize = 2;

/// Flags of streams.
pub const cudaStreamDefault: c_uint = 0;
/// No ordering with the legacy default stream.
pub const cudaStreamNonBlocking: c_uint = 1;

/// Flags of devices: how threads wait for them.
pub const cudaDeviceScheduleAuto: c_uint = 0;
/// A hint.
pub const cudaDeviceScheduleSpin: c_uint = 1;
/// A hint.
pub const cudaDeviceScheduleYield: c_uint = 2;
/// A hint.
pub const cudaDeviceScheduleBlockingSync: c_uint = 4;
/// The bits of the flags above.
pub const cudaDeviceScheduleMask: c_uint = 7;
/// Pinned memory is mapped for the device: always so.
pub const cudaDeviceMapHost: c_uint = 8;
/// A hint.
pub const cudaDeviceLmemResizeToMax: c_uint = 0x10;
/// The bits of all flags of devices.
pub const cudaDeviceMask: c_uint = 0x1f;

/// Flags of events.
pub const cudaEventDefault: c_uint = 0;
/// A hint.
pub const cudaEventBlockingSync: c_uint = 1;
/// The event keeps no time.
pub const cudaEventDisableTiming: c_uint = 2;
/// For other processes: not supported.
pub const cudaEventInterprocess: c_uint = 4;

/// Flags of pinned memory.
pub const cudaHostAllocDefault: c_uint = 0;
/// Pinned for all devices: always so.
pub const cudaHostAllocPortable: c_uint = 1;
/// Mapped for the devices: always so.
pub const cudaHostAllocMapped: c_uint = 2;
/// A hint.
pub const cudaHostAllocWriteCombined: c_uint = 4;

/// Flags of `cudaHostRegister`, beside portable and mapped: memory of a device on the bus.
pub const cudaHostRegisterIoMemory: c_uint = 4;
/// Memory that the device only reads.
pub const cudaHostRegisterReadOnly: c_uint = 8;

/// Flags of managed memory.
pub const cudaMemAttachGlobal: c_uint = 1;
/// Memory for the host at first; the same as global here.
pub const cudaMemAttachHost: c_uint = 2;
/// Memory for one stream, in `cudaStreamAttachMemAsync` alone; the same as global here.
pub const cudaMemAttachSingle: c_uint = 4;

/// The direction of a copy.
pub type cudaMemcpyKind = u32;
/// Between host memories.
pub const cudaMemcpyHostToHost: cudaMemcpyKind = 0;
/// From the host to a device.
pub const cudaMemcpyHostToDevice: cudaMemcpyKind = 1;
/// From a device to the host.
pub const cudaMemcpyDeviceToHost: cudaMemcpyKind = 2;
/// Between devices, or inside one.
pub const cudaMemcpyDeviceToDevice: cudaMemcpyKind = 3;
/// As the pointers say.
pub const cudaMemcpyDefault: cudaMemcpyKind = 4;

/// What a pointer points to.
pub type cudaMemoryType = u32;
/// Host memory that the runtime does not know.
pub const cudaMemoryTypeUnregistered: cudaMemoryType = 0;
/// Pinned or registered host memory.
pub const cudaMemoryTypeHost: cudaMemoryType = 1;
/// Memory of a device.
pub const cudaMemoryTypeDevice: cudaMemoryType = 2;
/// Managed memory.
pub const cudaMemoryTypeManaged: cudaMemoryType = 3;

/// The host, as the destination of a prefetch.
pub const cudaCpuDeviceId: c_int = -1;
/// No device.
pub const cudaInvalidDeviceId: c_int = -2;

/// Three extents.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dim3 {
    #[allow(missing_docs)]
    pub x: c_uint,
    #[allow(missing_docs)]
    pub y: c_uint,
    #[allow(missing_docs)]
    pub z: c_uint,
}

/// What `cudaPointerGetAttributes` says.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct cudaPointerAttributes {
    /// The kind of memory.
    pub r#type: cudaMemoryType,
    /// The device that it was allocated for.
    pub device: c_int,
    /// The address for kernels, or NULL.
    pub devicePointer: *mut c_void,
    /// The address for the CPU, or NULL.
    pub hostPointer: *mut c_void,
}

/// What `cudaFuncGetAttributes` says.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)]
pub struct cudaFuncAttributes {
    pub sharedSizeBytes: usize,
    pub constSizeBytes: usize,
    pub localSizeBytes: usize,
    pub maxThreadsPerBlock: c_int,
    pub numRegs: c_int,
    pub ptxVersion: c_int,
    pub binaryVersion: c_int,
    pub cacheModeCA: c_int,
    pub maxDynamicSharedSizeBytes: c_int,
    pub preferredShmemCarveout: c_int,
}

/// What `cudaGetDeviceProperties` says. What Metal does not tell is zero.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct cudaDeviceProp {
    pub name: [c_char; 256],
    pub uuid: [u8; 16],
    pub totalGlobalMem: usize,
    pub sharedMemPerBlock: usize,
    pub regsPerBlock: c_int,
    pub warpSize: c_int,
    pub memPitch: usize,
    pub maxThreadsPerBlock: c_int,
    pub maxThreadsDim: [c_int; 3],
    pub maxGridSize: [c_int; 3],
    pub clockRate: c_int,
    pub totalConstMem: usize,
    pub major: c_int,
    pub minor: c_int,
    pub textureAlignment: usize,
    pub texturePitchAlignment: usize,
    pub deviceOverlap: c_int,
    pub multiProcessorCount: c_int,
    pub kernelExecTimeoutEnabled: c_int,
    pub integrated: c_int,
    pub canMapHostMemory: c_int,
    pub computeMode: c_int,
    pub concurrentKernels: c_int,
    pub ECCEnabled: c_int,
    pub pciBusID: c_int,
    pub pciDeviceID: c_int,
    pub pciDomainID: c_int,
    pub tccDriver: c_int,
    pub asyncEngineCount: c_int,
    pub unifiedAddressing: c_int,
    pub memoryClockRate: c_int,
    pub memoryBusWidth: c_int,
    pub l2CacheSize: c_int,
    pub maxThreadsPerMultiProcessor: c_int,
    pub streamPrioritiesSupported: c_int,
    pub globalL1CacheSupported: c_int,
    pub localL1CacheSupported: c_int,
    pub sharedMemPerMultiprocessor: usize,
    pub regsPerMultiprocessor: c_int,
    pub managedMemory: c_int,
    pub isMultiGpuBoard: c_int,
    pub multiGpuBoardGroupID: c_int,
    pub hostNativeAtomicSupported: c_int,
    pub pageableMemoryAccess: c_int,
    pub concurrentManagedAccess: c_int,
    pub computePreemptionSupported: c_int,
    pub canUseHostPointerForRegisteredMem: c_int,
    pub cooperativeLaunch: c_int,
    pub sharedMemPerBlockOptin: usize,
    pub maxBlocksPerMultiProcessor: c_int,
    pub hostRegisterSupported: c_int,
    pub memoryPoolsSupported: c_int,
}

/// Called by a stream with its state.
pub type cudaStreamCallback_t = Option<
    unsafe extern "C-unwind" fn(stream: cudaStream_t, status: cudaError_t, user_data: *mut c_void),
>;
/// Called by a stream.
pub type cudaHostFn_t = Option<unsafe extern "C-unwind" fn(user_data: *mut c_void)>;

/// How `cudaLaunchKernel` takes a kernel's buffer argument.
pub type cudaMetalParameter = u32;
/// The argument is a pointer to memory that the runtime knows.
pub const cudaMetalParameterPointer: cudaMetalParameter = 0;
/// The argument is a value, of as many bytes as the kernel's type has.
pub const cudaMetalParameterValue: cudaMetalParameter = 1;
