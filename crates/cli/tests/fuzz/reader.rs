//! The process that reads GGUF files, with its memory counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use metal_bridge::Device;
use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::tokenizer::Tokenizer;
use metal_bridge_llama::{GenerateOptions, Model, ModelConfig, Session, SessionOptions};

use crate::limits;

/// The argument that makes the program such a process.
pub const ARGUMENT: &str = "read-gguf";
/// The answer if nothing is wrong: a model or a typed error, and no more memory than allowed.
pub const FINE: &str = "fine";

/// Counts live bytes and their peak.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; the counts do not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Answers each path on standard input with a line on standard output.
pub fn serve() -> ExitCode {
    static PANIC: Mutex<String> = Mutex::new(String::new());
    panic::set_hook(Box::new(|panic| {
        *PANIC
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()) = panic.to_string();
    }));
    let device = Device::system_default().ok();
    for path in io::stdin().lines() {
        let Ok(path) = path else {
            return ExitCode::FAILURE;
        };
        if limits::restart().is_err() {
            return ExitCode::FAILURE;
        }
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            read(Path::new(&path))?;
            device
                .as_ref()
                .map_or(Ok(()), |device| run(device, Path::new(&path)))
        }));
        let answer = match outcome {
            Ok(Ok(())) => FINE.to_owned(),
            Ok(Err(failure)) => failure,
            Err(_) => PANIC
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .clone(),
        };
        println!("{}", answer.replace('\n', " "));
        if io::stdout().flush().is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Does everything with a file that needs no GPU, and checks how much memory that takes.
fn read(path: &Path) -> Result<(), String> {
    /// The memory that any run needs: the reader's buffer, a tokenizer's word patterns.
    const FIXED: u64 = 1 << 20;
    /// The smallest metadata entry has 13 bytes, and takes a few dozen in memory; lists double as they grow.
    const PER_BYTE: u64 = 16;
    /// The most memory for any file: the limits on headers and vocabularies bound it.
    const MOST: u64 = 2 << 30;
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    parse(path);
    let allocated = (PEAK.load(Relaxed) - before) as u64;
    let limit = size
        .saturating_mul(PER_BYTE)
        .saturating_add(FIXED)
        .min(MOST);
    if allocated > limit {
        return Err(format!("{allocated} bytes allocated for a file of {size}"));
    }
    Ok(())
}

/// Parses the file. A value and a typed error are both right.
fn parse(path: &Path) {
    let Ok(gguf) = Gguf::open(path) else {
        return;
    };
    for tensor in gguf.tensors() {
        let _ = tensor.element_count();
    }
    let _ = ModelConfig::from_gguf(&gguf);
    let Ok(tokenizer) = Tokenizer::from_gguf(&gguf) else {
        return;
    };
    for text in [
        "Once upon a time, ünïcode 12345 <s>\n\n  <|eot_id|>",
        "",
        "\u{0}\u{10ffff}\u{2581} ",
    ] {
        let Ok(tokens) = tokenizer.encode(text) else {
            continue;
        };
        tokenizer.decode(&tokens);
    }
}

/// Loads the model, and decodes tokens if the file is small.
fn run(device: &Device, path: &Path) -> Result<(), String> {
    /// The largest file to decode with: each token computes with every weight.
    const MOST: u64 = 16 << 20;
    let Ok(model) = Model::load(device, path) else {
        return Ok(());
    };
    if model.file_size() > MOST {
        return Ok(());
    }
    let options = SessionOptions {
        context: Some(model.config().context.min(16)),
        batch: 4,
        ..SessionOptions::default()
    };
    let Ok(mut session) = Session::with_options(&model, &options) else {
        return Ok(());
    };
    let options = GenerateOptions {
        max_tokens: Some(2),
        ..GenerateOptions::default()
    };
    let _ = session.generate_tokens(
        &[0, 1, 2],
        &options,
        |_| std::ops::ControlFlow::Continue(()),
    );
    session.truncate(0);
    let last = model.config().vocabulary as u32;
    match session.feed(&[last]) {
        Err(_) => Ok(()),
        Ok(()) => Err(format!("token {last} was taken, which there is not")),
    }
}
