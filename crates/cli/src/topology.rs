//! `metal-bridge topology`: what joins the devices, and how fast bytes move between them.

use std::io::{self, Write};

use metal_bridge::devices::{Link, MeasureOptions, Measurements, PairFigures, Topology};
use serde::Serialize;

use super::failure::Failure;

#[derive(clap::Args)]
pub struct Arguments {
    /// Measure bandwidth and latency of each pair, also of each device with itself
    #[arg(long)]
    measure: bool,
    /// Bytes of the copies that the bandwidth is measured with: a multiple of 4 [default: 32 MiB]
    #[arg(long, value_name = "COUNT", requires = "measure", value_parser = parse_bytes)]
    bytes: Option<usize>,
    /// Copies of each size, whose median counts [default: 11]
    #[arg(long, value_name = "COUNT", requires = "measure", value_parser = clap::value_parser!(u16).range(1..))]
    repeats: Option<u16>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn parse_bytes(text: &str) -> Result<usize, String> {
    let bytes: usize = text.parse().map_err(|_| "not a number of bytes")?;
    if bytes == 0 || bytes % 4 != 0 {
        return Err("not a multiple of 4, from 4 on".to_owned());
    }
    Ok(bytes)
}

/// One device. Rates in bytes a second.
#[derive(Serialize)]
struct Description {
    index: usize,
    name: String,
    registry_id: u64,
    unified_memory: bool,
    location: &'static str,
    location_number: u64,
    max_transfer_rate: Option<u64>,
    peer_group_id: Option<u64>,
    peer_index: Option<u32>,
    peer_count: Option<u32>,
}

/// Rows are the devices that bytes come from, columns those that they go to.
type Matrix<T> = Vec<Vec<T>>;

#[derive(Serialize)]
struct Measured {
    bandwidth_gigabytes_per_second: Matrix<f64>,
    latency_microseconds: Matrix<f64>,
}

#[derive(Serialize)]
struct Report {
    devices: Vec<Description>,
    links: Matrix<&'static str>,
    measured: Option<Measured>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let topology = Topology::discover()?;
    let count = topology.devices().len();
    let link = |from, to| topology.link(from, to).map(name);
    let report = Report {
        devices: (0..count).map(|index| describe(&topology, index)).collect(),
        links: matrix(count, link)?,
        measured: measure(&topology, arguments)?,
    };
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
        return Ok(());
    }
    Ok(print(&mut out, &report)?)
}

fn matrix<T>(
    count: usize,
    element: impl Fn(usize, usize) -> metal_bridge::Result<T>,
) -> metal_bridge::Result<Matrix<T>> {
    let row = |from| (0..count).map(|to| element(from, to)).collect();
    (0..count).map(row).collect()
}

fn name(link: Link) -> &'static str {
    match link {
        Link::SameDevice => "same",
        Link::Peers { .. } => "peer",
        Link::Host => "host",
    }
}

fn describe(topology: &Topology, index: usize) -> Description {
    let (device, position) = (&topology.devices()[index], topology.positions()[index]);
    Description {
        index,
        name: device.name().to_owned(),
        registry_id: device.registry_id(),
        unified_memory: device.limits().has_unified_memory,
        location: position.location.name(),
        location_number: position.location_number,
        max_transfer_rate: position.max_transfer_rate,
        peer_group_id: position.peers.map(|peers| peers.id),
        peer_index: position.peers.map(|peers| peers.index),
        peer_count: position.peers.map(|peers| peers.count),
    }
}

fn measure(topology: &Topology, arguments: &Arguments) -> metal_bridge::Result<Option<Measured>> {
    if !arguments.measure {
        return Ok(None);
    }
    let mut options = MeasureOptions::new();
    if let Some(bytes) = arguments.bytes {
        options = options.bytes(bytes);
    }
    if let Some(repeats) = arguments.repeats {
        options = options.repeats(repeats.into());
    }
    let measurements = topology.measure(&options)?;
    let figures = |figure: fn(PairFigures) -> f64| figures(&measurements, figure);
    Ok(Some(Measured {
        bandwidth_gigabytes_per_second: figures(|pair| pair.bandwidth / 1e9)?,
        latency_microseconds: figures(|pair| pair.latency.as_secs_f64() * 1e6)?,
    }))
}

fn figures(
    measurements: &Measurements,
    figure: fn(PairFigures) -> f64,
) -> metal_bridge::Result<Matrix<f64>> {
    let count = measurements.device_count();
    matrix(count, |from, to| measurements.pair(from, to).map(figure))
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    print_matrix(out, &report.links, |link| match *link {
        "same" => "X".to_owned(),
        link => link.to_uppercase(),
    })?;
    writeln!(out)?;
    for (mark, meaning) in [
        ("X", "the same device"),
        (
            "PEER",
            "one peer group: blits of each read private buffers of the other",
        ),
        ("HOST", "only system memory, which both devices see"),
    ] {
        writeln!(out, "{mark:<5} {meaning}")?;
    }
    writeln!(out)?;
    for device in &report.devices {
        writeln!(out, "{}: {}", device.index, describe_in_words(device))?;
    }
    let Some(measured) = &report.measured else {
        return Ok(());
    };
    writeln!(out, "\nbandwidth, GB/s, of large copies from row to column")?;
    let rates = &measured.bandwidth_gigabytes_per_second;
    print_matrix(out, rates, |rate| format!("{rate:.2}"))?;
    writeln!(out, "\nlatency, us, of small copies from row to column")?;
    let times = &measured.latency_microseconds;
    print_matrix(out, times, |time| format!("{time:.1}"))
}

fn describe_in_words(device: &Description) -> String {
    let memory = if device.unified_memory {
        "unified memory"
    } else {
        "memory of its own"
    };
    let mut words = format!(
        "{}, {} {}, {memory}",
        device.name, device.location, device.location_number
    );
    if let Some(rate) = device.max_transfer_rate {
        words += &format!(", at most {:.1} GB/s to system memory", rate as f64 / 1e9);
    }
    if let (Some(group), Some(index), Some(count)) =
        (device.peer_group_id, device.peer_index, device.peer_count)
    {
        words += &format!(", {index} of {count} in peer group {group:#x}");
    }
    words
}

fn print_matrix<T>(
    out: &mut impl Write,
    rows: &Matrix<T>,
    cell: impl Fn(&T) -> String,
) -> io::Result<()> {
    let line = |head: String, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>8}")).collect();
        format!("{head:<3}{cells}")
    };
    let indices = (0..rows.len()).map(|index| index.to_string());
    writeln!(out, "{}", line(String::new(), indices.collect()))?;
    for (from, row) in rows.iter().enumerate() {
        let cells = row.iter().map(&cell).collect();
        writeln!(out, "{}", line(from.to_string(), cells))?;
    }
    Ok(())
}
