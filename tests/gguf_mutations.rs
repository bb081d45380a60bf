//! Thousands of damaged GGUF files: none may panic, hang, or allocate what its size does not justify.
//!
//! The files are real ones with bytes changed, numbers made huge, pieces cut out, doubled and swapped, by a random
//! generator with a fixed seed, so that a failure repeats. The one test of this file owns the process's allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use metal_bridge::llama::ModelConfig;
use metal_bridge::llama::gguf::{Gguf, TensorType};
use metal_bridge::llama::synthetic::{SyntheticModel, VocabularyKind};
use metal_bridge::llama::tokenizer::Tokenizer;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Counts live bytes and their peak.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; the counters do not touch the memory.
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

/// Damages `bytes`; most changes hit the header, where the counts and offsets are.
fn mutate(bytes: &mut Vec<u8>, header: usize, random: &mut SmallRng) {
    for _ in 0..random.random_range(1..=4) {
        let length = bytes.len();
        let at = random.random_range(0..header.min(length));
        match random.random_range(0..8) {
            0 => bytes[at] ^= 1 << random.random_range(0..8),
            1 => bytes[at] = random.random(),
            2 => plant(bytes, at, &interesting(random).to_le_bytes()),
            3 => plant(bytes, at, &(interesting(random) as u32).to_le_bytes()),
            4 => bytes.truncate(random.random_range(1..=length)),
            5 => {
                let end = (at + random.random_range(1..64)).min(length);
                bytes.drain(at..end);
            }
            6 => {
                let end = (at + random.random_range(1..64)).min(length);
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let other = random.random_range(0..header.min(length));
                let count = 32.min(length - at.max(other));
                (0..count).for_each(|i| bytes.swap(at + i, other + i));
            }
        }
        if bytes.is_empty() {
            return;
        }
    }
}

fn plant(bytes: &mut [u8], at: usize, value: &[u8]) {
    let count = value.len().min(bytes.len() - at);
    bytes[at..at + count].copy_from_slice(&value[..count]);
}

fn interesting(random: &mut SmallRng) -> u64 {
    match random.random_range(0..5) {
        0 => u64::MAX - random.random_range(0..64),
        1 => 1 << random.random_range(0..64),
        2 => (1 << random.random_range(1..64)) - 1,
        3 => random.random_range(0..1000),
        _ => random.random(),
    }
}

/// All that is done with a file before a GPU is asked for anything.
fn use_file(path: &std::path::Path) -> bool {
    let Ok(gguf) = Gguf::open(path) else {
        return false;
    };
    for tensor in gguf.tensors() {
        assert_eq!(
            gguf.tensor_bytes(tensor).unwrap().len() as u64,
            tensor.byte_len()
        );
    }
    // Whatever the outcome: it is a value or a typed error.
    let config = ModelConfig::from_gguf(&gguf).is_ok();
    let Ok(tokenizer) = Tokenizer::from_gguf(&gguf) else {
        return false;
    };
    if let Ok(tokens) = tokenizer.encode("Once upon a time, ünïcode 12345 <s>\n\n  <|eot_id|>") {
        tokenizer.decode(&tokens);
    }
    config
}

fn seed_file(
    directory: &std::path::Path,
    vocabulary_kind: VocabularyKind,
    matrix_type: TensorType,
) -> Vec<u8> {
    let model = SyntheticModel {
        layers: 1,
        width: 32,
        heads: 2,
        kv_heads: 1,
        head_dim: 16,
        feed_forward: 32,
        vocabulary: 320,
        rope_factors: true,
        rope_scale: Some(2.0),
        matrix_type,
        vocabulary_kind,
        ..SyntheticModel::tiny_llama()
    };
    let path = directory.join("seed.gguf");
    model.write(&path, 1).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn damaged_files_are_refused_or_read_within_their_means() {
    const FILES: usize = 4_000;
    /// What any run needs: the reader's buffer, a tokenizer's word patterns.
    const FIXED: usize = 1 << 20;
    /// A metadata entry of 13 bytes, the least, becomes a few dozen in memory, and lists double as they grow.
    const PER_BYTE: usize = 16;
    /// Far more than any takes, on the slowest of machines.
    const LONGEST: Duration = Duration::from_secs(20);

    let directory = tempfile::tempdir().unwrap();
    let seeds = [
        seed_file(
            directory.path(),
            VocabularyKind::SentencePiece,
            TensorType::Q8_0,
        ),
        seed_file(directory.path(), VocabularyKind::BytePair, TensorType::F16),
    ];
    let path = directory.path().join("mutated.gguf");
    let headers = seeds.each_ref().map(|seed| {
        std::fs::write(&path, seed).unwrap();
        assert!(use_file(&path), "the seeds are sound");
        let gguf = Gguf::open(&path).unwrap();
        gguf.tensors()
            .iter()
            .map(|tensor| tensor.offset())
            .min()
            .unwrap() as usize
    });
    let mut random = SmallRng::seed_from_u64(20);
    let mut sound = 0;
    for file in 0..FILES {
        let which = file % seeds.len();
        let mut bytes = seeds[which].clone();
        mutate(&mut bytes, headers[which], &mut random);
        std::fs::write(&path, &bytes).unwrap();

        let before = LIVE.load(Relaxed);
        PEAK.store(before, Relaxed);
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| use_file(&path)));
        let allocated = PEAK.load(Relaxed) - before;
        let context = || {
            let kept = std::env::temp_dir().join(format!("metal-bridge-mutation-{file}.gguf"));
            std::fs::write(&kept, &bytes).unwrap();
            format!("file {file}, kept as {}", kept.display())
        };
        let Ok(opened) = outcome else {
            panic!("panicked: {}", context())
        };
        sound += usize::from(opened);
        let limit = FIXED + PER_BYTE * bytes.len();
        assert!(
            allocated <= limit,
            "{allocated} bytes allocated for {}: {}",
            bytes.len(),
            context()
        );
        assert!(
            start.elapsed() < LONGEST,
            "took {:?}: {}",
            start.elapsed(),
            context()
        );
    }
    // Some changes hit scores, texts and padding, and do no harm; were most of them so, little would be tested.
    assert!(
        (FILES / 100..FILES / 2).contains(&sound),
        "{sound} of {FILES} files were sound"
    );
}
