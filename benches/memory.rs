//! What transfers cost: beside `memcpy`, one by one and batched, with staging that is kept and that is not, and beside
//! a kernel that runs meanwhile. Contenders take turns and the best time of each counts.
//!
//! `cargo bench --bench memory`; `-- small` and the like for a part of it.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use metal_bridge::memory::{Memory, Owned, Staged, TransferQueue};
use metal_bridge::{
    Buffer, CommandQueue, CompileOptions, ComputePipeline, Device, DispatchType, Result,
    StorageMode, Submission,
};
use metal_bridge_benches::beside::is_wanted;
use metal_bridge_benches::rounds::{Contender, best_of, repeated};

const BUDGET: Duration = Duration::from_secs(3);
const MIB: usize = 1 << 20;
/// How many threads of the software Metal share a dispatch or a large blit: one a core if it is not set.
const THREADS: &str = "SOFTWARE_METAL_THREADS";

fn main() -> Result<()> {
    let device = Device::system_default()?;
    let memory = Memory::new(&device)?;
    let transfers = memory.transfer_queue(&device.new_command_queue()?)?;
    if is_wanted("memcpy") {
        against_memcpy(&device, &transfers)?;
    }
    if is_wanted("small") {
        small_transfers(&device, &transfers)?;
    }
    if is_wanted("staging") {
        staging(&device, &transfers)?;
    }
    if is_wanted("overlap") {
        overlap(&device, &memory)?;
        if std::env::var_os(THREADS).is_none() {
            overlap_on_one_thread_each();
        }
    }
    println!("\n{}", memory.statistics());
    Ok(())
}

fn gigabytes_per_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_nanos() as f64
}

fn size(bytes: usize) -> String {
    match bytes / MIB {
        0 => format!("{} KB", bytes >> 10),
        mib => format!("{mib} MB"),
    }
}

/// Synchronous transfers of memory that both sides have touched before.
fn against_memcpy(device: &Device, transfers: &TransferQueue) -> Result<()> {
    println!(
        "\n| size | memcpy GB/s | host to private | of memcpy | private to host | of memcpy |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    for bytes in [4 << 10, 64 << 10, MIB, 16 * MIB, 256 * MIB] {
        let buffer = device.new_buffer(bytes, StorageMode::Private)?;
        let values = vec![1u8; bytes];
        let (mut copy, mut back) = (vec![2u8; bytes], vec![3u8; bytes]);
        let times = (16 * MIB / bytes).clamp(1, 200) as u32;
        let best = best_of(
            BUDGET,
            &mut [
                repeated(times, || {
                    black_box(&mut copy).copy_from_slice(black_box(&values))
                }),
                repeated(times, || {
                    transfers
                        .copy(&values, buffer.at(0))
                        .run()
                        .expect("an upload")
                }),
                repeated(times, || {
                    transfers
                        .copy(buffer.at(0), &mut back)
                        .run()
                        .expect("a download")
                }),
            ],
        );
        let [plain, up, down] = best[..] else {
            unreachable!("three contenders")
        };
        println!(
            "| {} | {:.2} | {:.2} | {:.0} % | {:.2} | {:.0} % |",
            size(bytes),
            gigabytes_per_second(bytes, plain),
            gigabytes_per_second(bytes, up),
            100.0 * plain.as_secs_f64() / up.as_secs_f64(),
            gigabytes_per_second(bytes, down),
            100.0 * plain.as_secs_f64() / down.as_secs_f64(),
        );
    }
    Ok(())
}

/// A thousand uploads of 4 KB, the pieces of one array, to ranges that do not touch.
fn small_transfers(device: &Device, transfers: &TransferQueue) -> Result<()> {
    const COUNT: usize = 1000;
    const BYTES: usize = 4096;
    let buffer = device.new_buffer(COUNT * 2 * BYTES, StorageMode::Private)?;
    let values = vec![1u8; COUNT * BYTES];
    let pieces = || values.chunks_exact(BYTES).enumerate();
    let one_by_one = || {
        for (i, piece) in pieces() {
            transfers
                .copy(piece, buffer.at(i * 2 * BYTES))
                .run()
                .expect("an upload");
        }
    };
    let in_flight = || {
        let upload = |(i, piece)| {
            transfers
                .copy(Staged(piece), buffer.at(i * 2 * BYTES))
                .commit()
        };
        let uploads: Result<Vec<Submission>> = pieces().map(upload).collect();
        uploads.expect("uploads")[COUNT - 1]
            .wait()
            .expect("uploads");
    };
    let batched = || {
        let mut batch = transfers.batch().expect("a batch");
        for (i, piece) in pieces() {
            batch
                .copy(piece, buffer.at(i * 2 * BYTES))
                .expect("an upload");
        }
        batch.run().expect("uploads");
    };
    let best = best_of(
        BUDGET,
        &mut [
            repeated(1, one_by_one),
            repeated(1, in_flight),
            repeated(1, batched),
        ],
    );
    let [single, flying, together] = best[..] else {
        unreachable!("three contenders")
    };
    println!(
        "\n| 1,000 uploads of 4 KB to a private buffer | microseconds each | against one by one |"
    );
    println!("|---|---:|---:|");
    for (name, time) in [
        ("one by one, each waited for", single),
        ("asynchronous, the last waited for", flying),
        ("one batch", together),
    ] {
        let each = time.as_secs_f64() * 1e6 / COUNT as f64;
        println!(
            "| {name} | {each:.3} | {:.1} times |",
            single.as_secs_f64() / time.as_secs_f64()
        );
    }
    Ok(())
}

/// The calls that stage an upload, without the wait for the GPU: memory of the pool, and memory that is made for each.
fn staging(device: &Device, transfers: &TransferQueue) -> Result<()> {
    const TIMES: u32 = 8;
    println!(
        "\n| staging of an upload | pooled, ns | fresh, ns | fresh / pooled | with the copy: pooled, ns | fresh, ns |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    for bytes in [4 << 10, 256 << 10, 4 * MIB] {
        let values = vec![1u8; bytes];
        let buffer = device.new_buffer(bytes, StorageMode::Private)?;
        let memory = transfers.memory();
        let best = best_of(
            BUDGET,
            &mut [
                repeated(TIMES, || {
                    drop(
                        memory
                            .allocate(bytes, StorageMode::Shared)
                            .expect("a buffer"),
                    )
                }),
                repeated(TIMES, || {
                    let fresh = device
                        .new_buffer(bytes, StorageMode::Shared)
                        .expect("a buffer");
                    // The system makes the pages when they are written to.
                    fresh
                        .wait_write::<u8>()
                        .expect("a guard")
                        .iter_mut()
                        .step_by(4096)
                        .for_each(|byte| *byte = 1);
                }),
                uploads(TIMES, || {
                    transfers.copy(Staged(&values), buffer.at(0)).commit()
                }),
                uploads(TIMES, || {
                    let fresh = device.new_buffer_with_data(&values, StorageMode::Shared)?;
                    let mut commands = transfers.command_queue().command_buffer()?;
                    let mut blit = commands.blit_command_encoder()?;
                    blit.copy(&fresh, 0, &buffer, 0, bytes)?;
                    blit.end_encoding()?;
                    commands.commit()
                }),
            ],
        );
        let ns: Vec<u128> = best.iter().map(Duration::as_nanos).collect();
        println!(
            "| {} | {} | {} | {:.1} | {} | {} |",
            size(bytes),
            ns[0],
            ns[1],
            ns[1] as f64 / ns[0] as f64,
            ns[2],
            ns[3]
        );
    }
    Ok(())
}

/// Repeats an upload, waits for each, and gives the time of one call.
fn uploads<'a>(times: u32, upload: impl Fn() -> Result<Submission> + 'a) -> Contender<'a> {
    Box::new(move || {
        let mut spent = Duration::ZERO;
        for _ in 0..times {
            let start = Instant::now();
            let submission = upload().expect("an upload");
            spent += start.elapsed();
            submission.wait().expect("an upload");
        }
        spent / times
    })
}

const SPIN: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void spin(device uint *out [[buffer(0)]], constant uint &rounds [[buffer(1)]]) {
    uint x = out[0];
    for (uint i = 0; i < rounds; i++)
        x = x * 1664525u + i;
    out[0] = x;
}
";

/// The same with a core left to the kernel during a copy, in another process: the software Metal reads the setting
/// when a program starts.
fn overlap_on_one_thread_each() {
    println!("\nThe same with {THREADS}=1:");
    let program = std::env::current_exe().expect("this program");
    let ended = std::process::Command::new(program)
        .arg("overlap")
        .env(THREADS, "1")
        .status();
    assert!(
        ended.is_ok_and(|status| status.success()),
        "the program ran again"
    );
}

/// A copy beside a kernel of one thread that runs as long, on a queue of its own.
fn overlap(device: &Device, memory: &Memory) -> Result<()> {
    const BYTES: usize = 64 * MIB;
    let library = device.new_library_with_source(SPIN, &CompileOptions::new())?;
    let pipeline = device.new_compute_pipeline_state(&library.new_function("spin")?)?;
    let kernels = device.new_command_queue()?;
    let transfers = memory.new_transfer_queue()?;
    let out = device.new_buffer(4, StorageMode::Private)?;
    let buffer = device.new_buffer(BYTES, StorageMode::Private)?;
    let values: Arc<[u8]> = vec![1u8; BYTES].into();

    let copy = || {
        transfers
            .copy(Owned::new(values.clone()), buffer.at(0))
            .commit()
            .expect("an upload")
    };
    let copied = best_of(
        BUDGET,
        &mut [repeated(1, || copy().wait().expect("an upload"))],
    )[0];
    let probe = 10_000_000;
    let spun = best_of(
        BUDGET,
        &mut [repeated(1, || spin(&kernels, &pipeline, &out, probe))],
    )[0];
    let rounds = (f64::from(probe) * copied.as_secs_f64() / spun.as_secs_f64()) as u32;

    let best = best_of(
        BUDGET,
        &mut [
            repeated(1, || copy().wait().expect("an upload")),
            repeated(1, || spin(&kernels, &pipeline, &out, rounds)),
            repeated(1, || {
                let copied = copy();
                spin(&kernels, &pipeline, &out, rounds);
                copied.wait().expect("an upload");
            }),
        ],
    );
    let [copied, spun, both] = best[..] else {
        unreachable!("three contenders")
    };
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "\n| {} to a private buffer, ms | a kernel, ms | both at once, ms | against the slower |",
        size(BYTES)
    );
    println!("|---:|---:|---:|---:|");
    println!(
        "| {:.1} | {:.1} | {:.1} | {:.0} % |",
        milliseconds(copied),
        milliseconds(spun),
        milliseconds(both),
        100.0 * both.as_secs_f64() / copied.max(spun).as_secs_f64()
    );
    Ok(())
}

fn spin(queue: &CommandQueue, pipeline: &ComputePipeline, out: &Buffer, rounds: u32) {
    let run = || -> Result<()> {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
        encoder.set_compute_pipeline_state(pipeline)?;
        encoder.set_buffer(out, 0, 0)?;
        encoder.set_value(&rounds, 1)?;
        // SAFETY: one thread, which touches the one number of the buffer.
        unsafe { encoder.dispatch_threadgroups(1, 1)? };
        encoder.end_encoding()?;
        commands.commit()?.wait()
    };
    run().expect("a kernel");
}
