//! The kernels under rules of Apple's compiler that are stricter than what the software Metal needs: every pointer
//! names its address space, pointers of different spaces do not mix, and there is no double.

use metal_bridge::ops::shader_sources;
use metal_bridge::software::{CheckOptions, check_source};

/// What the check has to say against `source`; nothing if it is good.
fn complaints(name: &str, source: &str) -> Option<String> {
    let options = CheckOptions {
        name: name.to_owned(),
        strict: true,
        ..CheckOptions::default()
    };
    let check = check_source(source.as_bytes(), &options).expect("a check");
    (!check.succeeded).then(|| format!("{:#?}", check.diagnostics))
}

#[test]
fn kernels_obey_the_rules() {
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
