//! `metal-bridge check --sanitize`: kernels are compiled with the sanitizer's checks, one is launched with arguments from the
//! command line, and what is wrong with it is printed, with no host program at all.

use std::process::Command;

use metal_bridge_test_support::Printed;

use crate::folder::Folder;

/// One kernel for each kind of bug, with correct code beside it. The tests name lines of this text.
const KERNELS: &str = r#"#include <metal_stdlib>
using namespace metal;
#include "step.h"
constant bool twice [[function_constant(7)]];
kernel void right(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], constant uint &n [[buffer(2)]],
                  threadgroup float *shared [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                  uint j [[thread_position_in_threadgroup]]) {
    shared[j] = i < n ? in[i] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < n) out[i] = shared[31 - j] + STEP;
}
kernel void over(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i + STEP] = 1;
}
kernel void races(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i / 2] = i;
}
kernel void unwritten(device int *out [[buffer(0)]], device const int *in [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    out[i] = in[i];
}
kernel void diverges(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i % 32 < 5)
        threadgroup_barrier(mem_flags::mem_none);
    out[i] = 1;
}
kernel void waits(device atomic_int *out [[buffer(0)]]) {
    while (atomic_load_explicit(out, memory_order_relaxed) == 0) {}
}
kernel void chooses(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[twice ? 2 * i : i] = 1;
}
"#;

fn kernels() -> Folder {
    let folder = Folder::new(&["check", "--sanitize"]);
    folder.file("kernels.metal", KERNELS);
    folder.file(
        "step.h",
        "#define STEP 1
",
    );
    folder
}

/// Launches a kernel of the file on 64 threads in threadgroups of 32.
fn launch(folder: &Folder, kernel: &str, arguments: &[&str]) -> Printed {
    let launch = [
        "--kernel",
        kernel,
        "--grid",
        "64",
        "--threadgroup",
        "32,1,1",
    ];
    folder.run(&[&launch[..], arguments, &["kernels.metal"]].concat())
}

#[test]
fn every_kernel_is_compiled_with_the_checks() {
    let folder = kernels();
    let checked = folder
        .run(&["--constant", "twice=false", "kernels.metal"])
        .exits_with(0);
    assert!(
        checked
            .out
            .ends_with("\ncompiled 7 kernels with the sanitizer's checks\n"),
        "{}",
        checked.out
    );
    assert!(
        checked.out.starts_with("kernels.metal: 7 kernels\n"),
        "{}",
        checked.out
    );
    assert_eq!(checked.err, "");
    // A kernel whose constant has no value is left out.
    let checked = folder.run(&["kernels.metal"]).exits_with(0);
    assert!(
        checked
            .out
            .ends_with("\ncompiled 6 kernels with the sanitizer's checks\n"),
        "{}",
        checked.out
    );
    checked.says(&[
        "warning: kernel 'chooses' cannot be checked: ",
        "function constant 'twice' (index 7) has no value",
    ]);
}

#[test]
fn a_correct_kernel_has_no_report() {
    let folder = kernels();
    let input: Vec<u8> = (0..60)
        .flat_map(|value| (value as f32).to_ne_bytes())
        .collect();
    folder.file("input", &input);
    let arguments = [
        "--buffer",
        "0=240",
        "--buffer",
        "1=@input",
        "--buffer",
        "2=uint:60",
        "--threadgroup-memory",
        "0=128",
    ];
    let checked = launch(&folder, "right", &arguments).exits_with(0);
    assert_eq!(checked.err, "");
    assert!(
        checked.out.ends_with("\nlaunched right: no report\n"),
        "{}",
        checked.out
    );
    // The input is now one float too short.
    folder.file("input", &input[4..]);
    launch(&folder, "right", &arguments)
        .exits_with(1)
        .says(&["kernels.metal:8: error: out of bounds: read of 4 bytes right behind buffer 'in' (argument 1) of 236 bytes"]);
}

#[test]
fn each_kind_of_bug_is_found_on_its_line() {
    let folder = kernels();
    for (kernel, buffers, said) in [
        (
            "over",
            &["--buffer", "0=256"][..],
            &[
                "kernels.metal:13: error: out of bounds: write of 4 bytes right behind buffer 'out' (argument 0) of 256 bytes \
               [kernel 'over', thread (63, 0, 0) of the grid: (31, 0, 0) of threadgroup (1, 0, 0)]\n    out[i + STEP] = 1;\n1 error generated.\n",
            ][..],
        ),
        (
            "races",
            &["--buffer", "0=zeros:256"],
            &[
                "kernels.metal:16: error: data race: write and write by threads of one threadgroup",
                "kernels.metal:16: note: earlier write [kernel 'races', thread (0, 0, 0)",
            ],
        ),
        (
            "unwritten",
            &["--buffer", "0=256", "--buffer", "1=256"],
            &[
                "kernels.metal:19: error: uninitialized memory: read of 4 bytes at offset 0 that nothing has written, in buffer 'in'",
                ", 64 times]",
            ],
        ),
        (
            "diverges",
            &["--buffer", "0=256"],
            &["kernels.metal:23: error: divergent barrier: only 5 of 32 threads"],
        ),
        (
            "waits",
            &["--buffer", "0=int:0"],
            &["kernels.metal:27: error: deadlock: a thread waits for 0x0 to change"],
        ),
        (
            "chooses",
            &["--buffer", "0=256", "--constant", "7=true"],
            &["kernels.metal:30: error: out of bounds: write of 4 bytes right behind buffer 'out'"],
        ),
    ] {
        let checked = launch(&folder, kernel, buffers).exits_with(1).says(said);
        assert!(
            checked.err.ends_with("1 error generated.\n"),
            "{}",
            checked.err
        );
        assert!(
            checked
                .out
                .ends_with(&format!("\nlaunched {kernel}: 1 report\n")),
            "{}",
            checked.out
        );
    }
    launch(
        &folder,
        "chooses",
        &["--buffer", "0=256", "--constant", "twice=false"],
    )
    .exits_with(0);
}

#[test]
fn the_environment_chooses_the_checks() {
    let folder = kernels();
    let arguments = [
        "--kernel",
        "unwritten",
        "--grid",
        "64",
        "--threadgroup",
        "32",
        "--buffer",
        "0=256",
        "--buffer",
        "1=256",
        "kernels.metal",
    ];
    let with = |checks: &str| -> Printed {
        let mut command = folder.command(&arguments);
        command
            .env("SOFTWARE_METAL_SANITIZE", checks)
            .output()
            .unwrap()
            .into()
    };
    with("bounds,race").exits_with(0);
    with("uninit").exits_with(1);
    with("").exits_with(1);
    with("0")
        .exits_with(1)
        .says(&["SOFTWARE_METAL_SANITIZE must name bounds, race, uninit or all"]);
}

#[test]
fn json_has_the_reports() {
    let folder = kernels();
    let checked = launch(&folder, "races", &["--buffer", "0=zeros:256", "--json"]).exits_with(1);
    assert_eq!(checked.err, "");
    let outcome = checked.json()[0]["sanitizer"].clone();
    assert_eq!(
        (&outcome["launched"], &outcome["instrumented"][0]),
        (&"races".into(), &"races".into())
    );
    let report = &outcome["reports"][0];
    assert_eq!(
        (&report["kind"], &report["argument_index"]),
        (&"race".into(), &0.into())
    );
    assert_eq!(
        (&report["access"]["line"], &report["earlier"]["line"]),
        (&16.into(), &16.into())
    );
    assert_eq!(
        report["access"]["thread_position_in_grid"],
        serde_json::json!([1, 0, 0])
    );
    assert_eq!(
        (
            &outcome["diagnostics"][0]["severity"],
            &outcome["diagnostics"][1]["severity"]
        ),
        (&"error".into(), &"note".into())
    );
    let right = launch(
        &folder,
        "chooses",
        &["--buffer", "0=256", "--constant", "twice=0", "--json"],
    )
    .exits_with(0);
    assert_eq!(
        right.json()[0]["sanitizer"].clone()["reports"],
        serde_json::json!([])
    );
    // Without --sanitize the JSON says nothing about the sanitizer.
    let mut plain = Command::new(env!("CARGO_BIN_EXE_metal-bridge"));
    let output = plain
        .args(["check", "--json", "kernels.metal"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        Printed::from(output).exits_with(0).json()[0]["sanitizer"]
            .clone()
            .is_null()
    );
}

#[test]
fn sources_come_from_standard_input_too() {
    let folder = kernels();
    let arguments = [
        "-I",
        ".",
        "--kernel",
        "over",
        "--grid",
        "4",
        "--threadgroup",
        "4",
        "--buffer",
        "0=16",
        "-",
    ];
    let checked = folder.run_stdin(&arguments, KERNELS.as_bytes());
    checked.exits_with(1).says(&[
        "<stdin>:13: error: out of bounds",
        "\n    out[i + STEP] = 1;\n",
    ]);
}

#[test]
fn what_cannot_be_launched_is_said() {
    let folder = kernels();
    folder.file("empty", b"");
    folder.file("broken.metal", b"kernel void broken() { nonsense }\n");
    folder
        .run(&["broken.metal"])
        .exits_with(1)
        .says(&["broken.metal:1:24: error: "]);
    launch(&folder, "unwritten", &["--buffer", "0=256"])
        .exits_with(1)
        .says(&["error: kernel 'unwritten': missing argument"]);
    launch(&folder, "none", &[])
        .exits_with(1)
        .says(&["'none' is not a kernel of the source, which has right, over"]);
    launch(&folder, "over", &["--constant", "thrice=1"])
        .exits_with(1)
        .says(&["there is no function constant 'thrice'"]);
    launch(&folder, "over", &["--constant", "twice=2"])
        .exits_with(1)
        .says(&["\"2\" is neither true nor false"]);
    launch(&folder, "over", &["--buffer", "31=4"])
        .exits_with(1)
        .says(&["kernel 'over': out of range"]);
    let grid = ["--grid", "4", "--threadgroup", "4", "kernels.metal"];
    folder
        .run(&grid)
        .exits_with(1)
        .says(&["choose one with --kernel: right, over, races"]);
    folder
        .run(&["kernels.metal", "kernels.metal"])
        .exits_with(2)
        .says(&["--sanitize takes one file at a time"]);
    for wrong in [
        &["--buffer", "0"][..],
        &["--buffer", "x=4"],
        &["--buffer", "0=none"],
        &["--buffer", "0=0"],
        &["--buffer", "0=@missing"],
        &["--buffer", "0=@empty"],
        &["--buffer", "0=@/dev/zero"],
        &["--buffer", "0=int:1,x"],
        &["--buffer", "0=double:1"],
        &["--buffer", "0=uchar:256"],
        &["--threadgroup-memory", "0"],
        &["--constant", "twice"],
    ] {
        launch(&folder, "over", wrong).exits_with(2);
    }
    for size in ["0", "1,2,3,4", "1,0", "x", ""] {
        folder
            .run(&["--grid", size, "--threadgroup", "4", "kernels.metal"])
            .exits_with(2);
    }
    folder.run(&["--grid", "4", "kernels.metal"]).exits_with(2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_stream_without_an_end_fills_no_buffer() {
    let folder = kernels();
    let endless = "head -c 2G /dev/zero | \"$0\" check --sanitize --kernel races --grid 64 --threadgroup 32 \
                   --buffer 0=@/dev/stdin kernels.metal";
    let mut command = Command::new("sh");
    command.args(["-c", endless, env!("CARGO_BIN_EXE_metal-bridge")]);
    let refused: Printed = command.current_dir(folder.path()).output().unwrap().into();
    let refused = refused.exits_with(2);
    let expected = "/dev/stdin: it has more than 1024 MiB";
    assert!(refused.err.contains(expected), "{}", refused.err);
}
