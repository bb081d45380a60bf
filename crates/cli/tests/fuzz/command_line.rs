//! Command lines: subcommands with their own options and those of others, values at the edges, and files of all kinds.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use metal_bridge_llama::gguf::TensorType;
use metal_bridge_workloads::synthetic::SyntheticModel;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{limits, search};

/// One call of the program.
#[derive(Clone, Debug)]
struct Call {
    arguments: Vec<OsString>,
    input: Vec<u8>,
}

/// An option, and values for it; none for a flag.
type Choice = (&'static str, &'static [&'static str]);

const NUMBERS: &[&str] = &[
    "1",
    "0",
    "2",
    "16",
    "-1",
    "NaN",
    "inf",
    "1e-45",
    "0.5",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "",
    "x",
    "0x10",
];
const MODELS: &[&str] = &[
    "model.gguf",
    "cut.gguf",
    "hole.gguf",
    "empty",
    "folder",
    "missing",
    "/dev/null",
    "good.metal",
    "",
];
const SOURCES: &[&str] = &[
    "good.metal",
    "bad.metal",
    "noise.metal",
    "empty",
    "folder",
    "missing",
    "-",
    "model.gguf",
    "/dev/null",
];

const GENERATE: &[Choice] = &[
    ("--model", MODELS),
    ("-n", &["2", "0", "18446744073709551615", "x"]),
    ("--context", NUMBERS),
    ("--cache", &["f16", "f32", "f64"]),
    ("--temperature", NUMBERS),
    ("--top-k", NUMBERS),
    ("--repeat-penalty", NUMBERS),
    ("--repeat-last-n", NUMBERS),
    ("--frequency-penalty", NUMBERS),
    ("--presence-penalty", NUMBERS),
    ("--top-p", NUMBERS),
    ("--seed", NUMBERS),
    ("--device", NUMBERS),
    ("--devices", DEVICES),
    ("--no-prompt", &[]),
    ("--quiet", &[]),
];
const DEVICES: &[&str] = &["0", "0,0", "0,0,0,0,0", "0,1", "0,", "", "x", "-1"];
const BENCH: &[Choice] = &[
    ("--model", MODELS),
    ("--prompt-tokens", NUMBERS),
    ("-n", NUMBERS),
    ("--depths", NUMBERS),
    ("--parallel", &["1,2", "0", "257", "x"]),
    ("--repetitions", &["1", "0", "x"]),
    ("--synthetic", &["llama"]),
    ("--device", NUMBERS),
    ("--devices", DEVICES),
    ("--cache", &["f16", "x"]),
    ("--replay", &[]),
    ("--json", &[]),
];
const CHAT: &[Choice] = &[
    ("--model", MODELS),
    ("-n", &["2", "0", "18446744073709551615", "x"]),
    ("--template", SOURCES),
    ("--system", &["", "Be brief"]),
    ("--context", NUMBERS),
    ("--temperature", NUMBERS),
    ("--devices", DEVICES),
];
const PERPLEXITY: &[Choice] = &[
    ("--model", MODELS),
    ("--file", MODELS),
    ("--context", NUMBERS),
    ("--stride", NUMBERS),
    ("--windows", NUMBERS),
    ("--cache", &["f16", "f32", "f64"]),
    ("--devices", DEVICES),
    ("--json", &[]),
];
const INFO: &[Choice] = &[("--json", &[]), ("--device", NUMBERS)];
const TOPOLOGY: &[Choice] = &[
    ("--json", &[]),
    ("--measure", &[]),
    (
        "--bytes",
        &["4", "0", "6", "-1", "18446744073709551612", "x"],
    ),
    ("--repeats", &["1", "0", "x"]),
];
const STRESS: &[Choice] = &[
    (
        "--transfers",
        &["1", "3", "0", "4097", "-1", "18446744073709551615", "x"],
    ),
    ("--device", NUMBERS),
];
const CHECK: &[Choice] = &[
    ("-I", &["folder", "missing", "", "a:b"]),
    ("-D", &["N=1", "N", "f(x)=x", "", "1", "=", "N=\"", "while"]),
    (
        "--std",
        &[
            "metal3.1",
            "metal1.0",
            "macos-metal2.4",
            "metal99.9",
            "metal4294967295.4294967295",
            "metal",
            "x",
        ],
    ),
    ("--pipelines", &["auto", "always", "never", "x"]),
    ("--color", &["always", "never", "x"]),
    ("--strict", &[]),
    ("--safe-math", &[]),
    ("--json", &[]),
    ("--sanitize", &[]),
    (
        "--grid",
        &[
            "1",
            "4,2,1",
            "64",
            "0",
            "1,1,1,1",
            "18446744073709551615,18446744073709551615",
            "x",
        ],
    ),
    (
        "--threadgroup",
        &["1", "4,2", "32", "1025", "18446744073709551615,2", "0", ""],
    ),
    ("--kernel", &["add", "constants", "missing", ""]),
    (
        "--buffer",
        &[
            "0=4",
            "0=zeros:64",
            "1=float:1,2",
            "0=64",
            "2=uint:7",
            "0=@good.metal",
            "0=@missing",
            "0=@folder",
            "31=4",
            "18446744073709551615=4",
            "0=zeros:18446744073709551615",
            "0=zeros:1099511627776",
            "0=18446744073709551615",
            "0=1099511627776",
            "0=half:x",
            "0=bool:true",
            "0=:",
            "=",
            "",
        ],
    ),
    (
        "--threadgroup-memory",
        &["0=16", "0=18446744073709551615", "31=16", "0=1", "x"],
    ),
    (
        "--constant",
        &[
            "count=1",
            "0=2",
            "count=x",
            "count=99999999999",
            "missing=1",
            "=",
            "",
        ],
    ),
];

fn options(choices: &'static [Choice], most: usize) -> impl Strategy<Value = Vec<OsString>> {
    let one = select(choices).prop_flat_map(|(name, values)| {
        let value = match values {
            [] => Just(Vec::new()).boxed(),
            _ => select(values).prop_map(|value| vec![value]).boxed(),
        };
        value.prop_map(move |value| [vec![name], value].concat())
    });
    prop::collection::vec(one, 0..most)
        .prop_map(|all| all.concat().into_iter().map(OsString::from).collect())
}

/// Words that no program expects.
fn words() -> impl Strategy<Value = OsString> {
    let odd = [
        &b"\xff\xfe"[..],
        b"--",
        b"-",
        b"--=",
        b"-std=metal3.1",
        b"-std=",
        b"--help",
        b"--version",
    ];
    prop_oneof![
        3 => "\\PC{0,8}".prop_map(OsString::from),
        1 => select(odd.to_vec()).prop_map(|bytes| {
            use std::os::unix::ffi::OsStringExt;
            OsString::from_vec(bytes.to_vec())
        }),
    ]
}

fn calls() -> impl Strategy<Value = Call> {
    let begin = |words: &[&str]| -> Vec<OsString> { words.iter().map(OsString::from).collect() };
    let generate = begin(&["generate", "-m", "model.gguf", "-n", "2"]);
    let bench = begin(&["bench", "-p", "4", "-n", "2", "-r", "1"]);
    let check = (select(SOURCES), options(CHECK, 5));
    let check = check.prop_map(move |(source, rest)| [begin(&["check", source]), rest].concat());
    let arguments = prop_oneof![
        4 => options(GENERATE, 4).prop_map(move |rest| [generate.clone(), rest].concat()),
        2 => options(GENERATE, 4).prop_map(move |rest| [begin(&["generate"]), rest].concat()),
        2 => options(BENCH, 4).prop_map(move |rest| [bench.clone(), rest].concat()),
        1 => options(CHAT, 4).prop_map(move |rest| [begin(&["chat", "-n", "2"]), rest].concat()),
        1 => options(PERPLEXITY, 4).prop_map(move |rest| [begin(&["perplexity"]), rest].concat()),
        1 => options(INFO, 3).prop_map(move |rest| [begin(&["info"]), rest].concat()),
        1 => options(TOPOLOGY, 3).prop_map(move |rest| [begin(&["topology"]), rest].concat()),
        1 => options(STRESS, 2).prop_map(move |rest| [begin(&["stress", "-s", "0", "-t", "1"]), rest].concat()),
        6 => check,
        1 => Just(Vec::new()),
    ];
    let extra = prop::collection::vec(words(), 0..2);
    let input = prop_oneof![
        Just(Vec::new()),
        Just(GOOD.into()),
        prop::collection::vec(any::<u8>(), 0..64),
        Just(b"Once upon a time\n".to_vec()),
    ];
    (arguments, extra, input).prop_map(|(arguments, extra, input)| Call {
        arguments: [arguments, extra].concat(),
        input,
    })
}

const GOOD: &str = "#include <metal_stdlib>
using namespace metal;
constant uint count [[function_constant(0)]];
kernel void add(device float *a [[buffer(0)]], constant float &b [[buffer(1)]],
                uint i [[thread_position_in_grid]]) { a[i] += b; }
kernel void constants(device uint *a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a[i] = count; }
";

/// Fills a folder with the files that calls name.
fn furnish(folder: &Path) -> io::Result<()> {
    let model = SyntheticModel {
        layers: 1,
        width: 32,
        heads: 2,
        kv_heads: 1,
        head_dim: 16,
        feed_forward: 32,
        vocabulary: 320,
        context: 32,
        matrix_types: vec![TensorType::F32],
        ..SyntheticModel::tiny_llama()
    };
    let at = |name: &str| folder.join(name);
    model.write(at("model.gguf"), 1)?;
    let bytes = fs::read(at("model.gguf"))?;
    fs::write(at("cut.gguf"), &bytes[..bytes.len() / 2])?;
    fs::write(at("hole.gguf"), &bytes)?;
    fs::File::options()
        .write(true)
        .open(at("hole.gguf"))?
        .set_len(4 << 40)?;
    fs::write(at("empty"), "")?;
    fs::create_dir(at("folder"))?;
    fs::write(at("good.metal"), GOOD)?;
    fs::write(at("bad.metal"), GOOD.replace("a[i]", "a[j"))?;
    fs::write(
        at("noise.metal"),
        [&b"kernel \xff\x00\x80 void "[..], &bytes[..1000]].concat(),
    )
}

fn run(folder: &Path, call: &Call) -> io::Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_metal-bridge"));
    command
        .args(&call.arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    limits::bound(&mut command);
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // The program need not read its input.
        let _ = input.write_all(&call.input);
    }
    child.wait_with_output()
}

/// What is wrong with how the program ended, if anything is.
fn judge(call: &Call, output: &Output) -> Result<(), String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let wrong = |what: String| Err(format!("{what}; it said: {errors}"));
    if let Some(end) = limits::violent_end(output.status) {
        return wrong(end);
    }
    let given = |name: &str| call.arguments.iter().any(|argument| argument == name);
    match output.status.code() {
        Some(0..=2) => {}
        Some(3) if given("--device") || given("--devices") || cfg!(not(metal_backend)) => {}
        code => return wrong(format!("exit code {code:?}")),
    }
    if [
        "panicked",
        "backtrace",
        "AddressSanitizer",
        "unrecognized selector",
    ]
    .iter()
    .any(|word| errors.contains(word))
    {
        return wrong("it broke".into());
    }
    if output.status.code() != Some(0) && errors.is_empty() && output.stdout.is_empty() {
        return wrong("it failed without a word".into());
    }
    let is_json = given("--json") && !given("--help") && !given("--version");
    if is_json && output.status.success() {
        let parsed = serde_json::from_slice::<serde_json::Value>(&output.stdout);
        parsed.map_err(|error| format!("what it printed is not JSON: {error}"))?;
    }
    Ok(())
}

pub fn fuzz(time: Duration, seed: u64) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    furnish(folder.path()).map_err(|error| error.to_string())?;
    search(&calls(), time, seed, |call| {
        let output = run(folder.path(), call).map_err(|error| error.to_string())?;
        judge(call, &output)
    })
}
