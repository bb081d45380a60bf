//! [`NestedLaunch`]: a launch in the queue, and the numbers before the launches.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::device::Size;

/// The most arguments of a launch.
pub const MAX_NESTED_ARGUMENTS: usize = 8;

/// A launch by the CPU, with which nested kernels begin.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct NestedLaunch {
    threads: [u32; 3],
    threads_per_threadgroup: [u32; 3],
    function: u32,
    level: u32,
    arguments: [u32; MAX_NESTED_ARGUMENTS],
}

impl NestedLaunch {
    /// A launch of the function at place `function` of the list that
    /// [`NestedKernels::new`](super::NestedKernels::new) got.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for more than [`MAX_NESTED_ARGUMENTS`], and for sizes above 2³² - 1.
    pub fn new(
        function: usize,
        threads: impl Into<Size>,
        threads_per_threadgroup: impl Into<Size>,
        arguments: &[u32],
    ) -> Result<NestedLaunch> {
        let mut launch = NestedLaunch {
            threads: extents(threads.into())?,
            threads_per_threadgroup: extents(threads_per_threadgroup.into())?,
            function: number(function)?,
            ..NestedLaunch::zeroed()
        };
        match launch.arguments.get_mut(..arguments.len()) {
            Some(words) => words.copy_from_slice(arguments),
            None => {
                let message = format!(
                    "{} arguments are too many for a launch: the most are {MAX_NESTED_ARGUMENTS}",
                    arguments.len()
                );
                return Err(out_of_range(message));
            }
        }
        Ok(launch)
    }

    pub(super) fn function(&self) -> usize {
        self.function as usize
    }

    pub(super) fn threads(&self) -> Size {
        size(self.threads)
    }

    pub(super) fn threads_per_threadgroup(&self) -> Size {
        size(self.threads_per_threadgroup)
    }

    /// Nothing is to run.
    pub(super) fn is_empty(&self) -> bool {
        self.threads.contains(&0)
    }

    /// Whether a threadgroup has threads, but no more than `most`.
    pub(super) fn fits(&self, most: usize) -> bool {
        let [x, y, z] = self.threads_per_threadgroup.map(u128::from);
        (1..=most as u128).contains(&(x * y * z))
    }

    pub(super) fn at_level(self, level: usize) -> NestedLaunch {
        NestedLaunch {
            level: level as u32,
            ..self
        }
    }
}

fn out_of_range(message: String) -> Error {
    Error::OutOfRange(Failure::new("NestedLaunch::new", message))
}

fn number(value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| out_of_range(format!("{value} is more than 32 bits hold")))
}

/// A count within Metal's limits, which 32 bits hold.
pub(super) fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn extents(size: Size) -> Result<[u32; 3]> {
    Ok([
        number(size.width)?,
        number(size.height)?,
        number(size.depth)?,
    ])
}

fn size([width, height, depth]: [u32; 3]) -> Size {
    Size::new(width as usize, height as usize, depth as usize)
}

/// `queue` of `nested_kernels.h`, without the launches that follow it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub(super) struct QueueHeader {
    pub(super) appended: u32,
    pub(super) dropped: u32,
    pub(super) refused: u32,
    pub(super) capacity: u32,
}

pub(super) const HEADER_BYTES: usize = size_of::<QueueHeader>();
pub(super) const LAUNCH_BYTES: usize = size_of::<NestedLaunch>();
