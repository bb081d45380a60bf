//! `metal-bridge quantize`: a model's matrices in a smaller format.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::quantize::quantize;

use super::failure::Failure;

#[derive(clap::Args)]
pub struct Arguments {
    /// The model: a GGUF file whose matrices are F32, F16 or BF16
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUTPUT")]
    output: PathBuf,
    /// The format of the matrices; vectors stay as they are
    #[arg(value_enum, ignore_case = true)]
    format: Format,
}

/// The formats that need no calibration and no search.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Format {
    F16,
    Bf16,
    #[value(name = "q8_0")]
    Q8_0,
    #[value(name = "q4_0")]
    Q4_0,
    #[value(name = "q4_1")]
    Q4_1,
    #[value(name = "q5_0")]
    Q5_0,
    #[value(name = "q5_1")]
    Q5_1,
    Mxfp4,
}

impl Format {
    fn weights(self) -> WeightType {
        match self {
            Format::F16 => WeightType::F16,
            Format::Bf16 => WeightType::BF16,
            Format::Q8_0 => WeightType::Q8_0,
            Format::Q4_0 => WeightType::Q4_0,
            Format::Q4_1 => WeightType::Q4_1,
            Format::Q5_0 => WeightType::Q5_0,
            Format::Q5_1 => WeightType::Q5_1,
            Format::Mxfp4 => WeightType::MXFP4,
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let at = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::new(format_args!("{}: {error}", path.display()))
    };
    let input = Gguf::open(&arguments.input).map_err(|error| at(&arguments.input, &error))?;
    // A file beside the output takes its name when it is whole: the output may be the input, and a full disk spoils neither.
    let output = &arguments.output;
    let folder = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new()
        .prefix(".quantize-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(|error| at(output, &error))?;
    let mut buffered = BufWriter::with_capacity(1 << 20, file.as_file_mut());
    let result = quantize(&input, arguments.format.weights(), &mut buffered)
        .map_err(|error| at(&arguments.input, &error))?;
    drop(buffered);
    file.persist(output)
        .map_err(|error| at(output, &error.error))?;

    let size = fs::metadata(output)
        .map_err(|error| at(output, &error))?
        .len();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}: {} of {} tensors are {}, {} bytes instead of {}",
        output.display(),
        result.quantized,
        input.tensors().len(),
        arguments.format.weights().name(),
        size,
        input.file_size()
    )?;
    for name in &result.kept {
        let tensor = input.tensor(name).map_err(Failure::new)?;
        writeln!(out, "{name} stays {}", tensor.element_type())?;
    }
    Ok(())
}
