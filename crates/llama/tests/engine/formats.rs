//! Every architecture in every format of weights, and from Hugging Face's directories: `docs/engine.md` has the table.
//! `METAL_BRIDGE_WRITE_DOCS=1` writes it anew.

use std::path::Path;

use crate::architectures::path;
use crate::directories;
use crate::reference::Reference;
use crate::support::{device, relative_l2, tokens};
use metal_bridge::ops::{KvElement, WeightType};
use metal_bridge_llama::gguf::{Gguf, TensorType};
use metal_bridge_llama::{Model, Session, SessionOptions, hugging_face};
use metal_bridge_workloads::{formats, wide};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

const PAGE: &str = "../../docs/engine.md";

/// The rows: what the table calls them, and the fixtures that they are made of.
const ROWS: [(&str, &str); 11] = [
    ("`llama`", "llama3"),
    ("`llama` with experts", "mixtral"),
    ("`qwen2`", "qwen2"),
    ("`qwen3`", "qwen3"),
    ("`qwen3moe`", "qwen3moe"),
    ("`gpt-oss`", "gpt-oss"),
    ("`smollm3`", "smollm3"),
    ("`granite`", "granite"),
    ("`phi3`", "phi3"),
    ("`gemma2`", "gemma2"),
    ("`gemma3`", "gemma3"),
];

/// Elements that directories may have.
const DIRECTORY_TYPES: [WeightType; 3] = [WeightType::F32, WeightType::F16, WeightType::BF16];

/// What logits may differ from the exact ones, relative to the length of their row.
const TOLERANCE: f64 = 1e-5;

/// Tokens of a prompt, whose products are of several rows, and of those that are fed alone after it.
const PROMPT: usize = 4;
const ALONE: usize = 1;

/// Whether the engine runs a model. One that it runs has the exact logits.
fn runs(what: &str, gguf: Gguf) -> bool {
    let Ok(model) = Model::from_gguf(&device(), &gguf) else {
        return false;
    };
    let options = SessionOptions {
        cache_element: KvElement::F32,
        ..SessionOptions::default()
    };
    let mut session = Session::with_options(&model, &options).unwrap();
    let tokens = tokens(PROMPT + ALONE, model.config().vocabulary);
    let mut found = session.feed_with_logits(&tokens[..PROMPT]).unwrap();
    for &token in &tokens[PROMPT..] {
        session.feed(&[token]).unwrap();
        found.extend(session.logits().unwrap());
    }
    let expected = Reference::new(gguf).logits(&tokens);
    let found = found.chunks_exact(model.config().vocabulary);
    assert_eq!(found.len(), expected.len());
    for (position, (found, row)) in found.zip(&expected).enumerate() {
        let distance = relative_l2(found, row);
        assert!(
            distance < TOLERANCE,
            "{what}, position {position}: {distance:.2e} from the exact logits"
        );
    }
    true
}

fn table() -> String {
    let heads = WeightType::ALL
        .map(|kind| TensorType::of(kind).name())
        .join(" | ");
    let directory = DIRECTORY_TYPES.map(|kind| TensorType::of(kind).name());
    let mut table = format!("| architecture | {heads} |");
    table += &directory
        .map(|name| format!(" directory, {name} |"))
        .concat();
    let columns = 1 + WeightType::ALL.len() + DIRECTORY_TYPES.len();
    table += &format!("\n|{}\n", "---|".repeat(columns));
    let folder = tempfile::tempdir().unwrap();
    for (name, fixture) in ROWS {
        table += &format!("| {name} |");
        let gguf = Gguf::open(path(fixture, "gguf")).unwrap();
        for kind in WeightType::ALL {
            let file = folder.path().join("model.gguf");
            wide::write(&gguf, kind, &file).unwrap();
            let gguf = Gguf::open(file).unwrap();
            table += mark(runs(&format!("{fixture}, {kind:?}"), gguf));
        }
        for kind in DIRECTORY_TYPES {
            let copy = folder.path().join(format!("{fixture}-{kind:?}"));
            let has_directory = directories::ALL.contains(&fixture);
            table += mark(
                has_directory && {
                    convert_directory(&directories::path(fixture), kind, &copy);
                    let gguf = hugging_face::open(&copy).unwrap();
                    runs(&format!("{fixture}'s directory, {kind:?}"), gguf)
                },
            );
        }
        table += "\n";
    }
    table
}

fn mark(is_there: bool) -> &'static str {
    if is_there { " x |" } else { " |" }
}

/// A copy of a directory with its tensors in another type.
fn convert_directory(from: &Path, kind: WeightType, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let source = entry.unwrap().path();
        let target = to.join(source.file_name().unwrap());
        if source.extension().is_some_and(|it| it == "safetensors") {
            convert_safetensors(&source, kind, &target);
        } else {
            std::fs::copy(source, target).unwrap();
        }
    }
}

/// Writes the tensors of a file in another type.
pub fn convert_safetensors(from: &Path, kind: WeightType, to: &Path) {
    let bytes = std::fs::read(from).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let of = match kind {
        WeightType::F16 => Dtype::F16,
        WeightType::BF16 => Dtype::BF16,
        _ => Dtype::F32,
    };
    let converted = tensors.iter().map(|(name, view)| {
        let floats = formats::decode(WeightType::F32, view.data());
        let bytes: Vec<u8> = match kind {
            WeightType::F16 => each(&floats, |x| half::f16::from_f64(x).to_le_bytes()),
            WeightType::BF16 => each(&floats, |x| half::bf16::from_f64(x).to_le_bytes()),
            _ => view.data().to_vec(),
        };
        (name.to_owned(), view.shape().to_vec(), bytes)
    });
    let converted: Vec<_> = converted.collect();
    let views = (converted.iter())
        .map(|(name, shape, bytes)| (name, TensorView::new(of, shape.clone(), bytes).unwrap()));
    safetensors::serialize_to_file(views, None, to).unwrap();
}

fn each(floats: &[f64], convert: fn(f64) -> [u8; 2]) -> Vec<u8> {
    floats.iter().flat_map(|&float| convert(float)).collect()
}

#[test]
fn the_page_says_which_architectures_run_in_which_formats() {
    let new = table();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let head = new.lines().next().unwrap();
    let start = page
        .find("| architecture | F32")
        .unwrap_or_else(|| panic!("{PAGE} has no line {head}"));
    let length = page[start..].find("\n\n").unwrap() + 1;
    let old = &page[start..][..length];
    if std::env::var_os("METAL_BRIDGE_WRITE_DOCS").is_some() {
        std::fs::write(&path, page.replace(old, &new)).unwrap();
        return;
    }
    for (old, new) in old.lines().zip(new.lines()) {
        assert_eq!(old, new, "{PAGE}: METAL_BRIDGE_WRITE_DOCS=1 writes it");
    }
    assert_eq!(old, new, "{PAGE}: METAL_BRIDGE_WRITE_DOCS=1 writes it");
}
