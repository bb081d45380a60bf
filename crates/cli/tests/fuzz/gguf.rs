//! GGUF files: models of odd shapes, with metadata that contradicts itself, with damaged bytes and with holes. A process of
//! its own reads each file, and decodes two tokens if it holds a model.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::{Array, Gguf, GgufWriter, TensorType, Value};
use metal_bridge_workloads::synthetic::{SyntheticModel, VocabularyKind};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::damage::{Damage, damages, numbers};
use crate::{limits, reader, search};

/// A file to be made.
#[derive(Clone, Debug)]
struct Case {
    origin: Origin,
    edits: Vec<Edit>,
    damages: Vec<Damage>,
    /// The length to which zeros extend the file; they take no space on the disk.
    length: Option<u64>,
}

/// What a file is made of.
#[derive(Clone, Debug)]
enum Origin {
    Llama(SyntheticModel),
    /// A fixture of the engine's tests, by its name: another architecture.
    Fixture(&'static str),
}

impl Origin {
    fn write(&self, path: &Path) -> io::Result<()> {
        match self {
            Origin::Llama(model) => model.write(path, 1),
            Origin::Fixture(name) => {
                let folder = concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/../llama/tests/data/architectures"
                );
                fs::copy(format!("{folder}/{name}.gguf"), path).map(drop)
            }
        }
    }
}

/// A change that leaves the file well formed.
#[derive(Clone, Debug)]
enum Edit {
    /// Gives a metadata entry another value.
    Set(Index, Value),
    /// Takes a metadata entry away.
    Remove(Index),
    /// Gives a tensor another type and shape.
    Reshape(Index, TensorType, Vec<u64>),
}

fn cases() -> impl Strategy<Value = Case> {
    let length = (20..43u32).prop_map(|bits| 1 << bits);
    (
        origins(),
        prop::collection::vec(edits(), 0..4),
        prop::collection::vec(damages(), 0..4),
        prop::option::weighted(0.2, length),
    )
        .prop_map(|(origin, edits, damages, length)| Case {
            origin,
            edits,
            damages,
            length,
        })
}

/// Windows, norms and another embedding in one; experts in the other.
fn origins() -> impl Strategy<Value = Origin> {
    prop_oneof![
        4 => models().prop_map(Origin::Llama),
        1 => select(&["gemma3", "qwen3moe"][..]).prop_map(Origin::Fixture),
    ]
}

/// Shapes that work and shapes that cannot, all of them small.
fn models() -> impl Strategy<Value = SyntheticModel> {
    let types = WeightType::ALL.map(TensorType::of);
    let sizes = (
        select(&[1u32, 2, 0][..]),
        select(&[32u32, 64, 96, 4, 33][..]),
        select(&[2u32, 1, 4, 3][..]),
        select(&[1u32, 2, 3][..]),
        select(&[16u32, 32, 64, 8, 15, 2][..]),
        select(&[32u32, 64, 7][..]),
        select(&[320u32, 512, 300, 1][..]),
        select(&[64u32, 16, 1, 0, 1 << 24, u32::MAX][..]),
    );
    let rope = (
        any::<bool>(),
        prop::option::of(select(&[2.0f32, 0.0, -1.0, f32::NAN, 1e-40][..])),
        any::<bool>(),
    );
    let vocabulary_kind = select(&[VocabularyKind::SentencePiece, VocabularyKind::BytePair][..]);
    (
        sizes,
        rope,
        prop::collection::vec(select(types.to_vec()), 1..3),
        vocabulary_kind,
    )
        .prop_map(
            |(sizes, (rope_factors, rope_scale, tied_output), matrix_types, vocabulary_kind)| {
                let (layers, width, heads, kv_heads, head_dim, feed_forward, vocabulary, context) =
                    sizes;
                SyntheticModel {
                    layers,
                    width,
                    heads,
                    kv_heads,
                    head_dim,
                    feed_forward,
                    vocabulary,
                    context,
                    rope_base: 10_000.0,
                    rope_factors,
                    rope_scale,
                    tied_output,
                    matrix_types,
                    vocabulary_kind,
                }
            },
        )
}

fn edits() -> impl Strategy<Value = Edit> {
    let shape = prop::collection::vec(prop_oneof![0..128u64, numbers()], 0..6);
    let types = (0..40u32).prop_filter_map("a type of GGUF's", TensorType::from_id);
    prop_oneof![
        6 => (any::<Index>(), values()).prop_map(|(at, value)| Edit::Set(at, value)),
        1 => any::<Index>().prop_map(Edit::Remove),
        1 => (any::<Index>(), types, shape).prop_map(|(at, kind, shape)| Edit::Reshape(at, kind, shape)),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let words = [
        "llama", "gpt2", "default", "qwen2", "tekken", "linear", "none", "yarn", "", " ", "a b",
        "\u{0}",
    ];
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1e-45,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let floats = select(floats.to_vec());
    let texts = prop::collection::vec(select(words.to_vec()), 0..4);
    prop_oneof![
        4 => numbers().prop_map(|number| Value::U32(number as u32)),
        2 => numbers().prop_map(Value::U64),
        1 => any::<i64>().prop_map(Value::I64),
        1 => any::<u8>().prop_map(Value::U8),
        2 => floats.clone().prop_map(Value::F32),
        1 => floats.clone().prop_map(|float| Value::F64(float.into())),
        1 => any::<bool>().prop_map(Value::Bool),
        2 => select(words.to_vec()).prop_map(|word| Value::String(word.into())),
        1 => prop::collection::vec(floats, 0..4).prop_map(|list| Value::Array(Array::F32(list))),
        1 => prop::collection::vec(any::<i32>(), 0..4).prop_map(|list| Value::Array(Array::I32(list))),
        1 => texts.prop_map(|list| Value::Array(Array::String(list.into_iter().collect()))),
    ]
}

impl Case {
    /// Writes the file; an error if the writer refuses the model.
    fn write(&self, path: &Path) -> io::Result<()> {
        self.origin.write(path)?;
        let mut bytes = fs::read(path)?;
        let gguf = Gguf::open(path).map_err(io::Error::other)?;
        if !self.edits.is_empty() {
            bytes = self.edited(&gguf)?;
        }
        let data = gguf.tensors().iter().map(|tensor| tensor.offset()).min();
        let header = data.map_or(bytes.len(), |start| start as usize);
        for damage in &self.damages {
            damage.inflict(&mut bytes, header);
        }
        fs::write(path, &bytes)?;
        if let Some(length) = self.length {
            File::options().write(true).open(path)?.set_len(length)?;
        }
        Ok(())
    }

    fn edited(&self, gguf: &Gguf) -> io::Result<Vec<u8>> {
        /// Tensors of more bytes than this are not written.
        const MOST: u64 = 1 << 20;
        let mut metadata: Vec<_> = gguf
            .metadata()
            .map(|(key, value)| (key, value.clone()))
            .collect();
        let all = gguf.tensors().iter();
        let mut tensors: Vec<_> = all
            .map(|tensor| (tensor, tensor.element_type(), tensor.dimensions().to_vec()))
            .collect();
        for edit in &self.edits {
            let entries = metadata.len();
            match edit {
                Edit::Set(at, value) => metadata[at.index(entries)].1 = value.clone(),
                Edit::Remove(at) => drop(metadata.remove(at.index(entries))),
                Edit::Reshape(at, kind, shape) => {
                    let tensor = &mut tensors[at.index(gguf.tensors().len())];
                    (tensor.1, tensor.2) = (*kind, shape.clone());
                }
            }
        }
        let mut writer = GgufWriter::new();
        for (key, value) in metadata {
            writer.metadata(key, value);
        }
        for (tensor, kind, shape) in tensors {
            writer.tensor(tensor.name(), &shape, kind)?;
        }
        let mut bytes = Vec::new();
        writer.write(&mut bytes, |tensor, out| {
            let mut data = gguf
                .tensor_bytes(gguf.tensor(tensor.name()).map_err(io::Error::other)?)
                .map_err(io::Error::other)?;
            if tensor.byte_len() > MOST {
                return Err(io::Error::other("too large to be written"));
            }
            data.resize(tensor.byte_len() as usize, 1);
            out.write_all(&data)
        })?;
        Ok(bytes)
    }
}

pub fn fuzz(time: Duration, seed: u64) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("model.gguf");
    let kept = kept();
    let process = RefCell::new(None);
    search(&cases(), time, seed, |case| {
        if case.write(&path).is_err() {
            return Ok(());
        }
        let mut process = process.borrow_mut();
        let reader = process.get_or_insert_with(Reader::start);
        let failure = match reader.read(&path) {
            Some(answer) if answer == reader::FINE => return Ok(()),
            Some(answer) => answer,
            None => {
                let status = reader.child.wait().map_err(|error| error.to_string())?;
                *process = None;
                limits::violent_end(status).unwrap_or_else(|| status.to_string())
            }
        };
        // The fuzzer makes a failing file smaller: the last one that fails is the smallest.
        fs::rename(&path, &kept)
            .or_else(|_| fs::copy(&path, &kept).map(drop))
            .map_err(|error| error.to_string())?;
        Err(format!("{failure}; the file is {}", kept.display()))
    })
}

/// Where a file that fails stays.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-failure.gguf")
}

/// A process that reads one file after the other.
struct Reader {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Reader {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .arg(reader::ARGUMENT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        limits::bound(&mut command);
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    /// The process's answer for the file; `None` if the process dies of it.
    fn read(&mut self, path: &Path) -> Option<String> {
        let questions = self.child.stdin.as_mut()?;
        writeln!(questions, "{}", path.display()).ok()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).ok()?;
        Some(answer.trim_end().to_owned()).filter(|answer| !answer.is_empty())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // The process ends when its standard input does.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
