//! `metal-bridge analyze`: how kernels that ran on the software Metal accessed memory, by source line, and what to change.

mod computed;
mod diff;
mod html;
mod names;
#[cfg(software_metal)]
mod ran;
mod text;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use metal_bridge::analysis::{
    Bound, CoreLimits, Gpu, KernelProfile, Profile, Recommendation, Roofline,
    optimization_recommendations,
};
use serde::Serialize;

use crate::failure::Failure;
use crate::files;

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(WHAT)))]
pub struct Arguments {
    #[cfg(software_metal)]
    #[command(flatten)]
    run: ran::Run,

    /// Read the profile that a program wrote because of SOFTWARE_METAL_PROFILE=FILE
    #[arg(long, value_name = "FILE")]
    #[cfg_attr(software_metal, arg(conflicts_with_all = RUN))]
    profile: Option<PathBuf>,

    /// Tell what differs between two profiles, or outputs of --json
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"], conflicts_with = "html")]
    #[cfg_attr(software_metal, arg(conflicts_with_all = RUN))]
    diff: Option<Vec<PathBuf>>,

    /// Estimate gains for this chip: M1, M1 Pro, M1 Max, M1 Ultra, M2, M2 Max or M2 Ultra
    #[arg(long, value_name = "CHIP", default_value = "M1", value_parser = parse_gpu)]
    gpu: Gpu,

    /// Estimate occupancy for a GPU with so many cores, if not with as many as the chip's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    cores: Option<u16>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Write a page with the sources beside their figures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// The options that say how to compile and to launch a kernel.
#[cfg(software_metal)]
const RUN: [&str; 2] = ["Launch", "SourceOptions"];

/// What is analyzed: one of these.
#[cfg(software_metal)]
const WHAT: [&str; 3] = ["file", "profile", "diff"];
#[cfg(not(software_metal))]
const WHAT: [&str; 2] = ["profile", "diff"];

/// A profile with what follows from it. As JSON it is also a profile.
#[derive(Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub profile: Profile,
    pub recommendations: Vec<Recommendation>,
    pub rooflines: Vec<NamedRoofline>,
    #[serde(skip)]
    pub core: CoreLimits,
    /// Files that a page may show, and folders whose files it may show: a profile can name any file of this machine.
    #[serde(skip)]
    pub sources: Vec<PathBuf>,
}

/// Of a kernel that has one.
#[derive(Serialize)]
pub struct NamedRoofline {
    pub kernel: String,
    #[serde(flatten)]
    pub roofline: Roofline,
    pub gpus: Vec<UnderRoof>,
}

/// What a kernel reaches at most on a GPU.
#[derive(Serialize)]
pub struct UnderRoof {
    #[serde(flatten)]
    pub gpu: Gpu,
    pub ridge: f64,
    pub bound: Bound,
    pub attainable_teraflops: f64,
}

impl NamedRoofline {
    fn of(kernel: &KernelProfile) -> Option<NamedRoofline> {
        let roofline = kernel.roofline()?;
        let under = |gpu: Gpu| UnderRoof {
            gpu,
            ridge: gpu.ridge(),
            bound: roofline.bound(&gpu),
            attainable_teraflops: roofline.attainable(&gpu),
        };
        Some(NamedRoofline {
            kernel: kernel.name.clone(),
            roofline,
            gpus: Gpu::PUBLISHED.map(under).into(),
        })
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    if let Some([before, after]) = arguments.diff.as_deref() {
        let changes = diff::changes(&read(before)?, &read(after)?);
        return match arguments.json {
            true => print_json(&mut out, &changes),
            false => Ok(diff::print(&mut out, &changes)?),
        };
    }
    let profile = match &arguments.profile {
        Some(path) => read(path)?,
        #[cfg(software_metal)]
        None => arguments.run.profile()?,
        #[cfg(not(software_metal))]
        None => return Ok(()),
    };
    let gpu = arguments.gpu;
    let core = CoreLimits::apple7(arguments.cores.map_or(gpu.cores, usize::from));
    let report = Report {
        recommendations: optimization_recommendations(&profile, &core, &gpu),
        rooflines: profile
            .kernels
            .iter()
            .filter_map(NamedRoofline::of)
            .collect(),
        profile,
        core,
        sources: sources(arguments),
    };
    if let Some(path) = &arguments.html {
        let page = html::page(&report);
        fs::write(path, page).map_err(|error| in_file(path, &error))?;
    }
    if arguments.json {
        return print_json(&mut out, &report);
    }
    Ok(text::print(&mut out, &report)?)
}

fn parse_gpu(name: &str) -> Result<Gpu, String> {
    let names = Gpu::PUBLISHED.map(|gpu| gpu.name).join(", ");
    Gpu::named(name).ok_or_else(|| format!("no peaks are known of it, but of {names}"))
}

/// The current folder, and what the command line names.
fn sources(arguments: &Arguments) -> Vec<PathBuf> {
    let mut sources = named_sources(arguments);
    sources.push(PathBuf::from("."));
    sources
        .iter()
        .filter_map(|path| path.canonicalize().ok())
        .collect()
}

#[cfg(software_metal)]
fn named_sources(arguments: &Arguments) -> Vec<PathBuf> {
    arguments.run.sources()
}

#[cfg(not(software_metal))]
fn named_sources(_: &Arguments) -> Vec<PathBuf> {
    Vec::new()
}

fn print_json(out: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    Ok(writeln!(out)?)
}

fn in_file(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Profile, Failure> {
    let text = files::read_text(path, files::COLLECTED).map_err(|error| in_file(path, &error))?;
    Profile::from_json(&text).map_err(|error| in_file(path, &error))
}
