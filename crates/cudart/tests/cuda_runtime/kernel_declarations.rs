//! How a launch takes an argument, over spellings of the kernel's declaration: as the compiler takes it, or not at all.
//!
//! A pointer that is taken for a value gives no error: the kernel gets the pointer's own bytes.

use std::ffi::{CString, c_void};
use std::ptr;

use metal_cudart::*;

use crate::support::{Memory, ok};

/// What a launch of `k` writes if the compiler takes its second argument as `kind` says; `None` if the runtime refuses
/// the kernel. A program that says the kind gets the right result in any case.
#[track_caller]
fn run(source: &str, kind: cudaMetalParameter) -> Option<u32> {
    let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let text = CString::new(source.clone()).unwrap();
    let (mut module, mut said, mut read) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let kinds = [cudaMetalParameterPointer, kind];
    // SAFETY: pointers to the handles, C strings and a list of that length.
    let code = unsafe {
        ok(cudaMetalRegisterSource(&mut module, text.as_ptr()));
        let (name, kinds) = (c"k".as_ptr(), kinds.as_ptr());
        let code = cudaMetalGetFunctionWithParameters(&mut said, module, name, kinds, 2);
        assert_eq!(code, cudaSuccess, "{source}");
        cudaMetalGetFunction(&mut read, module, name)
    };
    let launch = |function| {
        let (output, input) = (Memory::device(64), Memory::device(64));
        input.write(0, bytemuck::cast_slice(&[42u32; 16]));
        let (mut output_at, mut pointer, mut value) = (output.pointer, input.pointer, [42u32; 16]);
        let second: *mut c_void = match kind == cudaMetalParameterPointer {
            true => ptr::from_mut(&mut pointer).cast(),
            false => value.as_mut_ptr().cast(),
        };
        let mut arguments = [ptr::from_mut(&mut output_at).cast(), second];
        let one = dim3 { x: 1, y: 1, z: 1 };
        // SAFETY: the arguments fit the kernel.
        let code = unsafe {
            let arguments = arguments.as_mut_ptr();
            cudaLaunchKernel(function, one, one, arguments, 0, ptr::null_mut())
        };
        assert_eq!(code, cudaSuccess, "the launch of\n{source}");
        u32::from_ne_bytes(output.read(0, 4).try_into().unwrap())
    };
    assert_eq!(launch(said), 42, "{source}");
    let written = (code != cudaErrorInvalidDeviceFunction).then(|| {
        ok(code);
        launch(read)
    });
    // SAFETY: a handle, checked by the call.
    ok(unsafe { cudaMetalUnregisterSource(module) });
    written
}

/// Runs each line of `sources`: `|` ends a line, `K parameter B value; }` is a definition of `k` that writes the value,
/// and `VALUE` and `POINTER` are two such definitions.
#[track_caller]
fn check(sources: &str, kind: cudaMetalParameter, expected: Option<u32>) {
    for source in sources.trim().lines() {
        let source = source.trim().replace('|', "\n");
        let source = source.replace("VALUE", "K constant uint &n B n; }\n");
        let source = source.replace("POINTER", "K constant uint *n B n[0]; }\n");
        let source = source.replace("K ", "kernel void k(device uint *o [[buffer(0)]], ");
        let source = source.replace(" B ", " [[buffer(1)]]) { o[0] = ");
        assert_eq!(run(&source, kind), expected, "{source}");
    }
}

#[test]
fn plain_declarations_are_taken_as_the_compiler_takes_them() {
    let values = r#"
        VALUE
        [[kernel]] void k(device uint *o [[buffer(0)]], constant uint &n B n; }
        K const constant uint &n B n; }
        K constant array<uint, 2 * 2> &n B n[0]; }
        K constant metal::array<uint, (8 > 4 ? 4 : 1)> &n B n[0]; }
        K constant uint4 &n B n[0]; }
        struct Options { uint count; };|K constant Options &n B n.count; }
        typedef struct { uint count; } Options;|K constant Options &n B n.count; }
        struct Shape { uint count; };|using Options = Shape;|K constant Options &n B n.count; }
        #define SIZE 4|K constant array<uint, SIZE> &n B n[SIZE - 1]; }
        #define ONE 1|#if ONE|constant uint one = ONE;|#else|constant uint none = 1;|#endif|void f() { uint k; }|VALUE
        kernel void k(device uint *o [[buffer(0)]], constant uint &n [[buffer(1)]]);|VALUE
        template <typename T> kernel void t(device T *o, constant T *n) {}|VALUE
        constant char quote = '"', other = '"';|VALUE
        constant uint big = 1'000'000;|VALUE"#;
    check(values, cudaMetalParameterValue, Some(42));
    let pointers = r"
        POINTER
        K const device uint *const n B n[0]; }
        K device const array<uint, 4> &n B n[0]; }
        K device uint &n B n; }
        // note \|VALUE|POINTER
        /* VALUE */ POINTER";
    check(pointers, cudaMetalParameterPointer, Some(42));
}

#[test]
fn declarations_that_may_mean_something_else_are_refused() {
    let pointers = r#"
        #ifdef OTHER|VALUE#else|POINTER#endif
        #if 0|VALUE#endif|POINTER
        #if 1|POINTER#endif
        K |#ifdef OTHER|constant uint &n|#else|constant uint *n|#endif| B n[0]; }
        namespace other {|VALUE}|POINTER
        [[host_name("j")]] VALUE [[host_name("k")]] kernel void j(device uint *o [[buffer(0)]], constant uint *n B n[0]; }
        #define NAMED(name) [[host_name(name)]]|NAMED("k") kernel void j(device uint *o [[buffer(0)]], constant uint *n B n[0]; }
        #define DEFINE(name) kernel void name(device uint *o [[buffer(0)]], constant uint *n B n[0]; }|DEFINE(k)
        #define DEFINE(x) kernel void k##x(device uint *o [[buffer(0)]], constant uint *n B n[0]; }|DEFINE()
        #define IGNORE(...)|IGNORE(VALUE)|POINTER
        #define REF *|K constant uint REF n B n[0]; }
        #define Number uint *|#define AND|K constant Number AND n B n[0]; }
        #define ALIAS(name, type) using name = type;|ALIAS(R, device uint &)|K constant R &n B n; }
        using R = device uint &;|K constant R &n B n; }
        typedef device uint &R;|K constant R &n B n; }
        using R = device uint &;|using S = R;|K constant S &n B n; }
        struct S { using type = device uint &; };|K constant S::type &n B n; }
        template <typename T> struct S { using type = device T &; };|K constant S<uint>::type &n B n; }
        template <typename T = device uint &> using R = T;|K constant R<> &n B n; }
        "#;
    check(pointers, cudaMetalParameterPointer, None);
    let values = "
        using R = constant uint &;|K device R &n B n; }
        using R = constant uint;|K R &n B n; }
        K constant decltype(1u * 2u) &n B n; }
        constant uint g = 3;|K device decltype((g)) &n B n; }
        K constant uint (&n)[4] B n[0]; }";
    check(values, cudaMetalParameterValue, None);
}
