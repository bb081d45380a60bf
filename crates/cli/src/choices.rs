//! Options that several subcommands share: devices, a model's file, a session, how tokens are chosen.

use std::hash::{BuildHasher, RandomState};
use std::num::{ParseFloatError, ParseIntError};
use std::path::{self, PathBuf};

use metal_bridge::Device;
use metal_bridge::ops::{self, KvElement};
use metal_bridge_llama::sampling::{Sampler, Sampling};
use metal_bridge_llama::{Model, SessionOptions};

use super::failure::Failure;
use super::{files, loading};

/// Which device to run on.
#[derive(clap::Args)]
pub struct DeviceChoice {
    /// Index of the Metal device, as `info` lists them; the system's default otherwise
    #[arg(long, value_name = "INDEX")]
    pub device: Option<usize>,
}

impl DeviceChoice {
    pub fn open(&self) -> metal_bridge::Result<Device> {
        self.device.map_or_else(Device::system_default, Device::at)
    }
}

/// Which devices a model runs on.
#[derive(clap::Args)]
pub struct DevicesChoice {
    #[command(flatten)]
    device: DeviceChoice,
    /// Indices of several devices, as in 0,1: the model's layers are split among them by their memory, in this order
    #[arg(
        long,
        value_name = "INDICES",
        value_delimiter = ',',
        conflicts_with = "device"
    )]
    devices: Vec<usize>,
}

impl DevicesChoice {
    pub fn open(&self) -> metal_bridge::Result<Vec<Device>> {
        match self.devices[..] {
            [] => Ok(vec![self.device.open()?]),
            _ => self.devices.iter().copied().map(Device::at).collect(),
        }
    }
}

/// Which file holds the model, and which devices it runs on.
#[derive(clap::Args)]
pub struct ModelChoice {
    /// The model: a GGUF file, or a directory with config.json, safetensors files and tokenizer.json
    #[arg(short, long, value_name = "PATH")]
    model: PathBuf,
    #[command(flatten)]
    devices: DevicesChoice,
}

impl ModelChoice {
    pub fn load(&self) -> Result<Model, Failure> {
        Ok(loading::load(&self.devices.open()?, &self.model)?)
    }

    /// The name of the model's file, without its extension, or that of its directory.
    pub fn name(&self) -> String {
        // `.` has the name of the folder that it stands for.
        let whole = path::absolute(&self.model).unwrap_or_else(|_| self.model.clone());
        let name = match whole.is_dir() {
            true => whole.file_name(),
            false => whole.file_stem(),
        };
        name.unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Which template makes texts of chats.
#[derive(clap::Args)]
pub struct TemplateChoice {
    /// A chat template in Jinja2's language, instead of the model's own
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
}

impl TemplateChoice {
    /// What the file holds, if one is named.
    pub fn read(&self) -> Result<Option<String>, Failure> {
        let source = self.template.as_ref().map(|path| {
            let read = files::read_text(path, files::WRITTEN);
            read.map_err(|error| Failure::new(format!("{}: {error}", path.display())))
        });
        source.transpose()
    }
}

/// What a session has room for, and how it works.
#[derive(clap::Args)]
pub struct SessionChoice {
    /// Most tokens of prompt and text together; otherwise the model's context, at most 4096
    #[arg(short, long, value_name = "COUNT")]
    context: Option<usize>,
    /// Guess up to this many next tokens by looking up what came after the same words before, and keep those that the model would have
    /// chosen: sooner for texts that repeat much of their prompt
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=64))]
    draft_tokens: u8,
    #[command(flatten)]
    decoding: DecodingChoice,
}

/// How a session keeps and decodes tokens.
#[derive(Clone, Copy, clap::Args)]
pub struct DecodingChoice {
    /// How the keys and values of the text are kept
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    pub cache: Cache,
    /// What quantized weights are multiplied by
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    pub activations: Activations,
    /// Record the dispatches of a token once and replay them: less work for the CPU, the same text
    #[arg(long)]
    pub replay: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Cache {
    /// 32-bit floats
    F32,
    /// 16-bit floats: half the memory, rounded
    F16,
    /// Blocks of 32 bytes with a scale: a quarter of the memory, rounded more; for heads of whole blocks
    #[value(name = "q8_0")]
    Q8_0,
}

impl Cache {
    /// As in llama-bench.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Q8_0 => "q8_0",
        }
    }

    pub fn element(self) -> KvElement {
        match self {
            Self::F32 => KvElement::F32,
            Self::F16 => KvElement::F16,
            Self::Q8_0 => KvElement::Q8_0,
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Activations {
    /// Activations as they are
    F32,
    /// Activations rounded to 8 bits in blocks of 32: products of whole numbers, at a cost in accuracy
    Int8,
}

impl Activations {
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
        }
    }

    pub fn of_session(self) -> ops::Activations {
        match self {
            Self::F32 => ops::Activations::F32,
            Self::Int8 => ops::Activations::Int8,
        }
    }
}

impl SessionChoice {
    pub fn options(&self) -> SessionOptions {
        SessionOptions {
            draft_tokens: self.draft_tokens.into(),
            ..self.decoding.options(self.context)
        }
    }
}

impl DecodingChoice {
    /// Of a session with room for `context` tokens; for none, as [`SessionOptions`] say.
    pub fn options(&self, context: Option<usize>) -> SessionOptions {
        SessionOptions {
            context,
            cache_element: self.cache.element(),
            activations: self.activations.of_session(),
            replay: self.replay,
            ..SessionOptions::default()
        }
    }
}

/// How the next token is chosen.
#[derive(Clone, clap::Args)]
pub struct SamplingChoice {
    /// 0 always takes the likeliest token; higher is more surprising
    #[arg(
        short,
        long,
        value_name = "NUMBER",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        value_parser = setting(|sampling, number| sampling.temperature = number)
    )]
    temperature: f32,
    /// Draw from this many of the likeliest tokens; 0 for all
    #[arg(long, value_name = "COUNT", default_value_t = 40)]
    top_k: usize,
    /// Draw from the likeliest tokens that together have this probability
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0.95,
        allow_negative_numbers = true,
        value_parser = setting(|sampling, number| sampling.top_p = number)
    )]
    top_p: f32,
    /// Draw from the tokens that have at least this part of the likeliest one's probability; 0 for all
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        value_parser = setting(|sampling, number| sampling.min_p = number)
    )]
    min_p: f32,
    /// Divides positive logits of the last tokens, and multiplies the others; 1 for no such penalty
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1.0,
        allow_negative_numbers = true,
        value_parser = setting(|sampling, number| sampling.repeat_penalty = number)
    )]
    repeat_penalty: f32,
    /// How many of the last tokens the repeat penalty is for, the prompt's too; -1 for all
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "64",
        allow_negative_numbers = true,
        value_parser = parse_repeat_last_n
    )]
    repeat_last_n: usize,
    /// Taken from a token's logit for each time that it is in the generated text: -2 to 2
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        value_parser = setting(|sampling, number| sampling.frequency_penalty = number)
    )]
    frequency_penalty: f32,
    /// Taken once from the logit of each token that is in the generated text: -2 to 2
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        value_parser = setting(|sampling, number| sampling.presence_penalty = number)
    )]
    presence_penalty: f32,
    /// Seed of the random numbers: equal seeds give equal texts; otherwise a random one
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

impl SamplingChoice {
    pub fn sampling(&self) -> Sampling {
        Sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repeat_penalty: self.repeat_penalty,
            repeat_last_n: self.repeat_last_n,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            logit_bias: Vec::new(),
            constraint: None,
            seed: self.seed.unwrap_or_else(|| RandomState::new().hash_one(0)),
        }
    }
}

/// A count of tokens, or -1 for all.
fn parse_repeat_last_n(text: &str) -> Result<usize, String> {
    match text {
        "-1" => Ok(usize::MAX),
        _ => text
            .parse()
            .map_err(|error: ParseIntError| error.to_string()),
    }
}

/// Parses the number of a setting, if one can sample with it.
fn setting(
    set: fn(&mut Sampling, f32),
) -> impl Fn(&str) -> Result<f32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text
            .parse()
            .map_err(|error: ParseFloatError| error.to_string())?;
        let mut sampling = Sampling::default();
        set(&mut sampling, number);
        Sampler::new(sampling).map_err(|error| error.to_string())?;
        Ok(number)
    }
}
