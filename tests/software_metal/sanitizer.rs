//! `metal_bridge::sanitizer`: each kind of bug in a kernel becomes a report with what a program can ask about it, and a
//! correct kernel none. The checks are chosen once in a process, so each test runs in one of its own.

use std::env;
use std::process::{Command, Output};

use metal_bridge::sanitizer::{self, Checks, Report, ReportKind};
use metal_bridge::{CompileOptions, Device, DispatchType, Error, StorageMode};

const CHILD: &str = "METAL_BRIDGE_SANITIZER_CHILD";
const THREADS: usize = 64;
const PER_THREADGROUP: usize = 32;

/// Runs `test` of this program again with the sanitizer.
fn in_child(test: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(env::current_exe().unwrap())
        .args([&format!("sanitizer::{test}"), "--exact", "--nocapture"])
        .env_remove("SOFTWARE_METAL_SANITIZE_QUIET")
        .env_remove("SOFTWARE_METAL_SANITIZE_EXIT")
        .env("SOFTWARE_METAL_SANITIZE", "all")
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// Does `what` in a child, and gives what it wrote to standard error.
#[track_caller]
fn sanitized(test: &str, what: impl FnOnce()) -> Option<String> {
    if env::var_os(CHILD).is_some() {
        what();
        return None;
    }
    let output = in_child(test, &[]);
    let errors = String::from_utf8(output.stderr).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {text}{errors}", output.status);
    assert!(text.contains("1 passed"), "{text}");
    Some(errors)
}

/// Launches the kernel `planted` with this body from line 2 on.
fn launch(body: &str) -> Result<(), Error> {
    launch_source(&format!(
        "kernel void planted(device int *out [[buffer(0)]], device int *fresh [[buffer(1)]], uint i [[thread_position_in_grid]], uint j [[thread_position_in_threadgroup]]) {{\n{body}\n}}\n"
    ))
}

/// Launches the kernel `planted` on a buffer of as many zeros as there are threads and one that nobody has written.
fn launch_source(source: &str) -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.new_library_with_source(
        &format!("#include <metal_stdlib>\nusing namespace metal;\n#line 1\n{source}"),
        &CompileOptions::new(),
    )?;
    let pipeline = device.new_compute_pipeline_state(&library.new_function("planted")?)?;
    let out = device.new_buffer_with_data(&[0i32; THREADS], StorageMode::Shared)?;
    out.set_label("results")?;
    let fresh = device.new_buffer(THREADS * 4, StorageMode::Shared)?;
    let queue = device.new_command_queue()?;
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
    encoder.set_compute_pipeline_state(&pipeline)?;
    encoder.set_buffer(&out, 0, 0)?;
    encoder.set_buffer(&fresh, 0, 1)?;
    // SAFETY: what leaves the buffers is caught by the sanitizer.
    unsafe { encoder.dispatch_threads(THREADS, PER_THREADGROUP)? };
    encoder.end_encoding()?;
    commands.commit()?.wait()
}

/// The one report of a launch.
#[track_caller]
fn only_report() -> Report {
    let mut reports = sanitizer::reports();
    assert_eq!(
        (reports.len(), sanitizer::report_count()),
        (1, 1),
        "{reports:?}"
    );
    let report = reports.remove(0);
    assert_eq!(report.access.kernel, "planted");
    assert_eq!(report.access.function, "planted");
    assert_eq!(report.access.file, "program_source");
    assert_eq!(report.to_string(), report.text);
    assert!(report.text.contains(&report.summary), "{}", report.text);
    assert!(report.text.contains(report.kind.name()), "{}", report.text);
    sanitizer::clear_reports();
    assert_eq!(sanitizer::report_count(), 0);
    assert!(sanitizer::reports().is_empty());
    report
}

#[test]
fn a_correct_kernel_has_no_report() {
    let errors = sanitized("a_correct_kernel_has_no_report", || {
        let all = Checks {
            bounds: true,
            race: true,
            uninitialized: true,
        };
        assert_eq!(sanitizer::checks(), all);
        launch(
            "threadgroup int shared[32];\nshared[j] = i;\nthreadgroup_barrier(mem_flags::mem_threadgroup);\n\
             fresh[i] = shared[31 - j];\nout[i] += fresh[i];",
        )
        .unwrap();
    });
    assert!(errors.is_none_or(|text| text.is_empty()));
}

/// A byte that the CPU writes among others that nobody has written equals fresh memory once in 256 times.
#[test]
fn a_byte_that_the_cpu_has_written_has_no_report() {
    let errors = sanitized("a_byte_that_the_cpu_has_written_has_no_report", || {
        let device = Device::system_default().unwrap();
        let library = device
            .new_library_with_source(
                "kernel void one(device const uchar *x [[buffer(0)]], device uchar *y [[buffer(1)]]) { y[0] = x[5]; }",
                &CompileOptions::new(),
            )
            .unwrap();
        let function = library.new_function("one").unwrap();
        let pipeline = device.new_compute_pipeline_state(&function).unwrap();
        let queue = device.new_command_queue().unwrap();
        let y = device.new_buffer(16, StorageMode::Shared).unwrap();
        for _ in 0..1500 {
            let x = device.new_buffer(16, StorageMode::Shared).unwrap();
            x.wait_write_range::<u8>(5..6).unwrap()[0] = 7;
            let mut commands = queue.command_buffer().unwrap();
            let mut encoder = commands
                .compute_command_encoder(DispatchType::Serial)
                .unwrap();
            encoder.set_compute_pipeline_state(&pipeline).unwrap();
            encoder.set_buffer_read_only(&x, 0, 0).unwrap();
            encoder.set_buffer(&y, 0, 1).unwrap();
            // SAFETY: the kernel stays inside of both buffers.
            unsafe { encoder.dispatch_threads(1, 1).unwrap() };
            encoder.end_encoding().unwrap();
            commands.commit().unwrap().wait().unwrap();
        }
        assert_eq!(y.wait_read::<u8>().unwrap()[0], 7);
        assert_eq!(sanitizer::report_count(), 0);
    });
    assert!(errors.is_none_or(|text| text.is_empty()));
}

#[test]
fn an_overrun_is_a_report_and_a_page_fault() {
    let errors = sanitized("an_overrun_is_a_report_and_a_page_fault", || {
        let error = launch("if (i == 63)\nout[i + 1] = 1;").unwrap_err();
        assert!(matches!(error, Error::CommandBuffer(_)), "{error}");
        let report = only_report();
        assert_eq!(report.kind, ReportKind::Bounds);
        assert_eq!(report.access.line, 3);
        assert_eq!((report.access.is_write, report.access.size), (true, 4));
        assert_eq!(
            (report.object.as_str(), report.argument_index),
            ("results", Some(0))
        );
        assert_eq!((report.offset, report.length), (256, 256));
        assert_eq!(report.access.thread_position_in_grid, [63, 0, 0]);
        assert_eq!(report.access.threadgroup_position_in_grid, [1, 0, 0]);
        assert_eq!(report.access.thread_position_in_threadgroup, [31, 0, 0]);
        assert_eq!(
            report.summary,
            "write of 4 bytes right behind buffer 'results' (argument 0) of 256 bytes"
        );
    });
    if let Some(text) = errors {
        assert!(
            text.starts_with("software Metal: out of bounds in kernel 'planted'"),
            "{text}"
        );
    }
}

#[test]
fn a_kernel_that_asks_to_be_inlined_is_checked() {
    sanitized("a_kernel_that_asks_to_be_inlined_is_checked", || {
        launch_source("METAL_FUNC kernel void planted(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\nif (i == 63)\nout[i + 1] = 1;\n}\n").unwrap_err();
        let report = only_report();
        assert_eq!((report.kind, report.access.line), (ReportKind::Bounds, 3));
    });
}

#[test]
fn threadgroup_variables_have_the_names_of_the_source() {
    let test = "threadgroup_variables_have_the_names_of_the_source";
    sanitized(test, || {
        launch_source(
            "template <typename T> kernel void planted(device T *out [[buffer(0)]], uint j [[thread_position_in_threadgroup]]) {
                 threadgroup T shared[32];
                 shared[j + 1] = T(j);
                 threadgroup_barrier(mem_flags::mem_threadgroup);
                 out[j] = shared[j + 1];
             }
             template [[host_name(\"planted\")]] kernel void planted<half>(device half *, uint);",
        )
        .unwrap_err();
        let report = sanitizer::reports().remove(0);
        assert_eq!((report.kind, report.access.line), (ReportKind::Bounds, 3));
        assert_eq!((report.object.as_str(), report.length), ("shared", 64));
        assert_eq!(report.argument_index, None);
    });
}

#[test]
fn a_data_race_names_both_sides() {
    sanitized("a_data_race_names_both_sides", || {
        launch("out[i / 2] = i;").unwrap();
        let report = only_report();
        assert_eq!(report.kind, ReportKind::Race);
        let earlier = report.earlier.expect("a race has two sides");
        assert_ne!(
            earlier.thread_position_in_grid,
            report.access.thread_position_in_grid
        );
        assert_eq!(
            earlier.threadgroup_position_in_grid,
            report.access.threadgroup_position_in_grid
        );
        assert_eq!((earlier.line, report.access.line), (2, 2));
        assert!(earlier.is_write && report.access.is_write);
    });
}

#[test]
fn a_read_of_what_nothing_has_written_is_a_report() {
    sanitized("a_read_of_what_nothing_has_written_is_a_report", || {
        launch("\nout[i] = fresh[i];").unwrap();
        let report = only_report();
        assert_eq!(report.kind, ReportKind::Uninitialized);
        assert_eq!((report.access.line, report.access.is_write), (3, false));
        // A buffer without a label goes by the argument's name.
        assert_eq!(
            (report.object.as_str(), report.argument_index),
            ("fresh", Some(1))
        );
        assert_eq!(report.occurrences, THREADS as u64);
    });
}

#[test]
fn a_barrier_that_not_all_threads_reach_is_a_report() {
    sanitized("a_barrier_that_not_all_threads_reach_is_a_report", || {
        launch("if (j < 16)\nthreadgroup_barrier(mem_flags::mem_threadgroup);\nout[i] = 1;")
            .unwrap();
        let report = sanitizer::reports().remove(0);
        assert_eq!((report.kind, report.access.line), (ReportKind::Barrier, 3));
    });
}

#[test]
fn a_loop_without_end_is_a_report() {
    sanitized("a_loop_without_end_is_a_report", || {
        let error = launch(
            "device atomic_int *flag = (device atomic_int *)out;\nwhile (atomic_load_explicit(flag, memory_order_relaxed) == 0) {}",
        )
        .unwrap_err();
        assert!(matches!(error, Error::CommandBuffer(_)), "{error}");
        let report = only_report();
        assert_eq!((report.kind, report.access.line), (ReportKind::Deadlock, 3));
        assert!(report.access.is_atomic);
    });
}

#[test]
fn reports_can_decide_how_the_process_ends() {
    let test = "reports_can_decide_how_the_process_ends";
    if env::var_os(CHILD).is_some() {
        let body = env::var("METAL_BRIDGE_SANITIZER_BODY").unwrap();
        launch(&body).unwrap();
        sanitizer::clear_reports();
        return;
    }
    for (body, status, reports, quiet) in [
        ("out[i] = fresh[i];", "66", 66, "0"),
        ("out[i] = fresh[i];", "66", 66, "1"),
        // A status has eight bits, and 0 would mean that all is well.
        ("out[i] = fresh[i];", "256", 255, "0"),
        ("out[i] = fresh[i];", "0", 0, "0"),
        ("out[i] = 1;", "66", 0, "0"),
    ] {
        let output = in_child(
            test,
            &[
                ("METAL_BRIDGE_SANITIZER_BODY", body),
                ("SOFTWARE_METAL_SANITIZE_EXIT", status),
                ("SOFTWARE_METAL_SANITIZE_QUIET", quiet),
            ],
        );
        assert_eq!(output.status.code(), Some(reports), "{body} {status}");
        let said = String::from_utf8_lossy(&output.stderr).contains("software Metal: uninit");
        assert_eq!(said, body.contains("fresh") && quiet == "0");
    }
}

#[test]
fn without_the_variable_nothing_is_checked() {
    if env::var_os(CHILD).is_some() {
        assert!(!sanitizer::checks().any());
        launch("out[i] = fresh[i];").unwrap();
        assert_eq!(sanitizer::report_count(), 0);
        return;
    }
    let output = in_child(
        "without_the_variable_nothing_is_checked",
        &[("SOFTWARE_METAL_SANITIZE", "")],
    );
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
