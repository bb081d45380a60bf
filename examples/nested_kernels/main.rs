//! Kernels that launch kernels: quicksort, a quadtree and breadth-first search, by the GPU alone and, for comparison,
//! by a CPU that launches level after level.

use std::error::Error;

use metal_bridge::indirect::nested::{self, NestedKernels, NestedLaunch, NestedLimits, NestedRun};
use metal_bridge::{Buffer, CommandQueue, CompileOptions, Device, Library, StorageMode};

const ROUNDS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    if !metal_bridge::is_available() {
        println!("there is no Metal here");
        return Ok(());
    }
    let device = Device::system_default()?;
    if !device.supports_indirect_command_buffers() {
        println!("{} executes no indirect commands", device.name());
        return Ok(());
    }
    let source = nested::with_header("kernels.metal", include_str!("kernels.metal"));
    let library = device.new_library_with_source(&source, &CompileOptions::new())?;
    let queue = device.new_command_queue()?;
    let mut random = Random(1);

    let values: Vec<i32> = (0..20_000).map(|_| random.below(1 << 30) as i32).collect();
    let root = NestedLaunch::new(0, 1, 1, &[0, values.len() as u32])?;
    let program = Program::new(&queue, &library, "quicksort", 8192, 40)?;
    let buffers = program.compare(&root, || Ok(vec![filled(&device, &values)?]))?;
    assert!(buffers[0].wait_read::<i32>()?.is_sorted());

    let side = 1024.0f32;
    let points: Vec<[f32; 2]> = (0..10_000)
        .map(|_| [0, 1].map(|_| random.below(1 << 18) as f32 / 256.0))
        .collect();
    let square = [0, points.len() as u32, 0, 0, side.to_bits()];
    let root = NestedLaunch::new(0, 32, 32, &square)?;
    let program = Program::new(&queue, &library, "quadtree", 16384, 16)?;
    let buffers = program.compare(&root, || {
        let depths = filled(&device, &vec![u32::MAX; points.len()])?;
        Ok(vec![
            filled(&device, &points)?,
            filled(&device, &points)?,
            depths,
        ])
    })?;
    assert!(
        buffers[2]
            .wait_read::<u32>()?
            .iter()
            .all(|depth| *depth < 16)
    );

    let nodes = 8192;
    let starts: Vec<u32> = (0..=nodes).map(|node| 4 * node as u32).collect();
    let edges: Vec<u32> = (0..4 * nodes).map(|_| random.below(nodes) as u32).collect();
    let root = NestedLaunch::new(0, 4, 4, &[0])?;
    let program = Program::new(&queue, &library, "search", nodes + 1, 24)?;
    let buffers = program.compare(&root, || {
        let mut distances = vec![u32::MAX; nodes];
        distances[0] = 0;
        Ok(vec![
            filled(&device, &starts)?,
            filled(&device, &edges)?,
            filled(&device, &distances)?,
        ])
    })?;
    let distances = buffers[2].wait_read::<u32>()?;
    let is_close = |edge: &u32| distances[*edge as usize] <= 1;
    assert!(edges[..4].iter().all(is_close));
    Ok(())
}

fn filled<T: bytemuck::Pod>(device: &Device, values: &[T]) -> metal_bridge::Result<Buffer> {
    device.new_buffer_with_data(values, StorageMode::Shared)
}

/// One of the kernels, which launches itself.
struct Program<'a> {
    name: &'a str,
    queue: &'a CommandQueue,
    kernels: NestedKernels,
}

impl<'a> Program<'a> {
    fn new(
        queue: &'a CommandQueue,
        library: &Library,
        name: &'a str,
        launches: usize,
        levels: usize,
    ) -> metal_bridge::Result<Program<'a>> {
        let device = queue.device();
        let function = library.new_function(name)?;
        let pipeline = device.new_compute_pipeline_state_for_indirect_commands(&function)?;
        let limits = NestedLimits { launches, levels };
        Ok(Program {
            name,
            queue,
            kernels: NestedKernels::new(device, &[pipeline], limits)?,
        })
    }

    /// Says what the fastest run of either kind took. Returns the buffers of the last run by the GPU.
    fn compare(
        &self,
        root: &NestedLaunch,
        make_buffers: impl Fn() -> metal_bridge::Result<Vec<Buffer>>,
    ) -> metal_bridge::Result<Vec<Buffer>> {
        let (mut by_cpu, mut by_gpu) = (Vec::new(), Vec::new());
        let mut last = Vec::new();
        for _ in 0..ROUNDS {
            for is_gpu in [false, true] {
                last = make_buffers()?;
                let buffers: Vec<&Buffer> = last.iter().collect();
                // SAFETY: the buffers are those of the kernel, which launches itself within them.
                unsafe {
                    match is_gpu {
                        true => by_gpu.push(self.kernels.run(self.queue, &[*root], &buffers)?),
                        false => {
                            by_cpu.push(self.kernels.run_by_cpu(self.queue, &[*root], &buffers)?)
                        }
                    }
                }
            }
        }
        let (cpu, gpu) = (fastest(&by_cpu), fastest(&by_gpu));
        println!(
            "{}: {} launches in {} levels",
            self.name, gpu.launches, gpu.levels
        );
        println!(
            "  launched by the CPU: {:?} (CPU {:?}, GPU {:?})",
            cpu.elapsed, cpu.cpu_time, cpu.gpu_time
        );
        println!(
            "  launched by the GPU: {:?} (CPU {:?}, GPU {:?})",
            gpu.elapsed, gpu.cpu_time, gpu.gpu_time
        );
        println!(
            "  ratio: {:.2}",
            gpu.elapsed.as_secs_f64() / cpu.elapsed.as_secs_f64()
        );
        Ok(last)
    }
}

fn fastest(runs: &[NestedRun]) -> NestedRun {
    let fastest = runs.iter().min_by_key(|run| run.elapsed);
    *fastest.expect("there is a run")
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}
