//! Calls: settings that change nothing on Metal. The runtime checks them, and keeps those that another call can ask
//! for.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

use crate::api::calls::calls;
use crate::api::out::out;
use crate::codes::*;
use crate::runtime::context::Context;
use crate::runtime::devices::Device;
use crate::runtime::failure::{Outcome, require};
use crate::runtime::modules::function;
use crate::types::*;

calls! {
    /// How threads are to wait, and what memory is mapped: kept for `cudaGetDeviceFlags`. Threads sleep while they
    /// wait, and pinned memory is always mapped.
    cudaSetDeviceFlags = set_flags(flags: c_uint);
    /// The current device's flags, with `cudaDeviceMapHost`, which always holds.
    cudaGetDeviceFlags = get_flags(flags: *mut c_uint);
    /// A hint: Metal divides no memory between caches and threadgroups.
    cudaDeviceSetCacheConfig = set_cache_config(config: c_int);
    /// `cudaFuncCachePreferNone`, as on devices with a fixed division.
    cudaDeviceGetCacheConfig = get_cache_config(config: *mut c_int);
    /// The same hint for a kernel.
    cudaFuncSetCacheConfig = set_function_cache_config(function: *const c_void, config: c_int);
    /// Does nothing: there is no profiler.
    cudaProfilerStart = profiler();
    /// Does nothing: there is no profiler.
    cudaProfilerStop = profiler();
}

unsafe fn set_flags(flags: c_uint) -> Outcome {
    let schedule = flags & cudaDeviceScheduleMask;
    let known = [
        cudaDeviceScheduleAuto,
        cudaDeviceScheduleSpin,
        cudaDeviceScheduleYield,
        cudaDeviceScheduleBlockingSync,
    ];
    require(
        known.contains(&schedule) && flags & !cudaDeviceMask == 0,
        cudaErrorInvalidValue,
        || format!("unknown device flags {flags:#x}"),
    )?;
    Device::current()?.flags.store(flags, Ordering::Relaxed);
    Ok(())
}

unsafe fn get_flags(flags: *mut c_uint) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(flags, "flags") }?;
    result.set(Device::current()?.flags.load(Ordering::Relaxed) | cudaDeviceMapHost);
    Ok(())
}

fn check_cache_config(config: c_int) -> Outcome {
    require((0..=3).contains(&config), cudaErrorInvalidValue, || {
        format!("unknown cache configuration {config} (cudaFuncCache)")
    })
}

unsafe fn set_cache_config(config: c_int) -> Outcome {
    Context::current()?;
    check_cache_config(config)
}

unsafe fn get_cache_config(config: *mut c_int) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(config, "config") }?;
    Context::current()?;
    result.set(0);
    Ok(())
}

unsafe fn set_function_cache_config(handle: *const c_void, config: c_int) -> Outcome {
    Context::current()?;
    check_cache_config(config)?;
    function(handle).map(drop)
}

unsafe fn profiler() -> Outcome {
    Context::current().map(drop)
}
