//! `metal-bridge quantize`: what it writes, and that a mistake spoils no file.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output};

use metal_bridge_llama::gguf::{Gguf, GgufWriter, TensorType};
use metal_bridge_workloads::synthetic::SyntheticModel;

fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_metal-bridge"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// A folder with a small model of floats, `model.gguf`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = SyntheticModel {
        layers: 1,
        width: 64,
        heads: 2,
        kv_heads: 1,
        head_dim: 32,
        feed_forward: 96,
        vocabulary: 320,
        context: 64,
        matrix_types: vec![TensorType::F32],
        ..SyntheticModel::tiny_llama()
    };
    model.write(folder.path().join("model.gguf"), 3).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_quantized_model_is_written_whole() {
    let folder = folder();
    let before = fs::metadata(folder.path().join("model.gguf"))
        .unwrap()
        .len();
    for (format, kind) in [("Q4_0", TensorType::Q4_0), ("f16", TensorType::F16)] {
        let output = run(
            &["quantize", "model.gguf", "small.gguf", format],
            folder.path(),
        );
        assert!(output.status.success(), "{output:?}");
        let path = folder.path().join("small.gguf");
        let small = Gguf::open(&path).unwrap();
        assert_eq!(small.tensor("output.weight").unwrap().element_type(), kind);
        assert_eq!(
            small.tensor("output_norm.weight").unwrap().element_type(),
            TensorType::F32
        );
        let expected = format!(
            "small.gguf: 9 of 12 tensors are {}, {} bytes instead of {before}\n",
            format.to_lowercase(),
            fs::metadata(path).unwrap().len()
        );
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        assert_eq!(names(folder.path()), ["model.gguf", "small.gguf"]);
    }
}

#[test]
fn a_model_may_be_quantized_in_its_place() {
    let folder = folder();
    let quantize = ["quantize", "model.gguf", "model.gguf", "q8_0"];
    assert!(run(&quantize, folder.path()).status.success());
    // What is quantized already stays so, and is named.
    let output = run(
        &["quantize", "model.gguf", "model.gguf", "q4_0"],
        folder.path(),
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.contains("0 of 12 tensors"),
        "{text}"
    );
    assert!(text.contains("blk.0.attn_q.weight stays Q8_0\n"), "{text}");
}

#[test]
fn mistakes_name_the_file_and_leave_none() {
    let folder = folder();
    fs::write(folder.path().join("text"), "not a model").unwrap();
    for (arguments, code, message) in [
        (["model.gguf", "small.gguf", "f32"], 2, "f32"),
        (
            ["missing.gguf", "small.gguf", "q4_0"],
            1,
            "missing.gguf: No such file",
        ),
        (["text", "small.gguf", "q4_0"], 1, "text: not a GGUF file"),
        (
            ["model.gguf", "nowhere/small.gguf", "q4_0"],
            1,
            "nowhere/small.gguf: ",
        ),
    ] {
        let output = run(&[&["quantize"], &arguments[..]].concat(), folder.path());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(code) && text.contains(message),
            "{text}"
        );
        assert_eq!(names(folder.path()), ["model.gguf", "text"]);
    }
}

#[test]
fn a_file_beyond_the_limit_is_an_error_and_none_is_left() {
    let folder = folder();
    let before = names(folder.path());
    let limited = "ulimit -f 8; exec \"$0\" quantize model.gguf small.gguf f16";
    let output = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_metal-bridge")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("File too large"), "{message}");
    assert_eq!(names(folder.path()), before);
}

#[test]
fn links_and_what_is_no_file_are_not_replaced() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("other")).unwrap();
    fs::write(at("other/old.gguf"), "old").unwrap();
    symlink("other/old.gguf", at("link.gguf")).unwrap();
    let quantize = ["quantize", "model.gguf", "link.gguf", "q8_0"];
    assert!(run(&quantize, folder.path()).status.success());
    assert!(fs::symlink_metadata(at("link.gguf")).unwrap().is_symlink());
    Gguf::open(at("other/old.gguf")).unwrap();

    let _socket = UnixListener::bind(at("socket")).unwrap();
    symlink("socket", at("link")).unwrap();
    for name in ["socket", "link", "other"] {
        let output = run(&["quantize", "model.gguf", name, "q8_0"], folder.path());
        let text = String::from_utf8(output.stderr).unwrap();
        let expected = format!("{name}: not a regular file");
        assert!(
            output.status.code() == Some(1) && text.contains(&expected),
            "{text}"
        );
        assert!(!fs::metadata(at(name)).unwrap().is_file());
    }
    assert_eq!(names(&at("other")), ["old.gguf"]);
}

#[test]
fn links_to_nothing_yet_stay_links() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("other")).unwrap();
    symlink("other/middle", at("link")).unwrap();
    symlink("new.gguf", at("other/middle")).unwrap();
    let quantize = ["quantize", "model.gguf", "link", "q8_0"];
    assert!(run(&quantize, folder.path()).status.success());
    Gguf::open(at("other/new.gguf")).unwrap();
    assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
    assert_eq!(names(&at("other")), ["middle", "new.gguf"]);

    symlink("circle", at("circle")).unwrap();
    let output = run(&["quantize", "model.gguf", "circle", "q8_0"], folder.path());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("circle: Too many levels"), "{text}");
    assert!(fs::symlink_metadata(at("circle")).unwrap().is_symlink());
}

#[test]
fn a_private_model_stays_private() {
    let folder = folder();
    let path = folder.path().join("model.gguf");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let quantize = ["quantize", "model.gguf", "model.gguf", "q8_0"];
    assert!(run(&quantize, folder.path()).status.success());
    assert_eq!(
        fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn names_of_tensors_do_not_reach_the_terminal_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = GgufWriter::new();
    let name = "\u{1b}[31m\n.weight";
    writer.tensor(name, &[48, 1], TensorType::F32).unwrap();
    let input = fs::File::create(folder.path().join("model.gguf")).unwrap();
    writer
        .write(input, |_, out| out.write_all(&[0; 192]))
        .unwrap();
    let output = run(
        &["quantize", "model.gguf", "small.gguf", "q8_0"],
        folder.path(),
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.ends_with("\n\\u{1b}[31m\\n.weight stays F32\n"),
        "{text:?}"
    );
}

/// A fixture of the engine, as a directory and as a file.
const DIRECTORY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../llama/tests/data/architectures/llama3"
);

#[test]
fn a_directory_becomes_a_gguf_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("{DIRECTORY}.gguf");
    let path = |name| folder.path().join(name);
    for (input, output) in [(DIRECTORY, "one.gguf"), (&file, "other.gguf")] {
        let output = run(&["quantize", input, output, "f16"], folder.path());
        assert!(output.status.success(), "{output:?}");
    }
    let [one, other] = ["one.gguf", "other.gguf"].map(|name| Gguf::open(path(name)).unwrap());
    assert_eq!(one.tensors().len(), other.tensors().len());
    for tensor in one.tensors() {
        let same = other.tensor(tensor.name()).unwrap();
        assert_eq!(tensor.element_type(), same.element_type());
        assert_eq!(tensor.dimensions(), same.dimensions());
        assert!(one.tensor_bytes(tensor).unwrap() == other.tensor_bytes(same).unwrap());
    }
    fs::write(path("config.json"), r#"{"architectures": ["BertModel"]}"#).unwrap();
    let refused = run(&["quantize", ".", "two.gguf", "f16"], folder.path());
    assert_eq!(refused.status.code(), Some(1));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        message.contains(".: config.json: the architecture \"BertModel\""),
        "{message}"
    );
    assert!(!path("two.gguf").exists());
}
