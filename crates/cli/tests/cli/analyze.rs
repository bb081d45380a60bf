//! `metal-bridge analyze`: a kernel is launched with arguments from the command line, or a profile is read, and how the
//! threads accessed memory is printed.

use std::path::Path;

use metal_bridge_test_support::Printed;

use crate::folder::Folder;

/// The tests name lines of this text.
const KERNELS: &str = r#"#include <metal_stdlib>
using namespace metal;
constant uint stride [[function_constant(0)]];
kernel void steps(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[2048];
    tile[t * stride] = in[i * stride];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t % 4 == 0)
        out[i] = tile[t * stride];
}
kernel void other(device float *out [[buffer(0)]]) {
    out[0] = 1;
}
"#;

/// Its lines are named too.
const COMPUTES: &str = r#"#include <metal_stdlib>
constant uint rounds [[function_constant(0)]];
kernel void computes(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float value = x[i];
    for (uint k = 0; k < (is_function_constant_defined(rounds) ? rounds : 4); k++)
        value = metal::fma(value, value, 1.0f);
    if (i % 2 == 0)
        value = float(half(value) * 2.0h) + metal::exp(value);
    x[i] = value;
}
"#;

const LAUNCH: &str = "--kernel steps --grid 128 --threadgroup 64 --constant stride=8 --buffer 0=zeros:4096 --buffer 1=zeros:512";

fn kernels() -> Folder {
    let folder = Folder::new(&["analyze"]);
    folder.file("kernels.metal", KERNELS);
    folder
}

/// Runs `analyze` with words.
fn analyze(folder: &Folder, words: &str) -> Printed {
    folder.run(&words.split_whitespace().collect::<Vec<_>>())
}

/// The words of the first line that has all of these.
#[track_caller]
fn line_with(text: &str, words: &[&str]) -> String {
    let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
    let found = text.lines().find(has_all);
    let found = found.unwrap_or_else(|| panic!("no line with {words:?}:\n{text}"));
    found.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn accesses_are_told_by_line() {
    let folder = kernels();
    let printed = analyze(&folder, &format!("kernels.metal {LAUNCH}"));
    assert_eq!((printed.code, &printed.err[..]), (Some(0), ""));
    assert_eq!(
        line_with(&printed.out, &["kernel steps"]),
        "kernel steps: 1 launch, 128 threads in 2 threadgroups of up to 64 x 1 x 1, 8192 bytes of threadgroup memory"
    );
    assert_eq!(
        line_with(&printed.out, &["kernels.metal:7", "in"]),
        "kernels.metal:7 read 4 B of in 4 100 % stride 32 B 512 B 32 4 12 % 0 %"
    );
    assert_eq!(
        line_with(&printed.out, &["kernels.metal:10", "out"]),
        "kernels.metal:10 write 4 B to out 4 25 % stride 16 B 128 B 4 4 25 % 0 %"
    );
}

#[test]
fn advice_comes_with_line_and_figure() {
    let folder = kernels();
    let printed = analyze(&folder, &format!("kernels.metal {LAUNCH}"));
    let advice = printed
        .out
        .split("advice, by estimated gain:")
        .nth(1)
        .unwrap();
    // 100 lines and turns in all, of which 28 lines and 2 x 28 turns need not be.
    assert_eq!(
        line_with(advice, &["bytes apart"]),
        "kernels.metal:7 (kernel steps): saves up to 28 %: threads 32 bytes apart touch 32 lines of 'in' for 512 bytes, \
         4 lines side by side; put what the threads read together: nobody reads the other bytes of these lines"
    );
    assert_eq!(
        line_with(advice, &["kernels.metal:7", "turns"]),
        "kernels.metal:7 (kernel steps): saves up to 28 %: 32 turns of threadgroup memory for 'tile', 4 without conflicts; \
         add a pad of one element to each row, or let neighbouring lanes access neighbouring words"
    );
}

#[test]
fn operations_and_branches_are_told_by_line() {
    let folder = kernels();
    folder.file("computes.metal", COMPUTES);
    let launch = "computes.metal --grid 128 --threadgroup 64 --buffer 0=zeros:512";
    let printed = analyze(&folder, launch);
    assert_eq!((printed.code, &printed.err[..]), (Some(0), ""));
    let words = printed.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "computes.metal:5 0 0 0 512 0 0",
        "computes.metal:6 1024 0 0 0 0 0",
        "computes.metal:8 64 64 0 0 0 64",
        "computes.metal:5 20 100 % 80 % 0 %",
        "computes.metal:7 4 100 % 50 % 100 %",
    ] {
        assert!(words.contains(expected), "{expected}: {}", printed.out);
    }
    // 1024 + 64 of float, 64 of half and 64 functions; four lines that are read, and written.
    let sentence = line_with(&printed.out, &["roofline"]);
    assert!(
        sentence.contains(
            "1216 floating-point operations, 1024 bytes of lines, 1.19 operations a byte"
        ) && sentence.contains("memory bound on M1 (from 38.2), M1 Pro (from 26.0)")
            && !sentence.contains("compute bound"),
        "{sentence}"
    );
    // Half of the eight lines that are read and written, and nothing else.
    let (_, advice) = printed.out.split_once("advice, by").unwrap();
    assert_eq!(
        line_with(advice, &["memory limits"]),
        "computes.metal:9 (kernel computes): saves up to 50 %: estimated of the published peaks of M1, memory limits the kernel: \
         1.19 operations a byte, and the ridge is 38.2; 'x' is 100 % of the bytes; let its elements take half as many bytes, or \
         compute them where they are used; less arithmetic gains nothing"
    );
    let much = analyze(
        &folder,
        &format!("{launch} --constant rounds=1000 --html page.html --json"),
    );
    assert_eq!((much.code, &much.err[..]), (Some(0), ""));
    let json: serde_json::Value = serde_json::from_str(&much.out).unwrap();
    let gpu = &json["rooflines"][0]["gpus"][0];
    assert_eq!(
        (&gpu["name"], &gpu["bound"]),
        (&"M1".into(), &"arithmetic".into())
    );
    assert_eq!(json["rooflines"][0]["operations"], 128 * 2000 + 192);
    // Memory would limit it with eight lines' worth of its operations, each of which is 4,894 on an M1.
    let advice = &json["recommendations"][0];
    assert_eq!(
        (&advice["advice"], &advice["line"]),
        (&"compute_less".into(), &6.into())
    );
    let gain = advice["gain"].as_f64().unwrap();
    assert!(
        (gain - (1.0 - 8.0 * 128.0 * (2600.0 / 68.0) / 256_192.0)).abs() < 1e-9,
        "{gain}"
    );
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("<title>Roofline</title>"), "{page}");
    let line = line_with(&page, &["metal::fma(value, value, 1.0f);"]);
    assert!(line.contains("256000 float"), "{line}");
    folder.file("much.json", &much.out);
    folder.file(
        "few.json",
        analyze(&folder, &format!("{launch} --json")).out,
    );
    let diff = analyze(&folder, "--diff few.json much.json").out;
    assert_eq!(
        line_with(&diff, &["operations of float"]),
        "computes operations of float 1088 256064 +23435.3 %"
    );
}

#[test]
fn json_is_a_profile_that_can_be_read_and_compared() {
    let folder = kernels();
    for (name, stride) in [("before.json", "stride=8"), ("after.json", "stride=1")] {
        let launch = LAUNCH.replace("stride=8", stride);
        let printed = analyze(&folder, &format!("kernels.metal {launch} --json"));
        assert_eq!((printed.code, &printed.err[..]), (Some(0), ""));
        folder.file(name, &printed.out);
    }
    let printed = analyze(&folder, "--profile before.json");
    let direct = analyze(&folder, &format!("kernels.metal {LAUNCH}"));
    assert_eq!((printed.code, printed.out), (Some(0), direct.out));
    let printed = analyze(&folder, "--diff before.json after.json");
    assert_eq!(
        line_with(&printed.out, &["lines of in"]),
        "steps lines of in 32 4 -87.5 %"
    );
    assert!(!printed.out.contains("threads"), "{}", printed.out);
    let same = analyze(&folder, "--diff before.json before.json");
    assert_eq!(
        (same.code, &same.out[..]),
        (Some(0), "nothing has changed\n")
    );
    let json = analyze(&folder, "--diff before.json after.json --json").out;
    assert!(json.contains("\"figure\": \"turns for tile\""), "{json}");
}

#[test]
fn a_page_has_the_source_beside_its_figures() {
    let folder = kernels();
    let printed = analyze(&folder, &format!("kernels.metal {LAUNCH} --html page.html"));
    assert_eq!((printed.code, &printed.err[..]), (Some(0), ""));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("<svg "),
        "{page}"
    );
    // The source is escaped, and nothing comes from elsewhere.
    assert!(page.contains("#include &lt;metal_stdlib&gt;"), "{page}");
    assert!(
        !page.contains("<metal_stdlib>") && !page.contains("src=") && !page.contains("href="),
        "{page}"
    );
    let line = line_with(&page, &["tile[t * stride] = in[i * stride];"]);
    assert!(
        line.contains("read 4 B of in") && line.contains("stride 32 B"),
        "{line}"
    );
    let printed = analyze(
        &folder,
        &format!("kernels.metal {LAUNCH} --html missing/page.html"),
    );
    assert_eq!(printed.code, Some(1));
    assert!(
        printed.err.contains("missing/page.html: "),
        "{}",
        printed.err
    );
}

#[test]
fn the_example_of_the_page_prints_what_the_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/analysis.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = |begin: &str| {
        let text = page.split(begin).nth(1).unwrap();
        text.split("```").next().unwrap().to_owned()
    };
    let folder = Folder::new(&["analyze"]);
    folder.file("transpose.metal", block("```metal\n"));
    let console = block("```console\n$ metal-bridge analyze ");
    let (command, expected) = console.split_once('\n').unwrap();
    let printed = analyze(&folder, command);
    assert_eq!((printed.code, &printed.out[..]), (Some(0), expected));
}

#[test]
fn what_cannot_be_analyzed_is_said() {
    let folder = kernels();
    for (words, code, message) in [
        ("", 2, "required arguments"),
        ("kernels.metal", 2, "--grid"),
        (
            "kernels.metal --profile p.json --grid 1 --threadgroup 1",
            2,
            "cannot be used with",
        ),
        // A profile was compiled and launched before.
        (
            "--profile p.json --grid 1 --threadgroup 1",
            2,
            "cannot be used with",
        ),
        ("--profile p.json --constant n=1", 2, "cannot be used with"),
        ("--diff a.json b.json -I folder", 2, "cannot be used with"),
        (
            "kernels.metal --grid 1 --threadgroup 1",
            1,
            "choose one with --kernel: steps, other",
        ),
        (
            "missing.metal --grid 1 --threadgroup 1",
            1,
            "missing.metal: ",
        ),
        ("--profile missing.json", 1, "missing.json: "),
        (
            "--profile kernels.metal",
            1,
            "kernels.metal: invalid argument",
        ),
        (
            "kernels.metal --kernel other --grid 1 --threadgroup 1",
            1,
            "no buffer is set at index 0",
        ),
    ] {
        let printed = analyze(&folder, words);
        assert_eq!(printed.code, Some(code), "{words}: {}", printed.err);
        assert!(printed.err.contains(message), "{words}: {}", printed.err);
    }
    folder.file("broken.metal", "kernel void f() { nothing; }");
    let printed = analyze(&folder, "broken.metal --grid 1 --threadgroup 1");
    assert_eq!(printed.code, Some(1));
    assert!(
        printed
            .err
            .contains("broken.metal:1:19: use of undeclared identifier"),
        "{}",
        printed.err
    );
    // An error that is about no line names none.
    let printed: Printed = folder
        .command(&["broken.metal", "--grid", "1", "--threadgroup", "1"])
        .env("SOFTWARE_METAL_CLANG", "/missing")
        .output()
        .unwrap()
        .into();
    assert!(
        printed
            .err
            .starts_with("metal-bridge: broken.metal: compiling Metal sources needs clang"),
        "{}",
        printed.err
    );
}

#[test]
fn a_page_shows_no_files_from_elsewhere() {
    let (folder, elsewhere) = (kernels(), kernels());
    let json = analyze(&folder, &format!("kernels.metal {LAUNCH} --json")).out;
    for file in [
        elsewhere.path().join("kernels.metal"),
        Path::new("/dev/zero").to_owned(),
    ] {
        let file = file.to_str().unwrap();
        folder.file("profile.json", json.replace("kernels.metal", file));
        let printed = analyze(&folder, "--profile profile.json --html page.html");
        assert_eq!((printed.code, &printed.err[..]), (Some(0), ""));
        let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(
            page.contains(file) && page.contains("read 4 B of in"),
            "{page}"
        );
        assert!(!page.contains("metal_stdlib"), "{page}");
    }
    folder.file("profile.json", &json);
    let printed = analyze(&folder, "--profile profile.json --html page.html");
    assert_eq!(printed.code, Some(0));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("metal_stdlib"), "{page}");
}
