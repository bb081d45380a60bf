//! What a device is, in CUDA's terms. What Metal does not tell is zero, or the least that a program can work with.

use std::ffi::{c_char, c_int};
use std::mem;

use metal_bridge::sys;

use crate::codes::cudaErrorInvalidValue;
use crate::runtime::devices::Device;
use crate::runtime::failure::{Failed, Outcome};
use crate::types::cudaDeviceProp;

/// Threads of a SIMD-group on every known GPU with Metal, which tells the number only for a kernel.
const WARP: c_int = 32;
/// Metal's only bound is that of the grid's numbers.
const GRID: c_int = c_int::MAX;

fn as_int(value: u64) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// The number of the newest of Apple's families that the device belongs to, 0 for none.
fn family(device: &Device) -> c_int {
    let supports = |family: &c_int| {
        // SAFETY: the device is live.
        unsafe {
            sys::mtb_device_supports_family(device.handle.as_ptr(), 1000 + i64::from(*family))
        }
    };
    (1..=20).rev().find(supports).unwrap_or(0)
}

pub(crate) fn of(device: &Device) -> cudaDeviceProp {
    // SAFETY: numbers and arrays of numbers, for which zeroes are values.
    let zero: cudaDeviceProp = unsafe { mem::zeroed() };
    let limits = &device.limits;
    let most = limits.max_threads_per_threadgroup;
    let shared = usize::try_from(limits.max_threadgroup_memory_length).unwrap_or(usize::MAX);
    let threads = as_int(most.width as u64);
    let mut name = zero.name;
    // The last byte stays the end of the string.
    let length = name.len() - 1;
    for (to, byte) in name[..length].iter_mut().zip(device.name.bytes()) {
        *to = byte as c_char;
    }
    let mut uuid = zero.uuid;
    uuid[..8].copy_from_slice(&limits.registry_id.to_be_bytes());
    cudaDeviceProp {
        name,
        uuid,
        totalGlobalMem: usize::try_from(limits.recommended_max_working_set_size)
            .unwrap_or(usize::MAX),
        sharedMemPerBlock: shared,
        sharedMemPerBlockOptin: shared,
        sharedMemPerMultiprocessor: shared,
        warpSize: WARP,
        memPitch: usize::try_from(limits.max_buffer_length).unwrap_or(usize::MAX),
        maxThreadsPerBlock: threads,
        maxThreadsDim: [most.width, most.height, most.depth].map(|size| as_int(size as u64)),
        maxGridSize: [GRID; 3],
        // Metal's limit for constants that a launch brings along is that of a buffer.
        totalConstMem: usize::try_from(limits.max_buffer_length).unwrap_or(usize::MAX),
        major: family(device),
        textureAlignment: 512,
        texturePitchAlignment: 32,
        deviceOverlap: 1,
        multiProcessorCount: 1,
        integrated: limits.has_unified_memory.into(),
        canMapHostMemory: 1,
        concurrentKernels: 1,
        asyncEngineCount: 1,
        unifiedAddressing: 1,
        maxThreadsPerMultiProcessor: threads,
        maxBlocksPerMultiProcessor: 1,
        managedMemory: 1,
        concurrentManagedAccess: 1,
        canUseHostPointerForRegisteredMem: 1,
        hostRegisterSupported: 1,
        memoryPoolsSupported: 0,
        ..zero
    }
}

/// The property that CUDA gives this number.
pub(crate) fn attribute(device: &Device, number: c_int) -> Outcome<c_int> {
    let p = of(device);
    Ok(match number {
        1 => p.maxThreadsPerBlock,
        2 => p.maxThreadsDim[0],
        3 => p.maxThreadsDim[1],
        4 => p.maxThreadsDim[2],
        5 => p.maxGridSize[0],
        6 => p.maxGridSize[1],
        7 => p.maxGridSize[2],
        8 => as_int(p.sharedMemPerBlock as u64),
        9 => as_int(p.totalConstMem as u64),
        10 => p.warpSize,
        11 => as_int(p.memPitch as u64),
        12 => p.regsPerBlock,
        13 => p.clockRate,
        14 => as_int(p.textureAlignment as u64),
        15 => p.deviceOverlap,
        16 => p.multiProcessorCount,
        17 => p.kernelExecTimeoutEnabled,
        18 => p.integrated,
        19 => p.canMapHostMemory,
        20 => p.computeMode,
        31 => p.concurrentKernels,
        32 => p.ECCEnabled,
        33 => p.pciBusID,
        34 => p.pciDeviceID,
        35 => p.tccDriver,
        36 => p.memoryClockRate,
        37 => p.memoryBusWidth,
        38 => p.l2CacheSize,
        39 => p.maxThreadsPerMultiProcessor,
        40 => p.asyncEngineCount,
        41 => p.unifiedAddressing,
        50 => p.pciDomainID,
        51 => as_int(p.texturePitchAlignment as u64),
        75 => p.major,
        76 => p.minor,
        78 => p.streamPrioritiesSupported,
        79 => p.globalL1CacheSupported,
        80 => p.localL1CacheSupported,
        81 => as_int(p.sharedMemPerMultiprocessor as u64),
        82 => p.regsPerMultiprocessor,
        83 => p.managedMemory,
        84 => p.isMultiGpuBoard,
        85 => p.multiGpuBoardGroupID,
        86 => p.hostNativeAtomicSupported,
        88 => p.pageableMemoryAccess,
        89 => p.concurrentManagedAccess,
        90 => p.computePreemptionSupported,
        91 => p.canUseHostPointerForRegisteredMem,
        95 => p.cooperativeLaunch,
        97 => as_int(p.sharedMemPerBlockOptin as u64),
        99 => p.hostRegisterSupported,
        106 => p.maxBlocksPerMultiProcessor,
        115 => p.memoryPoolsSupported,
        _ => {
            let message = format!("unknown device attribute {number} (cudaDeviceAttr)");
            return Err(Failed::new(cudaErrorInvalidValue, message));
        }
    })
}
