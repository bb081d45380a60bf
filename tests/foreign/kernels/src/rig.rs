//! One file of kernels on the device: compiles it, makes pipelines, launches kernels and keeps the score.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use metal_bridge::sanitizer::{self, ReportKind};
use metal_bridge::{
    CommandQueue, CompileOptions, ComputeEncoder, ComputePipeline, Device, DispatchType,
    FunctionConstantValues, Library, Size,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::buffers::{Arg, GUARD, Input, Output};
use crate::check::{Approx, compare, exactly, is_decisive};
use crate::package::Source;
use crate::types::Type;

/// Function constants by index: all that the package has are `bool`.
pub type Constants = [(usize, bool)];

/// How a kernel is launched.
pub enum Grid {
    /// So many threads, in threadgroups as large as the pipeline takes, the last one filled up: the package's usual way.
    Linear(usize),
    /// Threadgroups, and threads in each.
    Groups(Size, Size),
    /// Threads, and threads in each threadgroup.
    Threads(Size, Size),
}

/// Threadgroups of this size.
pub fn groups(groups: (usize, usize, usize), threads: (usize, usize, usize)) -> Grid {
    Grid::Groups(groups.into(), threads.into())
}

/// What was found out about a file.
#[derive(Default)]
pub struct Score {
    pub kernels: usize,
    pub pipelines: usize,
    /// Kernels that ran and gave what they should, with the number of their checks.
    pub executed: BTreeMap<String, usize>,
    /// Kernels whose launch the sanitizer has ended, which leaves them without a result.
    pub stopped: BTreeSet<String>,
    pub failures: Vec<String>,
    pub compiling: Duration,
    pub executing: Duration,
}

/// A file with so many kernels or fewer is never taken in part.
const FEW_KERNELS: usize = 24;

/// What a launch of a kernel gives that is left out. It is no failure.
const LEFT_OUT: &str = "left out";

/// A file of kernels, compiled.
pub struct File {
    pub name: String,
    pub names: BTreeSet<String>,
    left_out: BTreeSet<String>,
    device: Device,
    queue: CommandQueue,
    library: Library,
    pipelines: RefCell<HashMap<String, ComputePipeline>>,
    score: RefCell<Score>,
}

fn text(error: metal_bridge::Error) -> String {
    error.to_string()
}

fn key_of(kernel: &str, constants: &Constants) -> String {
    format!("{kernel} {constants:?}")
}

fn make_pipeline(
    device: &Device,
    library: &Library,
    kernel: &str,
    constants: &Constants,
) -> Result<ComputePipeline, String> {
    let mut values = FunctionConstantValues::new();
    for (index, value) in constants {
        values.set(*index, *value);
    }
    let function = match constants {
        [] => library.new_function(kernel),
        _ => library.new_function_with_constants(kernel, &values),
    };
    function
        .and_then(|function| device.new_compute_pipeline_state(&function))
        .map_err(text)
}

impl File {
    /// Compiles a file as the package does: no macros, fast arithmetic. Of many kernels it takes one in `every`.
    pub fn compile(device: &Device, source: &Source, every: usize) -> Result<File, String> {
        let start = Instant::now();
        let library = device
            .new_library_with_source(&source.text, &CompileOptions::new())
            .map_err(text)?;
        let names: BTreeSet<String> = library.function_names().into_iter().collect();
        let many = names.len() > FEW_KERNELS;
        let left_out = |(index, _): &(usize, &String)| many && index % every != 0;
        let left_out = names.iter().enumerate().filter(left_out);
        let left_out = left_out.map(|(_, name)| name.clone()).collect();
        let score = Score {
            kernels: names.len(),
            compiling: start.elapsed(),
            ..Score::default()
        };
        Ok(File {
            name: source.name.clone(),
            names,
            left_out,
            device: device.clone(),
            queue: device.new_command_queue().map_err(text)?,
            library,
            pipelines: RefCell::default(),
            score: RefCell::new(score),
        })
    }

    pub fn into_score(self) -> Score {
        self.score.into_inner()
    }

    /// Notes what went wrong with a kernel.
    pub fn fail(&self, kernel: &str, message: &str) {
        let failure = format!("{}: {kernel}: {message}", self.name);
        self.score.borrow_mut().failures.push(failure);
    }

    /// Makes a pipeline of every kernel that is not left out, two at a time, since the last file has no other beside it;
    /// `constants` are for those that have some.
    pub fn make_pipelines(&self, constants: &Constants) {
        let names = Mutex::new(self.names.difference(&self.left_out));
        let made = Mutex::new(Vec::new());
        let (library, device) = (&self.library, &self.device);
        let start = Instant::now();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let next = names.lock().expect("no thread panics with it").next();
                        let Some(name) = next else { break };
                        let pipeline = make_pipeline(device, library, name, constants);
                        let mut made = made.lock().expect("no thread panics with it");
                        made.push((name, pipeline));
                    }
                });
            }
        });
        self.score.borrow_mut().compiling += start.elapsed();
        for (name, pipeline) in made.into_inner().expect("no thread panics with it") {
            match pipeline {
                Ok(pipeline) => {
                    self.score.borrow_mut().pipelines += 1;
                    let mut pipelines = self.pipelines.borrow_mut();
                    pipelines.insert(key_of(name, constants), pipeline);
                }
                Err(error) => self.fail(name, &error),
            }
        }
    }

    /// The pipeline of a kernel, made once for each set of constants.
    pub fn pipeline(&self, kernel: &str, constants: &Constants) -> Result<ComputePipeline, String> {
        let key = key_of(kernel, constants);
        if let Some(pipeline) = self.pipelines.borrow().get(&key) {
            return Ok(pipeline.clone());
        }
        let start = Instant::now();
        let pipeline = make_pipeline(&self.device, &self.library, kernel, constants);
        self.score.borrow_mut().compiling += start.elapsed();
        let pipeline = pipeline?;
        self.pipelines.borrow_mut().insert(key, pipeline.clone());
        Ok(pipeline)
    }

    /// Numbers that are the same in every run, other ones for each `seed`.
    pub fn random(&self, seed: u64, count: usize, range: std::ops::Range<f64>) -> Vec<f64> {
        let mut rng = SmallRng::seed_from_u64(seed);
        (0..count)
            .map(|_| rng.random_range(range.clone()))
            .collect()
    }

    /// The same as the type holds them.
    pub fn values(
        &self,
        kind: Type,
        seed: u64,
        count: usize,
        range: std::ops::Range<f64>,
    ) -> Vec<f64> {
        let numbers = self.random(seed, count, range);
        numbers
            .into_iter()
            .map(|number| kind.nearest(number))
            .collect()
    }

    /// A buffer of these elements.
    pub fn input(&self, kind: Type, values: &[f64]) -> Input {
        self.input_at(kind, 0, values)
    }

    /// A buffer of these elements, behind `offset` others.
    pub fn input_at(&self, kind: Type, offset: usize, values: &[f64]) -> Input {
        self.input_bytes(offset * kind.size(), &kind.encode(values))
    }

    /// A buffer of these bytes, behind `offset` others.
    pub fn input_bytes(&self, offset: usize, bytes: &[u8]) -> Input {
        Input::new(&self.device, offset, bytes).expect("a buffer")
    }

    /// Room for so many elements.
    pub fn output(&self, kind: Type, count: usize) -> Output {
        Output::new(&self.device, kind, count).expect("a buffer")
    }

    /// Room for elements that are there already.
    pub fn output_holding(&self, kind: Type, values: &[f64]) -> Output {
        Output::holding(&self.device, kind, &kind.encode(values)).expect("a buffer")
    }

    /// Runs a kernel, waits for it.
    pub fn launch(
        &self,
        kernel: &str,
        constants: &Constants,
        arguments: &[Arg<'_>],
        grid: Grid,
    ) -> Result<(), String> {
        self.launch_with_memory(kernel, constants, arguments, 0, grid)
    }

    /// Runs a kernel that is given threadgroup memory, waits for it.
    pub fn launch_with_memory(
        &self,
        kernel: &str,
        constants: &Constants,
        arguments: &[Arg<'_>],
        memory: usize,
        grid: Grid,
    ) -> Result<(), String> {
        if self.left_out.contains(kernel) {
            return Err(LEFT_OUT.into());
        }
        let pipeline = self.pipeline(kernel, constants)?;
        let start = Instant::now();
        let mut commands = self.queue.command_buffer().map_err(text)?;
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .map_err(text)?;
        encoder
            .set_compute_pipeline_state(&pipeline)
            .map_err(text)?;
        for (index, argument) in arguments.iter().enumerate() {
            bind(&mut encoder, index, argument).map_err(text)?;
        }
        if memory > 0 {
            encoder
                .set_threadgroup_memory_length(memory, 0)
                .map_err(text)?;
        }
        let (counts, threads, whole) = match grid {
            Grid::Linear(length) => {
                let width = pipeline.max_total_threads_per_threadgroup().min(length);
                (length.div_ceil(width).into(), width.into(), true)
            }
            Grid::Groups(groups, threads) => (groups, threads, true),
            Grid::Threads(grid, threads) => (grid, threads, false),
        };
        // SAFETY: the arguments are those that the package's own host code gives this kernel, in its order, layout and
        // sizes; what a kernel writes is bound by `set_buffer`. That the kernels then keep to their buffers is what is
        // being tested: guards around the outputs, and the sanitizer where it is on, report those that do not.
        let dispatched = unsafe {
            match whole {
                true => encoder.dispatch_threadgroups(counts, threads),
                false => encoder.dispatch_threads(counts, threads),
            }
        };
        dispatched.map_err(text)?;
        encoder.end_encoding().map_err(text)?;
        let done = commands.commit().and_then(|submission| submission.wait());
        self.score.borrow_mut().executing += start.elapsed();
        match done {
            // The sanitizer lets such a kernel run on where it can: then its results are as good as ever.
            Err(metal_bridge::Error::CommandBuffer(_)) if leaves_bounds(kernel) => Ok(()),
            done => done.map_err(text),
        }
    }

    /// Takes a kernel's result, or what kept it from having one, and compares it with what is `expected`.
    pub fn check(
        &self,
        kernel: &str,
        case: &str,
        launched: Result<(), String>,
        output: &Output,
        expected: &[Approx],
    ) {
        let outcome = launched
            .and_then(|()| output.read())
            .and_then(|got| compare(output.kind, &got, expected))
            .and_then(|()| is_decisive(output.kind, expected));
        self.note(kernel, case, outcome);
    }

    /// Compares a kernel's result with one that has no tolerance.
    pub fn check_exact(
        &self,
        kernel: &str,
        case: &str,
        launched: Result<(), String>,
        output: &Output,
        expected: &[f64],
    ) {
        self.check(kernel, case, launched, output, &exactly(expected));
    }

    /// Notes the outcome of a check.
    pub fn note(&self, kernel: &str, case: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                let mut score = self.score.borrow_mut();
                *score.executed.entry(kernel.to_owned()).or_default() += 1;
            }
            Err(message) if message == LEFT_OUT => {}
            // Where it cannot there is no result, and the report is what is judged.
            Err(_) if leaves_bounds(kernel) => {
                self.score.borrow_mut().stopped.insert(kernel.to_owned());
            }
            Err(message) => self.fail(kernel, &format!("{case}: {message}")),
        }
    }
}

/// Whether the sanitizer has found the kernel to access what is not its own.
fn leaves_bounds(kernel: &str) -> bool {
    let mut reports = sanitizer::reports().into_iter();
    reports.any(|report| report.kind == ReportKind::Bounds && report.access.kernel == kernel)
}

fn bind(
    encoder: &mut ComputeEncoder<'_>,
    index: usize,
    argument: &Arg<'_>,
) -> metal_bridge::Result<()> {
    match argument {
        Arg::In(input) => encoder.set_buffer_read_only(&input.buffer, input.offset, index),
        Arg::Made(output) => encoder.set_buffer_read_only(&output.buffer, GUARD, index),
        Arg::Out(output) => encoder.set_buffer(&output.buffer, GUARD, index),
        Arg::Bytes(bytes) => encoder.set_bytes(bytes, index),
        Arg::Nothing => Ok(()),
    }
}
