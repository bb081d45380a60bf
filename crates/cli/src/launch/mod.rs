//! One launch of a kernel, with arguments from the command line.

mod values;

use std::fs;

use metal_bridge::software::{Kernel, SourceCheck};
use metal_bridge::{ComputePipeline, DispatchType, FunctionConstantValues, Size, StorageMode};

use self::values::{Constant, bytes_of};
use crate::failure::Failure;
use crate::files;

#[derive(clap::Args)]
pub struct Launch {
    /// Launch that many threads
    #[arg(long, value_name = "X[,Y[,Z]]", requires = "threadgroup", value_parser = parse_size)]
    grid: Option<Size>,

    /// In threadgroups of that many
    #[arg(long, value_name = "X[,Y[,Z]]", requires = "grid", value_parser = parse_size)]
    threadgroup: Option<Size>,

    /// The kernel to launch; needed if there are several
    #[arg(long, value_name = "NAME", requires = "grid")]
    kernel: Option<String>,

    /// Bind a buffer: BYTES that nothing has written, zeros:BYTES, TYPE:VALUE,... (uint:1,2,3) or @FILE
    #[arg(long, value_name = "INDEX=CONTENTS", requires = "grid", value_parser = parse_buffer)]
    buffer: Vec<(usize, Contents)>,

    /// Give an argument threadgroup memory
    #[arg(long, value_name = "INDEX=BYTES", requires = "grid", value_parser = parse_threadgroup_memory)]
    threadgroup_memory: Vec<(usize, usize)>,

    /// Give a function constant a value
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::parse_constant)]
    constant: Vec<Constant>,
}

/// What a buffer has in it.
#[derive(Clone)]
enum Contents {
    /// This many bytes that nothing has written.
    Unwritten(usize),
    /// This many zeros.
    Zeros(usize),
    Written(Vec<u8>),
}

impl Launch {
    /// The kernel to launch; `None` without a grid.
    pub fn kernel<'a>(&self, kernels: &'a [Kernel]) -> Result<Option<&'a Kernel>, Failure> {
        if self.grid.is_none() {
            return Ok(None);
        }
        let names = || {
            let names: Vec<_> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            names.join(", ")
        };
        match (&self.kernel, kernels) {
            (None, [only]) => Ok(Some(only)),
            (None, []) => Err(Failure::new("there is no kernel to launch")),
            (None, _) => Err(Failure::new(format!(
                "the source has several kernels: choose one with --kernel: {}",
                names()
            ))),
            (Some(name), _) => match kernels.iter().find(|kernel| kernel.name == *name) {
                Some(kernel) => Ok(Some(kernel)),
                None => Err(Failure::new(format!(
                    "'{name}' is not a kernel of the source, which has {}",
                    names()
                ))),
            },
        }
    }

    /// The values of the source's function constants.
    pub fn constant_values(&self, check: &SourceCheck) -> Result<FunctionConstantValues, Failure> {
        values::constant_values(&self.constant, &check.function_constants)
    }

    /// Whether a constant that needs a value has none.
    pub fn lacks_constants(&self, check: &SourceCheck) -> bool {
        let mut all = check.function_constants.iter();
        all.any(|constant| {
            constant.required && !self.constant.iter().any(|given| given.is_for(constant))
        })
    }

    /// Launches the kernel once, and waits for it.
    pub fn run(&self, pipeline: &ComputePipeline) -> metal_bridge::Result<()> {
        let (Some(grid), Some(threadgroup)) = (self.grid, self.threadgroup) else {
            return Ok(());
        };
        let device = pipeline.device();
        let queue = device.new_command_queue()?;
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
        encoder.set_compute_pipeline_state(pipeline)?;
        for (index, contents) in &self.buffer {
            let buffer = match contents {
                Contents::Unwritten(length) => device.new_buffer(*length, StorageMode::Shared)?,
                Contents::Zeros(length) => {
                    let buffer = device.new_buffer(*length, StorageMode::Shared)?;
                    buffer.wait_write::<u8>()?.fill(0);
                    buffer
                }
                Contents::Written(bytes) => {
                    device.new_buffer_with_data(bytes, StorageMode::Shared)?
                }
            };
            encoder.set_buffer(&buffer, 0, *index)?;
        }
        for (index, length) in &self.threadgroup_memory {
            encoder.set_threadgroup_memory_length(*length, *index)?;
        }
        // SAFETY: the kernel may touch only the buffers made here, and the bounds checks catch accesses outside of
        // them. If the user has chosen other checks, the user answers for what the kernel does to this process.
        unsafe { encoder.dispatch_threads(grid, threadgroup)? };
        encoder.end_encoding()?;
        commands.commit()?.wait()
    }
}

fn parse_size(text: &str) -> Result<Size, String> {
    let wrong = || format!("\"{text}\" is not one to three numbers with commas, none of them 0");
    let numbers: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
    match numbers.map_err(|_| wrong())?[..] {
        [0, ..] | [_, 0, ..] | [_, _, 0] => Err(wrong()),
        [width] => Ok(Size::new(width, 1, 1)),
        [width, height] => Ok(Size::new(width, height, 1)),
        [width, height, depth] => Ok(Size::new(width, height, depth)),
        _ => Err(wrong()),
    }
}

/// The index before the `=`, and the text behind it.
fn parse_indexed(text: &str) -> Result<(usize, &str), String> {
    let (index, rest) = text
        .split_once('=')
        .ok_or_else(|| format!("\"{text}\" has no INDEX= before it"))?;
    let index = index.parse();
    Ok((
        index.map_err(|_| format!("\"{text}\" does not begin with an index"))?,
        rest,
    ))
}

fn parse_length(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("\"{text}\" must be a number of bytes, 1 or more")),
        Ok(length) => Ok(length),
    }
}

fn parse_buffer(text: &str) -> Result<(usize, Contents), String> {
    let (index, contents) = parse_indexed(text)?;
    let bytes = if let Some(path) = contents.strip_prefix('@') {
        read_buffer(path)?
    } else {
        match contents.split_once(':') {
            None => return Ok((index, Contents::Unwritten(parse_length(contents)?))),
            Some(("zeros", length)) => return Ok((index, Contents::Zeros(parse_length(length)?))),
            Some((name, values)) => bytes_of(name, values)?,
        }
    };
    if bytes.is_empty() {
        return Err(format!(
            "\"{contents}\" is empty, but a buffer needs at least one byte"
        ));
    }
    Ok((index, Contents::Written(bytes)))
}

fn read_buffer(path: &str) -> Result<Vec<u8>, String> {
    let in_file = |error| format!("{path}: {error}");
    let file = fs::metadata(path).map_err(in_file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if file.file_type().is_char_device() {
            return Err(format!(
                "{path} is a device, whose contents may have no end"
            ));
        }
    }
    // A stream has no length, and may have no end.
    files::read(path, file.len().max(files::COLLECTED)).map_err(in_file)
}

fn parse_threadgroup_memory(text: &str) -> Result<(usize, usize), String> {
    let (index, length) = parse_indexed(text)?;
    Ok((index, parse_length(length)?))
}
