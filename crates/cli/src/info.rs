//! `metal-bridge info`: the devices and their limits.

use std::io::{self, Write};

use metal_bridge::{Device, GpuFamily};
use serde::Serialize;

use super::failure::Failure;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One device; sizes in bytes.
#[derive(Serialize)]
struct Description {
    index: usize,
    name: String,
    registry_id: u64,
    unified_memory: bool,
    low_power: bool,
    removable: bool,
    headless: bool,
    recommended_max_working_set_size: u64,
    max_buffer_length: u64,
    max_threadgroup_memory_length: u64,
    max_threads_per_threadgroup: [usize; 3],
    current_allocated_size: u64,
    families: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let devices: Vec<Description> = Device::all()?.iter().enumerate().map(describe).collect();
    if devices.is_empty() {
        return Err(metal_bridge::Error::NoDevice.into());
    }
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &devices)?;
        writeln!(out)?;
        return Ok(());
    }
    for device in &devices {
        print(&mut out, device)?;
    }
    Ok(())
}

fn describe((index, device): (usize, &Device)) -> Description {
    let limits = device.limits();
    let threads = limits.max_threads_per_threadgroup;
    let families = GpuFamily::ALL
        .into_iter()
        .filter(|&family| device.supports_family(family));
    Description {
        index,
        name: device.name().to_owned(),
        registry_id: device.registry_id(),
        unified_memory: limits.has_unified_memory,
        low_power: limits.is_low_power,
        removable: limits.is_removable,
        headless: limits.is_headless,
        recommended_max_working_set_size: limits.recommended_max_working_set_size,
        max_buffer_length: limits.max_buffer_length,
        max_threadgroup_memory_length: limits.max_threadgroup_memory_length,
        max_threads_per_threadgroup: [threads.width, threads.height, threads.depth],
        current_allocated_size: device.current_allocated_size(),
        families: families.map(|family| format!("{family:?}")).collect(),
    }
}

fn print(out: &mut impl Write, device: &Description) -> io::Result<()> {
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let [width, height, depth] = device.max_threads_per_threadgroup;
    writeln!(out, "{}: {}", device.index, device.name)?;
    let lines = [
        ("registry id", format!("{:#x}", device.registry_id)),
        ("unified memory", yes(device.unified_memory)),
        ("low power", yes(device.low_power)),
        ("removable", yes(device.removable)),
        ("headless", yes(device.headless)),
        ("working set", mib(device.recommended_max_working_set_size)),
        ("largest buffer", mib(device.max_buffer_length)),
        (
            "threadgroup memory",
            format!("{} KiB", device.max_threadgroup_memory_length >> 10),
        ),
        (
            "largest threadgroup",
            format!("{width} x {height} x {depth}"),
        ),
        ("allocated", mib(device.current_allocated_size)),
        ("families", device.families.join(" ")),
    ];
    lines
        .iter()
        .try_for_each(|(name, value)| writeln!(out, "   {name:<20} {value}"))
}
