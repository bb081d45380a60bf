//! Runs compute shaders in WGSL twice: as naga translates them to Metal, on this repository's Metal, and as wgpu runs them on
//! Vulkan. What both leave in the buffers has to agree. `make foreign-naga` runs it.

mod builtins;
mod burn;
mod metal;
mod module;
mod packages;
mod program;
mod translation;
mod values;
mod vulkan;

use std::env;
use std::process::ExitCode;

use metal::{Metal, VARIANTS, Variant};
use module::{Checked, EntryPoint};
use program::Program;
use vulkan::Vulkan;

/// What was found out.
#[derive(Default)]
struct Score {
    modules: usize,
    entry_points: usize,
    pipelines: usize,
    executed: usize,
    numbers: usize,
    compiled_only: Vec<String>,
    failures: Vec<String>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let wanted: Vec<String> = env::args().skip(1).collect();
    let (metal, vulkan) = (Metal::new()?, Vulkan::new()?);
    println!(
        "naga's Metal on {}, compared with Vulkan on {}",
        metal.device.name(),
        vulkan.name
    );
    let mut total = Score::default();
    for (collection, programs) in packages::all()? {
        let mut score = Score::default();
        for program in programs {
            let name = format!("{collection}/{}", program.name);
            if wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())) {
                module(&metal, &vulkan, &name, &program, &mut score);
            }
        }
        report(&collection, &score);
        for reason in &score.compiled_only {
            println!("  not executed: {reason}");
        }
        total.add(score);
    }
    report("all", &total);
    match total.failures.len() {
        0 => Ok(()),
        failures => Err(format!("{failures} failures, above")),
    }
}

/// Translates, compiles and runs the entry points of a module.
fn module(metal: &Metal, vulkan: &Vulkan, name: &str, program: &Program, score: &mut Score) {
    let checked = match Checked::new(&program.source) {
        Ok(checked) => checked,
        Err(message) => return score.fail(name, &message),
    };
    score.modules += 1;
    for entry in checked.entry_points(program) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(reason) => {
                score.compiled_only.push(format!("{name}: {reason}"));
                continue;
            }
        };
        score.entry_points += 1;
        let name = format!("{name}: {}", entry.name);
        for variant in VARIANTS {
            let case = format!("{name} ({})", variant.name);
            if let Err(message) = launch(metal, vulkan, &checked, &entry, program, variant, score) {
                score.fail(&case, &message);
            }
        }
        match &program.compiled_only {
            None => score.executed += 1,
            Some(reason) => score.compiled_only.push(format!("{name}: {reason}")),
        }
    }
}

fn launch(
    metal: &Metal,
    vulkan: &Vulkan,
    checked: &Checked,
    entry: &EntryPoint,
    program: &Program,
    variant: Variant,
    score: &mut Score,
) -> Result<(), String> {
    let kernel = metal.compile(checked, entry, variant)?;
    score.pipelines += 1;
    if program.compiled_only.is_some() {
        return Ok(());
    }
    let contents: Vec<Vec<u8>> = entry
        .bindings
        .iter()
        .map(|bound| values::initial(bound, program))
        .collect();
    let theirs = vulkan
        .launch(entry, program, &contents)
        .map_err(|error| format!("Vulkan: {error}"))?;
    let ours = metal.launch(&kernel, entry, program, &contents)?;
    if contents == theirs {
        return Err("leaves its buffers as they were".into());
    }
    for ((bound, ours), theirs) in entry.bindings.iter().zip(&ours).zip(&theirs) {
        if bound.written && !program.ignored.contains(&bound.name) {
            score.numbers += values::compare(bound, program, ours, theirs)?;
        }
    }
    Ok(())
}

impl Score {
    fn fail(&mut self, name: &str, message: &str) {
        println!("FAILED: {name}: {message}");
        self.failures.push(name.to_owned());
    }

    fn add(&mut self, other: Score) {
        self.modules += other.modules;
        self.entry_points += other.entry_points;
        self.pipelines += other.pipelines;
        self.executed += other.executed;
        self.numbers += other.numbers;
        self.failures.extend(other.failures);
    }
}

fn report(collection: &str, score: &Score) {
    println!(
        "{collection:<16} {:>3} modules, {:>3} entry points, {:>3} pipelines, {:>3} executed, {:>7} numbers compared, {} failures",
        score.modules,
        score.entry_points,
        score.pipelines,
        score.executed,
        score.numbers,
        score.failures.len()
    );
}
