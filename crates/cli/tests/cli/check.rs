//! `metal-bridge check`: what it prints of sources, how diagnostics look, and how it exits, for input of every kind.

use std::fs;

use metal_bridge_test_support::Printed;

use crate::folder::Folder;

const GOOD: &str = "#include <metal_stdlib>
using namespace metal;
constant bool twice [[function_constant(3)]];
struct Shape { uint rows; float scale; };
[[max_total_threads_per_threadgroup(64)]]
kernel void scale(device float *out [[buffer(1)]], constant Shape &shape [[buffer(0)]],
                  device const half *extra [[buffer(2), function_constant(twice)]],
                  threadgroup float *scratch [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
    scratch[0] = shape.scale;
    if (i < shape.rows) out[i] *= twice ? float(extra[i]) : scratch[0];
}
kernel void nothing() {}
";
const BAD: &str = "kernel void broken(device float *out) {\n\tout[0] = quantity;\n}\n";
const WARNED: &str =
    "kernel void warned(device int *a) {\n  int x = 3;\n  x == 4;\n  a[0] = x;\n}\n";

#[test]
fn kernels_are_listed_with_their_arguments() {
    let folder = Folder::new(&["check"]);
    folder.file("good.metal", GOOD);
    let checked = folder.run(&["good.metal"]).exits_with(0);
    let expected = [
        "good.metal: 2 kernels",
        "kernel scale (at most 64 threads a threadgroup)",
        "index           name       type                 access       bytes",
        "buffer(1)       out        device float *       read, write  4",
        "buffer(0)       shape      constant Shape &     read         8",
        ".rows uint at 0 4",
        ".scale float at 4 4",
        "buffer(2)       extra      device const half *  read         2      if a function constant says so",
        "threadgroup(0)  scratch    threadgroup float *  read, write  4",
        "kernel nothing",
        "function constants",
        "3      twice  bool  required",
    ];
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = checked.out.lines().map(squeezed).collect();
    for line in expected {
        assert!(lines.contains(&squeezed(line)), "{line}\n{}", checked.out);
    }
    assert!(checked.err.is_empty(), "{}", checked.err);
}

#[test]
fn threadgroup_memory_that_kernels_declare_is_told() {
    let folder = Folder::new(&["check"]);
    let kernel = |name: &str, floats: usize| {
        format!(
            "kernel void {name}(device float *out, uint i [[thread_position_in_grid]]) {{
                threadgroup float tile[{floats}];
                tile[i % {floats}] = out[i];
                threadgroup_barrier(metal::mem_flags::mem_threadgroup);
                out[i] = tile[(i + 1) % {floats}];
            }}\n"
        )
    };
    folder.file("sizes.h", "#define UNUSED 1\n");
    let head = "#include <metal_stdlib>\n#include \"sizes.h\"\n";
    folder.file("few.metal", head.to_owned() + &kernel("tiled", 64));
    let line = "declares 256 bytes of threadgroup memory";
    let checked = folder.run(&["few.metal"]).exits_with(0);
    assert!(checked.out.contains(line), "{}", checked.out);
    let checked = folder.run(&["--pipelines", "never", "few.metal"]);
    assert!(!checked.exits_with(0).out.contains(line));

    let many: String = (1..=17).map(|i| kernel(&format!("k{i}"), i)).collect();
    folder.file("many.metal", head.to_owned() + &many);
    let declared = |arguments: &[&str]| {
        let files = folder.run(arguments).exits_with(0).json();
        let kernels = files[0]["kernels"].as_array().unwrap().clone();
        let each = kernels.iter().map(|it| it["threadgroup_memory"].as_u64());
        each.collect::<Vec<_>>()
    };
    assert_eq!(declared(&["--json", "many.metal"]), vec![None; 17]);
    let all = declared(&["--json", "--pipelines", "always", "many.metal"]);
    assert_eq!(all, (1..=17).map(|i| Some(4 * i)).collect::<Vec<_>>());
}

#[test]
fn a_constant_without_a_value_hides_no_other_error() {
    let folder = Folder::new(&["check"]);
    let kernels = "#include <metal_stdlib>
using namespace metal;
constant int n [[function_constant(0)]];
constant bool yes = true;
kernel void scaled(device int *a) { a[0] = n; }
kernel void both(device int *a [[buffer(0), function_constant(yes)]], device int *b [[buffer(0)]]) { b[0] = 1; }
";
    folder.file("both.metal", kernels);
    let checked = folder.run(&["both.metal"]).exits_with(1);
    assert!(
        checked.err.contains("kernel 'both': ") && !checked.err.contains("'scaled'"),
        "{}",
        checked.err
    );
}

#[test]
fn json_has_everything() {
    let folder = Folder::new(&["check"]);
    folder.file("good.metal", GOOD);
    folder.file("bad.metal", BAD);
    let checked = folder
        .run(&["--json", "good.metal", "bad.metal"])
        .exits_with(1);
    assert!(checked.err.is_empty(), "{}", checked.err);
    let files = checked.json();
    let good = &files[0];
    assert_eq!(
        (&good["file"], &good["succeeded"]),
        (&"good.metal".into(), &true.into())
    );
    let kernel = &good["kernels"][0];
    assert_eq!(kernel["name"], "scale");
    assert_eq!(kernel["max_total_threads_per_threadgroup"], 64);
    let argument = |name: &str| {
        let all = kernel["arguments"].as_array().unwrap();
        all.iter()
            .find(|argument| argument["name"] == name)
            .unwrap()
    };
    for (name, index, kind, access, size, conditional) in [
        ("out", 1, "buffer", "read_write", 4, false),
        ("shape", 0, "buffer", "read", 8, false),
        ("extra", 2, "buffer", "read", 2, true),
        ("scratch", 0, "threadgroup", "read_write", 4, false),
    ] {
        let argument = argument(name);
        assert_eq!(argument["index"], index, "{name}");
        assert_eq!(
            (&argument["kind"], &argument["access"]),
            (&kind.into(), &access.into())
        );
        assert_eq!(
            (&argument["size"], &argument["conditional"]),
            (&size.into(), &conditional.into())
        );
    }
    assert_eq!(argument("shape")["type"], "constant Shape &");
    assert_eq!(
        argument("shape")["members"],
        serde_json::json!([
            {"name": "rows", "offset": 0, "index": 0, "type": "uint", "size": 4},
            {"name": "scale", "offset": 4, "index": 1, "type": "float", "size": 4},
        ])
    );
    assert_eq!(
        good["function_constants"],
        serde_json::json!([{"name": "twice", "index": 3, "type": "bool", "required": true}])
    );
    let diagnostic = &files[1]["diagnostics"][0];
    assert_eq!(files[1]["succeeded"], false);
    assert_eq!(
        (&diagnostic["file"], &diagnostic["line"]),
        (&"bad.metal".into(), &2.into())
    );
    assert_eq!(
        (&diagnostic["column"], &diagnostic["caret"]),
        (&11.into(), &11.into())
    );
    assert_eq!(diagnostic["severity"], "error");
    assert_eq!(diagnostic["source"], "\tout[0] = quantity;");
}

#[test]
fn errors_and_warnings_look_as_a_compiler_prints_them() {
    let folder = Folder::new(&["check"]);
    folder.file("bad.metal", BAD);
    folder.file("warned.metal", WARNED);
    let checked = folder.run(&["bad.metal"]).exits_with(1);
    assert_eq!(
        checked.err,
        "bad.metal:2:11: error: use of undeclared identifier 'quantity'\n\tout[0] = quantity;\n\t         ^\n1 error generated.\n"
    );
    assert!(checked.out.is_empty());
    let checked = folder.run(&["warned.metal"]).exits_with(0);
    assert!(
        checked.err.starts_with("warned.metal:3:5: warning: "),
        "{}",
        checked.err
    );
    assert!(
        checked.err.ends_with("1 warning generated.\n"),
        "{}",
        checked.err
    );
    // One file's errors do not hide another's kernels.
    let checked = folder.run(&["bad.metal", "warned.metal"]).exits_with(1);
    assert!(
        checked.out.starts_with("warned.metal: 1 kernel\n"),
        "{}",
        checked.out
    );
    assert!(checked.err.ends_with("1 warning and 1 error generated.\n"));
}

#[test]
fn colours_are_for_terminals_and_for_who_asks() {
    let folder = Folder::new(&["check"]);
    folder.file("bad.metal", BAD);
    let colored = folder
        .run(&["--color", "always", "bad.metal"])
        .exits_with(1)
        .err;
    let plain = folder
        .run(&["--color", "never", "bad.metal"])
        .exits_with(1)
        .err;
    assert!(colored.contains("\x1b[1;31merror: \x1b[0m") && colored.contains("\x1b[1;32m^\x1b[0m"));
    assert!(!plain.contains('\x1b'));
    let mut uncolored = colored.clone();
    for code in ["\x1b[1m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[0m"] {
        uncolored = uncolored.replace(code, "");
    }
    assert_eq!(uncolored, plain);
    // A pipe is not a terminal. `--color=always` overrides NO_COLOR.
    assert_eq!(folder.run(&["bad.metal"]).err, plain);
    let mut asked = folder.command(&["--color=always", "bad.metal"]);
    assert_eq!(
        Printed::from(asked.env("NO_COLOR", "1").output().unwrap()).err,
        colored
    );
    folder
        .run(&["--color", "sometimes", "bad.metal"])
        .exits_with(2);
}

#[test]
fn strict_enforces_address_spaces() {
    let folder = Folder::new(&["check"]);
    folder.file(
        "loose.metal",
        "kernel void loose(device float *a) {\n  float *p = a;\n  p[0] = 1;\n}\n",
    );
    folder.run(&["loose.metal"]).exits_with(0);
    let checked = folder.run(&["--strict", "loose.metal"]).exits_with(1);
    assert!(checked.err.starts_with("loose.metal:2"), "{}", checked.err);
    assert!(checked.err.contains("error:") && checked.err.contains("address space"));
    assert!(checked.out.is_empty());
}

#[test]
fn macros_versions_and_folders_reach_the_compiler() {
    let folder = Folder::new(&["check"]);
    fs::create_dir(folder.path().join("headers")).unwrap();
    folder.file("beside.h", "#define BESIDE 1\n");
    folder.file("headers/elsewhere.h", "#define ELSEWHERE 1\n");
    folder.file(
        "uses.metal",
        "#include \"beside.h\"\n#include \"elsewhere.h\"\n#if SET != 1 || VALUE != 7 || __METAL_VERSION__ != 310\n#error not as asked\n#endif\n\
         kernel void uses(device int *a) { a[0] = SQUARE(BESIDE + ELSEWHERE); }\n",
    );
    let asked = [
        "-Iheaders",
        "-DSET",
        "-D",
        "VALUE=7",
        "-DSQUARE(x)=((x)*(x))",
        "-std=metal3.1",
        "uses.metal",
    ];
    folder.run(&asked).exits_with(0);
    let checked = folder.run(&asked[1..]).exits_with(1);
    assert!(
        checked
            .err
            .contains("uses.metal:2:10: error: 'elsewhere.h' file not found"),
        "{}",
        checked.err
    );
    let checked = folder
        .run(&["-Iheaders", "-DSET", "--std", "metal3.1", "uses.metal"])
        .exits_with(1);
    assert!(checked.err.contains("not as asked"), "{}", checked.err);
    for wrong in [
        &["-D", "1x"][..],
        &["-D", ""],
        &["-std=c++17"],
        &["--std", "metal"],
        &["--std", "metalx.y"],
    ] {
        folder.run(&[wrong, &["uses.metal"]].concat()).exits_with(2);
    }
    folder.run(&[]).exits_with(2);
    let mut ios = asked;
    ios[5] = "-std=ios-metal3.1";
    folder.run(&ios).exits_with(0);
    for unknown in ["9.9", "3.10", "4.1"] {
        let mut version = asked;
        let option = format!("-std=metal{unknown}");
        version[5] = &option;
        let checked = folder.run(&version).exits_with(1);
        let message = format!("language version {unknown} is not supported");
        assert!(checked.err.contains(&message), "{}", checked.err);
    }
}

#[test]
fn standard_input_is_a_file_too() {
    let folder = Folder::new(&["check"]);
    folder.file("shared.h", "#define SHARED 1\n");
    let checked = folder.run_stdin(&["-"], GOOD.as_bytes()).exits_with(0);
    assert!(
        checked.out.starts_with("<stdin>: 2 kernels\n"),
        "{}",
        checked.out
    );
    let checked = folder.run_stdin(&["-"], BAD.as_bytes()).exits_with(1);
    assert!(
        checked.err.starts_with("<stdin>:2:11: error: "),
        "{}",
        checked.err
    );
    let empty = folder.run_stdin(&["-"], b"").exits_with(0);
    assert_eq!(
        (empty.out.as_str(), empty.err.as_str()),
        ("<stdin>: 0 kernels\n", "")
    );
}

#[test]
fn what_is_not_a_source_is_an_error_and_nothing_worse() {
    let folder = Folder::new(&["check"]);
    folder.file("good.metal", GOOD);
    fs::create_dir(folder.path().join("folder.metal")).unwrap();
    let bytes: Vec<u8> = (0..64 * 256u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    folder.file("binary.metal", bytes);
    folder.file("zeros.metal", [0; 100]);
    folder.file("cut.metal", &GOOD[..GOOD.len() / 2]);
    for (name, says) in [
        (
            "missing.metal",
            "missing.metal: error: cannot be read: No such file",
        ),
        (
            "folder.metal",
            "folder.metal: error: cannot be read: Is a directory",
        ),
        (
            "/dev/zero",
            "/dev/zero: error: cannot be read: it has more than 64 MiB",
        ),
        ("binary.metal", "binary.metal:"),
        ("cut.metal", "cut.metal:"),
    ] {
        // The command still checks the file behind it.
        let checked = folder.run(&[name, "good.metal"]).exits_with(1);
        assert!(
            checked.err.contains(says) && checked.err.contains("error: "),
            "{}",
            checked.err
        );
        assert!(!checked.err.contains('\x1b') && checked.out.starts_with("good.metal: 2 kernels"));
        let json = folder.run(&["--json", name]).exits_with(1).json();
        assert_eq!(json[0]["succeeded"], false);
    }
    let zeros = folder.run(&["zeros.metal"]);
    assert!(matches!(zeros.code, Some(0 | 1)), "{}", zeros.err);
}

#[test]
fn without_a_compiler_it_says_so() {
    let folder = Folder::new(&["check"]);
    folder.file("good.metal", GOOD);
    let mut command = folder.command(&["good.metal"]);
    let caches = folder.path().join("cache");
    command
        .env("SOFTWARE_METAL_CLANG", "/nonexistent/clang")
        .env("SOFTWARE_METAL_CACHE", caches);
    let checked = Printed::from(command.output().unwrap()).exits_with(1);
    assert!(
        checked
            .err
            .starts_with("good.metal: error: compiling Metal sources needs clang"),
        "{}",
        checked.err
    );
}
