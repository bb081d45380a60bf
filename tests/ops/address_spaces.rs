//! The kernels under rules of Apple's compiler that are stricter than what the software Metal needs: every pointer
//! names its address space, pointers of different spaces do not mix, and there is no double.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use metal_bridge::ops::shader_sources;

/// `smtl_compile_options` of native/software/msl/msl.h.
#[repr(C)]
struct CompileOptions {
    macros: *const c_void,
    macro_count: usize,
    language_version: u32,
    math_mode: u32,
    include_paths: *const *const c_char,
    include_path_count: usize,
    name: *const c_char,
}

unsafe extern "C" {
    fn smtl_lint(
        source: *const c_char,
        length: usize,
        options: *const CompileOptions,
        log: *mut *mut c_char,
    ) -> bool;
}

/// What the check has to say against `source`; nothing if it is good.
fn complaints(name: &str, source: &str) -> Option<String> {
    let name = CString::new(name).expect("a name");
    let options = CompileOptions {
        macros: ptr::null(),
        macro_count: 0,
        language_version: 0,
        math_mode: 2,
        include_paths: ptr::null(),
        include_path_count: 0,
        name: name.as_ptr(),
    };
    let mut log = ptr::null_mut();
    // SAFETY: the source and the options live during the call; the log is NULL or a string of malloc's that is ours.
    unsafe {
        let good = smtl_lint(source.as_ptr().cast(), source.len(), &options, &mut log);
        let text = (!log.is_null()).then(|| CStr::from_ptr(log).to_string_lossy().into_owned());
        libc::free(log.cast());
        (!good).then(|| text.unwrap_or_default())
    }
}

#[test]
fn kernels_obey_the_rules() {
    // Links the library that the check is in.
    assert!(metal_bridge::is_available());
    let mut count = 0;
    for (name, source) in shader_sources() {
        if let Some(text) = complaints(name, &source) {
            panic!("{name}:\n{text}");
        }
        count += 1;
    }
    assert!(count >= 10, "{count} files");
}

#[test]
fn broken_rules_are_seen() {
    for (what, body) in [
        ("spaces mixed", "thread float *p = x; *p = 1.0f;"),
        (
            "threadgroup as device",
            "threadgroup float t[1]; device float *p = t; *p = 1.0f;",
        ),
        ("a double", "double d = x[0]; x[0] = float(d);"),
    ] {
        let source = format!(
            "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *x [[buffer(0)]]) {{\n    {body}\n}}\n"
        );
        assert!(
            complaints("bad.metal", &source).is_some(),
            "{what} is not seen"
        );
    }
}
