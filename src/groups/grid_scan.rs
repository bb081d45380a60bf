//! [`GridScan`]: sums of all numbers up to each, in one dispatch that needs no promise of how threadgroups run.

use crate::error::{Error, Failure, Result};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Device;
use crate::metal::library::CompileOptions;
use crate::metal::pipeline::ComputePipeline;

const THREADS: usize = 256;
/// Numbers of a threadgroup.
const TILE: usize = 1024;

/// Inclusive scans: `to[i] = from[0] + ... + from[i]`, of `u32`, modulo 2^32.
///
/// One dispatch goes once over the numbers. Threadgroups tell each other their sums, and do the work of those that may not have
/// started (`shaders/scan.metal`), so the scan ends however few threadgroups run side by side.
#[derive(Debug)]
pub struct GridScan {
    pipeline: ComputePipeline,
}

impl GridScan {
    /// Compiles the kernel.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if SIMD-groups do not have 32 threads, as on GPUs of Intel Macs; [`Error::OutOfMemory`],
    /// [`Error::Internal`].
    pub fn new(device: &Device) -> Result<GridScan> {
        let source = include_str!("../../shaders/scan.metal");
        let library = device.new_library_with_source(source, &CompileOptions::new())?;
        let function = library.new_function("inclusive_scan")?;
        let pipeline = device.new_compute_pipeline_state(&function)?;
        pipeline.check_simd_width("GridScan::new")?;
        Ok(GridScan { pipeline })
    }

    /// Encodes the scan of the first `count` numbers of `from` into `to`. Sets arguments 0 to 3 of the encoder. No numbers: does
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for more numbers than a buffer holds, [`Error::InvalidArgument`] if both buffers are one, and those
    /// of the encoder's calls.
    pub fn encode(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        from: &Buffer,
        to: &Buffer,
        count: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "GridScan::encode";
        if from.as_ptr() == to.as_ptr() {
            let message =
                "the scan reads numbers again when others are written: it needs two buffers";
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let held = from.len().min(to.len()) / size_of::<u32>();
        let short = u32::try_from(count).ok().filter(|_| count <= held);
        let Some(numbers) = short else {
            let message = format!("{count} numbers, but the buffers hold {held}");
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        };
        if count == 0 {
            return Ok(());
        }
        let tiles = count.div_ceil(TILE);
        let device = self.pipeline.device();
        let sums = device.new_buffer_with_data(&vec![0u32; 2 * tiles], StorageMode::Shared)?;
        encoder.set_compute_pipeline_state(&self.pipeline)?;
        encoder.set_buffer_read_only(from, 0, 0)?;
        encoder.set_buffer(to, 0, 1)?;
        encoder.set_value(&numbers, 2)?;
        encoder.set_buffer(&sums, 0, 3)?;
        // SAFETY: the kernel touches `count` numbers of the first two buffers, which hold as many, and two words of the last
        // for each of the threadgroups.
        unsafe { encoder.dispatch_threadgroups(tiles, THREADS) }
    }
}
