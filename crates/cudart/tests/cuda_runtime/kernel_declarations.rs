//! How a launch takes an argument, over spellings of the kernel's declaration: as the compiler takes it, or not at all.
//!
//! A pointer that is taken for a value gives no error: the kernel gets the pointer's own bytes.

use std::ffi::{CString, c_void};
use std::ptr;

use metal_cudart::*;

use crate::support::{Memory, ok};

/// How the compiler takes the second argument of the kernel `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pointer,
    Value,
}

use self::Kind::{Pointer, Value};

const BODY: &str = "{ o[0] = n[0]; }";

/// A definition of `name` whose second parameter is declared as `parameter`.
fn definition(name: &str, parameter: &str, body: &str) -> String {
    format!("kernel void {name}(device uint *o [[buffer(0)]], {parameter} [[buffer(1)]]) {body}\n")
}

fn by_value() -> String {
    definition("k", "constant uint &n", "{ o[0] = n; }")
}

fn by_pointer() -> String {
    definition("k", "constant uint *n", BODY)
}

/// What a launch of `k` writes if the second argument is given as `kind` says; `None` if the runtime refuses the
/// kernel because the source does not show its arguments.
#[track_caller]
fn run(source: &str, kind: Kind) -> Option<u32> {
    let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let text = CString::new(source.clone()).unwrap();
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: places for the handles and C strings.
    let code = unsafe {
        ok(cudaMetalRegisterSource(&mut module, text.as_ptr()));
        cudaMetalGetFunction(&mut function, module, c"k".as_ptr())
    };
    let written = (code != cudaErrorInvalidDeviceFunction).then(|| {
        ok(code);
        let (output, input) = (Memory::device(64), Memory::device(64));
        input.write(0, bytemuck::cast_slice(&[42u32; 16]));
        let (mut output_at, mut pointer, mut value) = (output.pointer, input.pointer, [42u32; 16]);
        let second = match kind {
            Pointer => ptr::from_mut(&mut pointer).cast::<c_void>(),
            Value => value.as_mut_ptr().cast(),
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
    });
    // SAFETY: a handle, checked by the call.
    ok(unsafe { cudaMetalUnregisterSource(module) });
    written
}

#[track_caller]
fn taken(source: &str, kind: Kind) {
    assert_eq!(run(source, kind), Some(42), "{source}");
}

#[track_caller]
fn refused(source: &str, kind: Kind) {
    assert_eq!(run(source, kind), None, "{source}");
}

#[test]
fn plain_declarations_are_taken_as_the_compiler_takes_them() {
    for (parameter, kind, body) in [
        ("constant uint &n", Value, "{ o[0] = n; }"),
        ("const constant uint &n", Value, "{ o[0] = n; }"),
        ("constant array<uint, 2 * 2> &n", Value, BODY),
        (
            "constant metal::array<uint, (8 > 4 ? 4 : 1)> &n",
            Value,
            BODY,
        ),
        ("constant uint4 &n", Value, BODY),
        ("constant uint (&n)[4]", Value, BODY),
        ("constant uint *n", Pointer, BODY),
        ("const device uint *const n", Pointer, BODY),
        ("device const array<uint, 4> &n", Pointer, BODY),
        ("device uint &n", Pointer, "{ o[0] = n; }"),
    ] {
        taken(&definition("k", parameter, body), kind);
    }
    let options = "typedef struct { uint count; } Options;\n";
    let body = "{ o[0] = n.count; }";
    taken(
        &(options.to_owned() + &definition("k", "constant Options &n", body)),
        Value,
    );
    // A prototype names its parameters as it likes.
    let prototype = definition("k", "constant uint &other", ";");
    taken(&(prototype + &by_value()), Value);
    taken(&("[[kernel]] ".to_owned() + &by_value()[7..]), Value);
    let index =
        "#define SECOND 1\n".to_owned() + &by_value().replace("buffer(1)", "buffer(SECOND)");
    taken(&index, Value);
}

#[test]
fn declarations_that_are_not_compiled_change_nothing() {
    let (value, pointer) = (by_value(), by_pointer());
    let continued = format!("// note \\\n{value}{pointer}");
    taken(&continued, Pointer);
    taken(&format!("// note \\ \t\r\n{value}{pointer}"), Pointer);
    taken(&format!("/* {value} */ {pointer}"), Pointer);
    let quote = "constant char quote = '\"', other = '\"';\n";
    taken(&format!("{quote}{value}"), Value);
    taken(&format!("constant uint big = 1'000'000;\n{value}"), Value);
}

#[test]
fn kernels_with_several_declarations_are_refused() {
    let (value, pointer) = (by_value(), by_pointer());
    refused(
        &format!("#ifdef OTHER\n{value}#else\n{pointer}#endif\n"),
        Pointer,
    );
    refused(&format!("#if 0\n{value}#endif\n{pointer}"), Pointer);
    refused(&format!("#if 1\n{pointer}#endif\n"), Pointer);
    // Two kernels of one name, of which the library has one.
    refused(&format!("{value}{pointer}"), Pointer);
    refused(
        &format!("namespace other {{ {value} }}\n{pointer}"),
        Pointer,
    );
    let inside = "kernel void k(device uint *o [[buffer(0)]],\n#ifdef OTHER\nconstant uint &n [[buffer(1)]]\n\
                  #else\nconstant uint *n [[buffer(1)]]\n#endif\n) { o[0] = n[0]; }\n";
    refused(inside, Pointer);
}

#[test]
fn kernels_that_host_name_names_are_refused() {
    let first = "[[host_name(\"j\")]] ".to_owned() + &by_value();
    let second = "[[host_name(\"k\")]] ".to_owned() + &definition("j", "constant uint *n", BODY);
    refused(&(first + &second), Pointer);
    refused(&second, Pointer);
    let named = "#define NAMED(name) [[host_name(name)]]\nNAMED(\"k\") ".to_owned();
    refused(
        &(named + &definition("j", "constant uint *n", BODY)),
        Pointer,
    );
}

#[test]
fn macros_that_may_declare_the_kernel_are_refused() {
    let value = by_value();
    let whole = "#define DEFINE(name) kernel void name(device uint *o [[buffer(0)]], \
                 constant uint *n [[buffer(1)]]) { o[0] = n[0]; }\nDEFINE(k)\n";
    refused(&format!("{value}{whole}"), Pointer);
    let pasted = whole
        .replace("void name(", "void name##_(")
        .replace("(k)", "()");
    refused(&pasted.replace("name##_", "k##name"), Pointer);
    refused(
        &format!("#define IGNORE(...)\nIGNORE({value})\n{}", by_pointer()),
        Pointer,
    );
    refused(
        &format!(
            "#define REF *\n{}",
            by_value().replace("&n", "REF n").replace("= n;", "= n[0];")
        ),
        Pointer,
    );
    let type_name = "#define Number uint *\n#define AND\n";
    let parameter = by_value()
        .replace("uint &n", "Number AND n")
        .replace("= n;", "= n[0];");
    refused(&(type_name.to_owned() + &parameter), Pointer);
}

/// `constant R &n` is a reference to device memory if `R` is.
#[test]
fn references_to_types_that_may_be_references_are_refused() {
    let reference = |before: &str, name: &str, kind| {
        let parameter = format!("{name} &n");
        refused(
            &(before.to_owned() + &definition("k", &parameter, "{ o[0] = n; }")),
            kind,
        );
    };
    reference("using R = device uint &;\n", "constant R", Pointer);
    reference("typedef device uint &R;\n", "constant R", Pointer);
    reference(
        "using R = device uint &;\nusing S = R;\n",
        "constant S",
        Pointer,
    );
    reference("using R = constant uint &;\n", "device R", Value);
    reference("using R = constant uint;\n", "R", Value);
    reference(
        "struct S { using type = device uint &; };\n",
        "constant S::type",
        Pointer,
    );
    let traits = "template <typename T> struct S { using type = device T &; };\n";
    reference(traits, "constant S<uint>::type", Pointer);
    reference("", "constant decltype(1u * 2u)", Value);
    reference("constant uint g = 3;\n", "device decltype((g))", Value);
    let macros = "#define ALIAS(name, type) using name = type;\nALIAS(R, device uint &)\n";
    reference(macros, "constant R", Pointer);
}
