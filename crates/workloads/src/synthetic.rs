//! Models of any shape with random weights, for benchmarks and tests. The text of such a model is noise, but it takes
//! the time and memory of a trained one.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use metal_bridge_llama::gguf::{Array, GgufWriter, StringArray, TensorInfo, TensorType, Value};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{RngCore, SeedableRng};

use crate::formats;

/// Shape of a model in the Llama architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticModel {
    /// The number of layers.
    pub layers: u32,
    /// Elements of a token's hidden state.
    pub width: u32,
    /// Query heads.
    pub heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Elements of a head.
    pub head_dim: u32,
    /// Elements of the feed-forward layer.
    pub feed_forward: u32,
    /// Tokens in the vocabulary, at least 320.
    pub vocabulary: u32,
    /// The most tokens in a text.
    pub context: u32,
    /// Base of the rotary embedding's frequencies.
    pub rope_base: f32,
    /// Writes `rope_freqs.weight` with factors from 1 to 8, as Llama 3.1 and later have.
    pub rope_factors: bool,
    /// Divides positions by this, as models with a linearly stretched context do.
    pub rope_scale: Option<f32>,
    /// Leaves `output.weight` out, so that the embeddings serve as output weights.
    pub tied_output: bool,
    /// Types of the matrices, which take them in turn; F32 if there are none. Vectors are F32.
    pub matrix_types: Vec<TensorType>,
    /// Kind of the vocabulary.
    pub vocabulary_kind: VocabularyKind,
}

/// Kind of a synthetic model's vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VocabularyKind {
    /// SentencePiece with byte tokens, as Llama 1 and 2 have.
    SentencePiece,
    /// Byte-level byte pairs with Llama 3's pre-tokenizer.
    BytePair,
}

impl SyntheticModel {
    /// The shape of TinyLlama 1.1B.
    pub fn tiny_llama() -> Self {
        Self {
            layers: 22,
            width: 2048,
            heads: 32,
            kv_heads: 4,
            head_dim: 64,
            feed_forward: 5632,
            vocabulary: 32_000,
            context: 2048,
            rope_base: 10_000.0,
            rope_factors: false,
            rope_scale: None,
            tied_output: false,
            matrix_types: vec![TensorType::Q8_0],
            vocabulary_kind: VocabularyKind::SentencePiece,
        }
    }

    /// Writes the model as a GGUF file; equal seeds give equal files.
    ///
    /// # Errors
    ///
    /// What the file system reports; [`io::ErrorKind::InvalidInput`] if rows are not whole blocks of the matrix type
    /// or the kernels do not read the type.
    pub fn write(&self, path: impl AsRef<Path>, seed: u64) -> io::Result<()> {
        let writer = self.header()?;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        writer.write(&mut file, |tensor, out| fill(tensor, &mut random, out))?;
        file.flush()
    }

    fn header(&self) -> io::Result<GgufWriter> {
        let mut writer = GgufWriter::new();
        let mut set = |key: &str, value| {
            writer.metadata(key, value);
        };
        set("general.architecture", Value::String("llama".into()));
        set("general.name", Value::String("synthetic".into()));
        set("llama.block_count", Value::U32(self.layers));
        set("llama.context_length", Value::U32(self.context));
        set("llama.embedding_length", Value::U32(self.width));
        set("llama.feed_forward_length", Value::U32(self.feed_forward));
        set("llama.attention.head_count", Value::U32(self.heads));
        set("llama.attention.head_count_kv", Value::U32(self.kv_heads));
        set("llama.attention.key_length", Value::U32(self.head_dim));
        set("llama.attention.value_length", Value::U32(self.head_dim));
        set("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5));
        set("llama.rope.dimension_count", Value::U32(self.head_dim));
        set("llama.rope.freq_base", Value::F32(self.rope_base));
        if let Some(scale) = self.rope_scale {
            set("llama.rope.scaling.type", Value::String("linear".into()));
            set("llama.rope.scaling.factor", Value::F32(scale));
        }
        set("llama.vocab_size", Value::U32(self.vocabulary));
        match self.vocabulary_kind {
            VocabularyKind::SentencePiece => sentencepiece(&mut writer, self.vocabulary),
            VocabularyKind::BytePair => byte_pair(&mut writer, self.vocabulary),
        }
        self.declare_tensors(&mut writer)?;
        Ok(writer)
    }

    fn declare_tensors(&self, writer: &mut GgufWriter) -> io::Result<()> {
        let [width, vocabulary, feed_forward] =
            [self.width, self.vocabulary, self.feed_forward].map(u64::from);
        let queries = u64::from(self.heads) * u64::from(self.head_dim);
        let keys = u64::from(self.kv_heads) * u64::from(self.head_dim);
        let mut types = self.matrix_types.iter().cycle();
        let mut matrix = || *types.next().unwrap_or(&TensorType::F32);
        writer.tensor("token_embd.weight", &[width, vocabulary], matrix())?;
        if self.rope_factors {
            writer.tensor(
                "rope_freqs.weight",
                &[u64::from(self.head_dim / 2)],
                TensorType::F32,
            )?;
        }
        for layer in 0..self.layers {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            writer.tensor(&name("attn_norm"), &[width], TensorType::F32)?;
            writer.tensor(&name("attn_q"), &[width, queries], matrix())?;
            writer.tensor(&name("attn_k"), &[width, keys], matrix())?;
            writer.tensor(&name("attn_v"), &[width, keys], matrix())?;
            writer.tensor(&name("attn_output"), &[queries, width], matrix())?;
            writer.tensor(&name("ffn_norm"), &[width], TensorType::F32)?;
            writer.tensor(&name("ffn_gate"), &[width, feed_forward], matrix())?;
            writer.tensor(&name("ffn_up"), &[width, feed_forward], matrix())?;
            writer.tensor(&name("ffn_down"), &[feed_forward, width], matrix())?;
        }
        writer.tensor("output_norm.weight", &[width], TensorType::F32)?;
        if !self.tied_output {
            writer.tensor("output.weight", &[width, vocabulary], matrix())?;
        }
        Ok(())
    }
}

fn sentencepiece(writer: &mut GgufWriter, vocabulary: u32) {
    const CONTROL: [(&str, i32); 3] = [("<unk>", 2), ("<s>", 3), ("</s>", 3)];
    let mut texts: Vec<String> = CONTROL.iter().map(|(text, _)| (*text).to_owned()).collect();
    let mut kinds: Vec<i32> = CONTROL.iter().map(|&(_, kind)| kind).collect();
    texts.extend((0..=255u8).map(|byte| format!("<0x{byte:02X}>")));
    kinds.resize(texts.len(), 6);
    texts.extend((texts.len()..vocabulary as usize).map(|id| format!("\u{2581}w{id}")));
    kinds.resize(texts.len(), 1);
    let scores = (0..texts.len()).map(|id| -(id as f32)).collect();
    writer
        .metadata("tokenizer.ggml.model", Value::String("llama".into()))
        .metadata(
            "tokenizer.ggml.tokens",
            Value::Array(Array::String(texts.iter().collect())),
        )
        .metadata("tokenizer.ggml.scores", Value::Array(Array::F32(scores)))
        .metadata("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds)))
        .metadata("tokenizer.ggml.bos_token_id", Value::U32(1))
        .metadata("tokenizer.ggml.eos_token_id", Value::U32(2));
}

fn byte_pair(writer: &mut GgufWriter, vocabulary: u32) {
    const CONTROL: [&str; 3] = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"];
    let characters: Vec<String> = (0..=255)
        .map(|byte| metal_bridge_llama::tokenizer::byte_to_char(byte).to_string())
        .collect();
    let mut texts = characters.clone();
    let mut merges = StringArray::default();
    let wanted = (vocabulary as usize).saturating_sub(texts.len() + CONTROL.len());
    let letters = || ('a'..='z').chain('A'..='Z');
    let pairs = letters().flat_map(|left| letters().map(move |right| (left, right)));
    for (left, right) in pairs.take(wanted) {
        merges.push(&format!("{left} {right}"));
        texts.push(format!("{left}{right}"));
    }
    let mut kinds = vec![1; texts.len()];
    let bos = texts.len() as u32;
    texts.extend(CONTROL.map(str::to_owned));
    texts.extend((texts.len()..vocabulary as usize).map(|id| format!("<|reserved_{id}|>")));
    kinds.resize(texts.len(), 3);
    writer
        .metadata("tokenizer.ggml.model", Value::String("gpt2".into()))
        .metadata("tokenizer.ggml.pre", Value::String("llama-bpe".into()))
        .metadata(
            "tokenizer.ggml.tokens",
            Value::Array(Array::String(texts.iter().collect())),
        )
        .metadata("tokenizer.ggml.merges", Value::Array(Array::String(merges)))
        .metadata("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds)))
        .metadata("tokenizer.ggml.bos_token_id", Value::U32(bos))
        .metadata("tokenizer.ggml.eos_token_id", Value::U32(bos + 1))
        .metadata("tokenizer.ggml.eot_token_id", Value::U32(bos + 2));
}

/// Writes random weights that keep activations of the order of one: a standard deviation of one over the square root
/// of the columns in matrices, about one in norms.
fn fill(tensor: &TensorInfo, random: &mut Pcg64Mcg, out: &mut dyn Write) -> io::Result<()> {
    let columns = tensor
        .dimensions()
        .first()
        .map_or(1.0, |&columns| columns as f32);
    let deviation = columns.sqrt().recip();
    let count = tensor.element_count();
    let mut floats = |convert: &dyn Fn(f32) -> f32| {
        (0..count).try_for_each(|_| out.write_all(&convert(uniform(random)).to_le_bytes()))
    };
    let Some(kind) = tensor.element_type().weight_type() else {
        let reason = format!("no random weights of type {}", tensor.element_type());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    };
    if tensor.name() == "rope_freqs.weight" {
        return floats(&|u| 4.5 + 3.5 * u);
    }
    if tensor.dimensions().len() == 1 {
        return floats(&|u| 1.0 + 0.1 * u);
    }
    // In parts of whole blocks: a tensor may be larger than memory has room for.
    const PART: u64 = 1 << 16;
    (0..count).step_by(PART as usize).try_for_each(|start| {
        let part = PART.min(count - start) as usize;
        out.write_all(&formats::random(kind, part, deviation, random))
    })
}

/// A number from -1 to 1.
fn uniform(random: &mut Pcg64Mcg) -> f32 {
    random.next_u32() as f32 / (u32::MAX / 2) as f32 - 1.0
}
