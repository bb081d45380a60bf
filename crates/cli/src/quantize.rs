//! `metal-bridge quantize`: a model's matrices in a smaller format.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use metal_bridge::ops::WeightType;
use metal_bridge_llama::open;
use metal_bridge_llama::quantize::{FORMATS, QuantizeError, quantize};

use super::failure::Failure;
use super::format;

#[derive(clap::Args)]
pub struct Arguments {
    /// The model: a GGUF file, or a directory as other commands take it, whose matrices are F32, F16 or BF16
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// The GGUF file to write
    #[arg(value_name = "OUTPUT")]
    output: PathBuf,
    /// The format of the matrices; vectors stay as they are
    #[arg(ignore_case = true, value_parser = format::one_of(FORMATS))]
    format: WeightType,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let at = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::new(format_args!("{}: {error}", path.display()))
    };
    let input = open(&arguments.input)?;
    let output = &arguments.output;
    let target = behind_links(output);
    let replaced = match fs::metadata(&target) {
        Ok(file) if file.is_file() => Some(file),
        Ok(_) => return Err(at(output, &"not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(at(output, &error)),
    };
    // A file beside the target takes its name when it is whole: it may be the input, and a full disk spoils neither.
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Nobody may read the file while it is written who may not read the one that it replaces.
    let mode = (replaced.as_ref()).map_or(0o666, |file| file.permissions().mode() & 0o600);
    let mut file = tempfile::Builder::new()
        .prefix(".quantize-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(|error| at(output, &error))?;
    let mut buffered = BufWriter::with_capacity(1 << 20, file.as_file_mut());
    let result =
        quantize(&input, arguments.format, &mut buffered).map_err(|error| match error {
            QuantizeError::Io(_) => at(output, &error),
            _ => at(&arguments.input, &error),
        })?;
    drop(buffered);
    // A model that only its owner may read stays one.
    if let Some(replaced) = replaced {
        let permissions = replaced.permissions();
        (file.as_file().set_permissions(permissions)).map_err(|error| at(output, &error))?;
    }
    file.persist(&target)
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
        arguments.format.name(),
        size,
        input.file_size()
    )?;
    for name in &result.kept {
        let tensor = input.tensor(name).map_err(Failure::new)?;
        writeln!(
            out,
            "{} stays {}",
            name.escape_debug(),
            tensor.element_type()
        )?;
    }
    Ok(())
}

/// What a chain of links leads to, which need not exist: it is replaced, and the links stay. A circle leads to one of its links.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // Linux follows no more.
    for _ in 0..40 {
        let Ok(to) = fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    path
}
