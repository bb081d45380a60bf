//! The headers in `native/include/` and `src/sys/` declare the same interface: every function with the names and types
//! of its parameters, every structure field by field, every callback type, every constant. So do the software Metal's
//! `msl.h` and `src/sys/software.rs`, as far as the latter goes.
#![cfg(metal_backend)]

mod error_codes;
mod files;
mod handlers;
mod header;
mod interface;
mod mirror;

use std::path::Path;

use files::{Files, changed};
use header::{BRIDGE, SOFTWARE};
use interface::Interface;
use mirror::read_mirror;

fn headers() -> Files {
    files::read("native/include", "h")
}

fn mirror() -> Files {
    let mut files = files::read("src/sys", "rs");
    // The software Metal's own interface, and Rust's: neither is the bridge's.
    for other in [SOFTWARE_MIRROR, "handle.rs"] {
        files.remove(Path::new(other)).expect("a file of sys");
    }
    files
}

fn read_header(headers: &Files) -> Interface {
    header::read_header(headers, BRIDGE)
}

const SOFTWARE_MIRROR: &str = "software.rs";

/// How msl.h differs from its mirror after a change to the header.
fn software_differences(from: &str, to: &str) -> Vec<String> {
    let mut mirror = files::read("src/sys", "rs");
    mirror.retain(|path, _| path == Path::new(SOFTWARE_MIRROR));
    let mirror = read_mirror(&mirror);
    assert!(mirror.functions.len() == 1 && mirror.structures.len() == 2);
    assert!(mirror.constants.len() == 6 && mirror.enumerations.len() == 2);

    let mut headers = files::read("native/software/msl", "h");
    headers.retain(|path, _| path == Path::new("msl.h"));
    let header = header::read_header(&changed(&headers, from, to), SOFTWARE);
    header.part_in(&mirror).differences(&mirror)
}

#[test]
fn header_and_mirror_agree() {
    let (header, mirror) = (read_header(&headers()), read_mirror(&mirror()));
    // Should a reader go blind, this test must not pass for want of anything to compare.
    assert!(
        header.functions.len() > 90,
        "{} functions",
        header.functions.len()
    );
    assert!(
        header.constants.len() > 100,
        "{} constants",
        header.constants.len()
    );
    assert!(header.structures.len() >= 7 && header.opaque.len() == 21);
    assert!(header.callbacks.len() == 5 && header.enumerations.len() >= 12);
    let differences = header.differences(&mirror);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_header_of_source_checks_and_its_mirror_agree() {
    let differences = software_differences("", "");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    for (from, to, culprit) in [
        (
            "    bool enable_logging;",
            "    bool enable_logging, another;",
            "smtl_compile_options",
        ),
        ("    const char *value;", "    char *value;", "smtl_macro"),
        (
            "    SMTL_MATH_FAST\n",
            "    SMTL_MATH_FAST,\n    SMTL_MATH_FASTER\n",
            "SMTL_MATH_FASTER",
        ),
        (
            "    SMTL_MATH_FAST\n",
            "    SMTL_MATH_FAST = 7\n",
            "SMTL_MATH_FAST",
        ),
        (
            "*options, bool strict);",
            "*options, int strict);",
            "smtl_check",
        ),
    ] {
        let lines = software_differences(from, to);
        assert_eq!(lines.len(), 1, "{from} -> {to}: {lines:?}");
        assert!(lines[0].contains(culprit), "{from} -> {to}: {lines:?}");
    }
}

#[test]
fn each_kind_of_disagreement_is_seen_in_the_header() {
    let (headers, mirror) = (headers(), read_mirror(&mirror()));
    for (from, to, culprit) in [
        (
            "mtb_buffer *buffer, size_t offset, size_t length,\n",
            "mtb_buffer *buffer, uint32_t offset, size_t length,\n",
            "mtb_blit_encoder_fill",
        ),
        (
            "uint8_t value, mtb_error **error);",
            "mtb_error **error);",
            "mtb_blit_encoder_fill",
        ),
        ("size_t mtb_page_size(void);", "", "mtb_page_size"),
        (
            "size_t mtb_page_size(void);",
            "uint32_t mtb_page_size(void);",
            "mtb_page_size",
        ),
        ("MTB_TIMEOUT = 11", "MTB_TIMEOUT = 21", "MTB_TIMEOUT"),
        (
            "MTB_MAX_BINDINGS 31u",
            "MTB_MAX_BINDINGS 32u",
            "MTB_MAX_BINDINGS",
        ),
        ("    double gpu_start;\n", "", "mtb_times"),
        (
            "    double gpu_start;\n    double gpu_end;",
            "    double gpu_end;\n    double gpu_start;",
            "mtb_times",
        ),
        (
            "(*mtb_event_callback)(uint64_t value",
            "(*mtb_event_callback)(uint32_t value",
            "mtb_event_callback",
        ),
        (
            "mtb_buffer *const *buffers",
            "const mtb_buffer *const *buffers",
            "mtb_compute_encoder_memory_barrier_buffers",
        ),
    ] {
        let lines = read_header(&changed(&headers, from, to)).differences(&mirror);
        assert_eq!(lines.len(), 1, "{from} -> {to}: {lines:?}");
        assert!(lines[0].contains(culprit), "{from} -> {to}: {lines:?}");
    }
}

#[test]
fn each_kind_of_disagreement_is_seen_in_the_mirror() {
    let (header, mirror) = (read_header(&headers()), mirror());
    for (from, to, culprit) in [
        (
            "pub fn mtb_device_count() -> usize;",
            "",
            "mtb_device_count",
        ),
        (
            "pub fn mtb_device_count() -> usize;",
            "pub fn mtb_device_count() -> u32;",
            "mtb_device_count",
        ),
        (
            "buffer: *const mtb_buffer) -> usize",
            "buffer: *mut mtb_buffer) -> usize",
            "mtb_buffer_length",
        ),
        ("MTB_OK: mtb_status = 0", "MTB_OK: mtb_status = 1", "MTB_OK"),
        (
            "MTB_FOREVER: u64 = u64::MAX",
            "MTB_FOREVER: u64 = 0",
            "MTB_FOREVER",
        ),
        (
            "    pub registry_id: u64,\n",
            "    pub registry_id: u32,\n",
            "mtb_device_info",
        ),
        ("    mtb_event\n", "", "mtb_event"),
        (
            "fn(value: u64, context",
            "fn(value: u32, context",
            "mtb_event_callback",
        ),
    ] {
        let lines = header.differences(&read_mirror(&changed(&mirror, from, to)));
        assert_eq!(lines.len(), 1, "{from} -> {to}: {lines:?}");
        assert!(lines[0].contains(culprit), "{from} -> {to}: {lines:?}");
    }
}
