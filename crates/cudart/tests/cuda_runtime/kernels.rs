//! Kernels: how arguments are taken, launches in a stream's order, what is refused.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use metal_cudart::*;

use crate::support::*;

const SOURCE: &CStr = cr#"
#include <metal_stdlib>
using namespace metal;

// kernel void scale(constant uint &wrong [[buffer(0)]]) is not the declaration of:
kernel void scale(device float *values [[buffer(0)]], constant float &factor [[buffer(2)]],
                  device const float *offsets [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    values[i] = values[i] * factor + offsets[0];
}

struct Options { uint first; uint count; ulong step; };
kernel void fill(device uint *values [[buffer(0)]], constant Options &options [[buffer(1)]],
                 uint3 block [[threadgroup_position_in_grid]], uint3 blocks [[threadgroups_per_grid]],
                 uint3 in_block [[thread_position_in_threadgroup]], uint3 size [[threads_per_threadgroup]]) {
    uint group = (block.z * blocks.y + block.y) * blocks.x + block.x;
    uint thread_number = (in_block.z * size.y + in_block.y) * size.x + in_block.x;
    uint i = group * size.x * size.y * size.z + thread_number;
    if (i < options.count)
        values[i] = options.first + i * uint(options.step);
}

kernel void reverse(device uint *values [[buffer(0)]], threadgroup uint *shared [[threadgroup(0)]],
                    uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    shared[i] = values[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    values[i] = shared[n - 1 - i];
}

template <typename T> kernel void twice(device T *values [[buffer(0)]], constant T &add [[buffer(1)]],
                                        uint i [[thread_position_in_grid]]) {
    values[i] = values[i] * T(2) + add;
}
template [[host_name("twice_uint")]] kernel void twice<uint>(device uint *, constant uint &, uint);

#define MORE constant uint &add [[buffer(1)]]
kernel void by_macro(device uint *values [[buffer(0)]], MORE, uint i [[thread_position_in_grid]]) { values[i] += add; }
using Term = constant uint &;
kernel void by_alias(device uint *values [[buffer(0)]], Term add [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    values[i] += add;
}

struct Row { device uint *start; };
kernel void sum_rows(device const Row *rows [[buffer(0)]], device uint *sums [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    sums[i] = rows[i].start[0] + rows[i].start[1];
}

kernel void nothing() {}
"#;

const ONE: dim3 = dim3 { x: 1, y: 1, z: 1 };

fn line(x: u32) -> dim3 {
    dim3 { x, ..ONE }
}

fn module() -> cudaMetalModule_t {
    let mut module = ptr::null_mut();
    // SAFETY: a pointer to the handle and a C string.
    ok(unsafe { cudaMetalRegisterSource(&mut module, SOURCE.as_ptr()) });
    module
}

fn function(module: cudaMetalModule_t, name: &str) -> cudaMetalFunction_t {
    let mut function = ptr::null_mut();
    let name = CString::new(name).unwrap();
    // SAFETY: a pointer to the handle and a C string.
    ok(unsafe { cudaMetalGetFunction(&mut function, module, name.as_ptr()) });
    function
}

/// The address of an argument, as launches take it.
fn at<T>(value: &mut T) -> *mut c_void {
    ptr::from_mut(value).cast()
}

fn launch(
    function: cudaMetalFunction_t,
    (grid, block): (dim3, dim3),
    arguments: &mut [*mut c_void],
    shared: usize,
) -> cudaError_t {
    // SAFETY: the arguments fit the kernel.
    unsafe {
        let arguments = arguments.as_mut_ptr();
        cudaLaunchKernel(function, grid, block, arguments, shared, ptr::null_mut())
    }
}

fn bytes<T: bytemuck::Pod>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

fn uints(memory: &Memory, count: usize) -> Vec<u32> {
    let bytes = memory.read(0, count * 4);
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

#[test]
fn arguments_are_taken_in_the_order_of_their_indices() {
    let (module, memory) = (module(), Memory::device(64));
    let scale = function(module, "scale");
    memory.write(0, bytes(&[1.0f32, 2.0, 3.0, 4.0, 100.0]));
    // An interior pointer, and one to other bytes of the same memory.
    let (mut values, mut offsets, mut factor) = (memory.at(4), memory.at(16), 10.0f32);
    let arguments = &mut [at(&mut values), at(&mut offsets), at(&mut factor)];
    ok(launch(scale, (line(2), ONE), arguments, 0));
    assert_eq!(memory.read(0, 16), bytes(&[1.0f32, 120.0, 130.0, 4.0]));
    // SAFETY: a handle, checked by the call.
    unsafe {
        ok(cudaMetalUnregisterSource(module));
        expect(
            cudaErrorInvalidResourceHandle,
            cudaMetalUnregisterSource(module),
        );
    }
    expect(
        cudaErrorInvalidDeviceFunction,
        launch(scale, (ONE, ONE), arguments, 0),
    );
}

#[test]
fn grids_and_blocks_have_three_dimensions() {
    #[repr(C)]
    struct Options {
        first: u32,
        count: u32,
        step: u64,
    }
    let (module, memory) = (module(), Memory::device(4 * 400));
    let fill = function(module, "fill");
    let mut values = memory.pointer;
    let mut options = Options {
        first: 7,
        count: 2 * 3 * 2 * 4 * 2 * 3,
        step: 5,
    };
    let sizes = (dim3 { x: 2, y: 3, z: 2 }, dim3 { x: 4, y: 2, z: 3 });
    ok(launch(
        fill,
        sizes,
        &mut [at(&mut values), at(&mut options)],
        0,
    ));
    let expected: Vec<u32> = (0..288).map(|i| 7 + 5 * i).collect();
    assert_eq!(uints(&memory, 288), expected);
}

#[test]
fn shared_memory_is_the_threadgroup_argument() {
    let (module, memory) = (module(), Memory::device(4 * 30));
    let reverse = function(module, "reverse");
    let numbers: Vec<u32> = (0..30).collect();
    memory.write(0, bytes(&numbers));
    let mut values = memory.pointer;
    let arguments = &mut [at(&mut values)];
    ok(launch(reverse, (ONE, line(30)), arguments, 4 * 30));
    assert_eq!(
        uints(&memory, 30),
        numbers.into_iter().rev().collect::<Vec<_>>()
    );
    let bad = cudaErrorInvalidValue;
    expect(bad, launch(reverse, (ONE, line(30)), arguments, 0));
    expect(bad, launch(reverse, (ONE, line(30)), arguments, 1 << 30));
    expect(bad, launch(reverse, (ONE, line(30)), arguments, usize::MAX));
}

#[test]
fn kernels_of_templates_need_their_parameters_named() {
    let (module, memory) = (module(), Memory::device(16));
    let mut twice = ptr::null_mut();
    let name = c"twice_uint".as_ptr();
    let parameters = [cudaMetalParameterPointer, cudaMetalParameterValue];
    let unknown = [cudaMetalParameterPointer, 2];
    let all = parameters.as_ptr();
    // SAFETY: pointers to the handle, C strings, and lists of that length.
    unsafe {
        expect(
            cudaErrorInvalidDeviceFunction,
            cudaMetalGetFunction(&mut twice, module, name),
        );
        let bad = cudaErrorInvalidValue;
        expect(
            bad,
            cudaMetalGetFunctionWithParameters(&mut twice, module, name, all, 1),
        );
        expect(
            bad,
            cudaMetalGetFunctionWithParameters(&mut twice, module, name, ptr::null(), 2),
        );
        expect(
            bad,
            cudaMetalGetFunctionWithParameters(&mut twice, module, name, unknown.as_ptr(), 2),
        );
        expect(
            bad,
            cudaMetalGetFunctionWithParameters(&mut twice, module, name, all, usize::MAX),
        );
        ok(cudaMetalGetFunctionWithParameters(
            &mut twice, module, name, all, 2,
        ));
    }
    memory.write(0, bytes(&[1u32, 2, 3, 4]));
    let (mut values, mut add) = (memory.pointer, 100u32);
    ok(launch(
        twice,
        (line(4), ONE),
        &mut [at(&mut values), at(&mut add)],
        0,
    ));
    assert_eq!(uints(&memory, 4), [102, 104, 106, 108]);
}

/// What does not show in the source is not guessed: a value taken for a pointer would be read beyond its end.
#[test]
fn arguments_from_macros_and_aliases_are_said() {
    let (module, memory) = (module(), Memory::device(16));
    let parameters = [cudaMetalParameterPointer, cudaMetalParameterValue];
    for name in [c"by_macro", c"by_alias"] {
        let mut kernel = ptr::null_mut();
        memory.write(0, bytes(&[1u32, 2, 3, 4]));
        // SAFETY: a pointer to the handle, a C string, and a list of that length.
        unsafe {
            expect(
                cudaErrorInvalidDeviceFunction,
                cudaMetalGetFunction(&mut kernel, module, name.as_ptr()),
            );
            ok(cudaMetalGetFunctionWithParameters(
                &mut kernel,
                module,
                name.as_ptr(),
                parameters.as_ptr(),
                2,
            ));
        }
        let (mut values, mut add) = (memory.pointer, 100u32);
        let arguments = &mut [at(&mut values), at(&mut add)];
        ok(launch(kernel, (line(4), ONE), arguments, 0));
        assert_eq!(uints(&memory, 4), [101, 102, 103, 104]);
    }
}

#[test]
fn addresses_that_stand_in_memory_can_be_followed() {
    let module = module();
    let rows: Vec<Memory> = (0..3).map(|_| Memory::device(64)).collect();
    let (table, sums) = (Memory::device(24), Memory::device(12));
    let mut addresses = [0u64; 3];
    for (i, row) in rows.iter().enumerate() {
        row.write(8, bytes(&[i as u32 + 1, 10 * i as u32]));
        // SAFETY: a pointer to the address.
        ok(unsafe { cudaMetalGetGpuAddress(&mut addresses[i], row.at(8)) });
    }
    table.write(0, bytes(&addresses));
    let (mut from, mut to) = (table.pointer, sums.pointer);
    ok(launch(
        function(module, "sum_rows"),
        (line(3), ONE),
        &mut [at(&mut from), at(&mut to)],
        0,
    ));
    assert_eq!(uints(&sums, 3), [1, 12, 23]);
    // SAFETY: a pointer to the address; the pointer is unknown.
    let code = unsafe { cudaMetalGetGpuAddress(&mut addresses[0], ptr::null()) };
    expect(cudaErrorInvalidValue, code);
}

#[test]
fn pending_launches_keep_memory_behind_addresses() {
    let (module, gate) = (module(), Gate::default());
    let sum = function(module, "sum_rows");
    let (table, sums) = (Memory::device(8), Memory::device(4));
    let row = Memory::device(64);
    row.write(0, bytes(&[20u32, 22]));
    let mut address = 0u64;
    // SAFETY: a pointer to the address.
    ok(unsafe { cudaMetalGetGpuAddress(&mut address, row.pointer) });
    table.write(0, bytes(&[address]));
    gate.close(ptr::null_mut());
    let (mut from, mut to) = (table.pointer, sums.pointer);
    ok(launch(
        sum,
        (ONE, ONE),
        &mut [at(&mut from), at(&mut to)],
        0,
    ));
    drop(row);
    // What is allocated now is other memory.
    let free = stream(cudaStreamNonBlocking);
    let others: Vec<Memory> = (0..20).map(|_| Memory::device(64)).collect();
    for other in &others {
        // SAFETY: the memory has the bytes.
        ok(unsafe { cudaMemsetAsync(other.pointer, 9, 64, free) });
    }
    synchronize(free);
    gate.open();
    assert_eq!(uints(&sums, 1), [42]);
    // SAFETY: a handle, checked by the call.
    ok(unsafe { cudaStreamDestroy(free) });
}

#[test]
fn launches_that_cannot_be_done_have_their_codes() {
    let (module, memory) = (module(), Memory::device(64));
    let (scale, nothing) = (function(module, "scale"), function(module, "nothing"));
    let configuration = cudaErrorInvalidConfiguration;
    for (grid, block) in [
        (line(0), ONE),
        (ONE, line(0)),
        (ONE, dim3 { x: 1, y: 1, z: 0 }),
        (ONE, line(1 << 20)),
        (
            ONE,
            dim3 {
                x: 1024,
                y: 1024,
                z: 1024,
            },
        ),
        (line(u32::MAX), ONE),
    ] {
        expect(configuration, launch(nothing, (grid, block), &mut [], 0));
    }
    let (mut values, mut factor) = (memory.pointer, 1.0f32);
    let mut null: *mut c_void = ptr::null_mut();
    let mut local: *mut c_void = ptr::from_mut(&mut null).cast();
    let mut end = memory.at(64);
    let bad = cudaErrorInvalidValue;
    for offsets in [&mut null, &mut local, &mut end] {
        let arguments = &mut [at(&mut values), at(offsets), at(&mut factor)];
        expect(bad, launch(scale, (ONE, ONE), arguments, 0));
    }
    let missing = &mut [at(&mut values), ptr::null_mut(), at(&mut factor)];
    expect(bad, launch(scale, (ONE, ONE), missing, 0));
    let mut handle = ptr::null_mut();
    let mut attributes = cudaFuncAttributes::default();
    let unknown = cudaErrorInvalidDeviceFunction;
    // SAFETY: what the calls must refuse.
    unsafe {
        expect(
            bad,
            cudaLaunchKernel(scale, ONE, ONE, ptr::null_mut(), 0, ptr::null_mut()),
        );
        for function in [ptr::null(), module.cast_const(), 64 as *const c_void] {
            expect(
                unknown,
                cudaLaunchKernel(function, ONE, ONE, ptr::null_mut(), 0, ptr::null_mut()),
            );
            expect(unknown, cudaFuncGetAttributes(&mut attributes, function));
        }
        expect(bad, cudaFuncGetAttributes(ptr::null_mut(), scale));
        ok(cudaFuncGetAttributes(&mut attributes, scale));
        assert!(attributes.maxThreadsPerBlock >= 32 && attributes.maxDynamicSharedSizeBytes > 0);
        expect(
            bad,
            cudaMetalRegisterSource(ptr::null_mut(), SOURCE.as_ptr()),
        );
        expect(bad, cudaMetalRegisterSource(&mut handle, ptr::null()));
        expect(bad, cudaMetalGetFunction(&mut handle, module, ptr::null()));
        let name = c"missing".as_ptr();
        expect(
            cudaErrorSymbolNotFound,
            cudaMetalGetFunction(&mut handle, module, name),
        );
        let gone = cudaErrorInvalidResourceHandle;
        expect(gone, cudaMetalGetFunction(&mut handle, scale, name));
        let source = c"kernel void broken( {".as_ptr();
        expect(
            cudaErrorInvalidSource,
            cudaMetalRegisterSource(&mut handle, source),
        );
        let log = CStr::from_ptr(cudaMetalGetLastErrorMessage());
        assert!(log.to_str().unwrap().contains("error"), "{log:?}");
    }
    assert!(handle.is_null());
    // And nothing is broken by all that.
    ok(launch(nothing, (ONE, ONE), &mut [], 0));
}
