//! [`Gpu`] and [`Roofline`]: whether arithmetic or memory limits a kernel, by the peaks that Apple has published.

use serde::Serialize;

use super::{KernelProfile, ObjectProfile, Space};

/// Bytes of the lines that objects are counted in.
const LINE: u64 = 128;

/// The peaks of a GPU, as Apple published them: of the chip's variant with so many cores. What a kernel reaches is less, and
/// Apple publishes no peak for `half`, `bfloat` or functions: the peak for `float` stands for all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Gpu {
    /// The chip.
    pub name: &'static str,
    /// Its GPU's cores.
    pub cores: usize,
    /// Operations of `float` in a second, in units of 10^12.
    pub teraflops: f64,
    /// Bytes from and to memory in a second, in units of 10^9.
    pub gigabytes: f64,
}

const fn gpu(name: &'static str, cores: usize, teraflops: f64, gigabytes: f64) -> Gpu {
    Gpu {
        name,
        cores,
        teraflops,
        gigabytes,
    }
}

impl Gpu {
    /// GPUs whose peaks Apple has published.
    pub const PUBLISHED: [Gpu; 7] = [
        gpu("M1", 8, 2.6, 68.0),
        gpu("M1 Pro", 16, 5.2, 200.0),
        gpu("M1 Max", 32, 10.4, 400.0),
        gpu("M1 Ultra", 64, 20.8, 800.0),
        gpu("M2", 10, 3.6, 100.0),
        gpu("M2 Max", 38, 13.6, 400.0),
        gpu("M2 Ultra", 76, 27.2, 800.0),
    ];

    /// The one of this name; capitals do not matter.
    pub fn named(name: &str) -> Option<Gpu> {
        let mut all = Gpu::PUBLISHED.into_iter();
        all.find(|gpu| gpu.name.eq_ignore_ascii_case(name))
    }

    /// Operations for each byte from which on arithmetic limits a kernel, and not memory.
    pub fn ridge(&self) -> f64 {
        1000.0 * self.teraflops / self.gigabytes
    }

    /// The lines that memory moves at its peak in the time of so many operations at theirs.
    pub(super) fn lines_meanwhile(&self, operations: u64) -> f64 {
        operations as f64 / (self.ridge() * LINE as f64)
    }
}

/// What limits a kernel on a GPU, if nothing else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Bound {
    /// It has fewer operations for each byte than the ridge of the GPU.
    Memory,
    /// It has as many, or more.
    Arithmetic,
}

impl Bound {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Memory => "memory bound",
            Bound::Arithmetic => "compute bound",
        }
    }
}

/// A kernel's point under the roofs of GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Roofline {
    /// Operations of floating-point numbers.
    pub operations: u64,
    /// Bytes of the lines of 128 bytes of device and constant memory that launches touch: each line counts once for a launch
    /// that reads from it, and once for one that writes to it. More move where caches are too small.
    pub bytes: u64,
    /// Operations for each of these bytes.
    pub intensity: f64,
    /// Whether `bytes` has all accesses; else there were more, and the intensity is lower.
    pub complete: bool,
}

impl Roofline {
    /// The lines that launches touch.
    pub(super) fn lines(&self) -> f64 {
        (self.bytes / LINE) as f64
    }

    /// What limits the kernel on the GPU.
    pub fn bound(&self, gpu: &Gpu) -> Bound {
        match self.intensity < gpu.ridge() {
            true => Bound::Memory,
            false => Bound::Arithmetic,
        }
    }

    /// The most operations in a second that the kernel can reach on the GPU, in units of 10^12.
    pub fn attainable(&self, gpu: &Gpu) -> f64 {
        gpu.teraflops.min(self.intensity * gpu.gigabytes / 1000.0)
    }
}

impl KernelProfile {
    /// Its operations for each byte; `None` if it computed nothing with floating-point numbers, or touched no device memory.
    pub fn roofline(&self) -> Option<Roofline> {
        let objects = self.objects.iter();
        let objects = objects.filter(|object| object.is_in_device_memory());
        let lines = objects.clone().map(ObjectProfile::lines);
        let (operations, bytes) = (
            self.all_operations().floating_point(),
            lines.sum::<u64>() * LINE,
        );
        (operations > 0 && bytes > 0).then(|| Roofline {
            operations,
            bytes,
            intensity: operations as f64 / bytes as f64,
            complete: objects.clone().all(|object| object.complete),
        })
    }
}

impl ObjectProfile {
    pub(super) fn is_in_device_memory(&self) -> bool {
        matches!(self.object.space, Space::Buffer | Space::Elsewhere)
    }

    /// Lines of 128 bytes that launches read from, and those that they wrote to.
    pub(super) fn lines(&self) -> u64 {
        self.lines_read + self.lines_written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ridge_parts_memory_from_arithmetic() {
        let m1 = Gpu::PUBLISHED[0];
        let at = |intensity: f64| Roofline {
            operations: 1,
            bytes: 1,
            intensity,
            complete: true,
        };
        assert_eq!(m1.ridge(), 2600.0 / 68.0);
        assert_eq!(at(38.0).bound(&m1), Bound::Memory);
        assert_eq!(at(38.0).attainable(&m1), 38.0 * 68.0 / 1000.0);
        assert_eq!(at(39.0).bound(&m1), Bound::Arithmetic);
        assert_eq!(at(39.0).attainable(&m1), 2.6);
    }
}
