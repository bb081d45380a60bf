//! [`Ops`]: the kernels of one device, behind which each operation stands as a method.

use std::fmt;
use std::sync::Arc;

use crate::error::{Error, Failure, Result};
use crate::metal::device::{Device, GpuFamily};
use crate::ops::lane_execution::LaneExecution;
use crate::ops::pipelines::Pipelines;
use crate::ops::product_kernels::ProductKernels;

/// The operations on one device. Clones share the compiled kernels; each kernel is compiled when it is first used.
#[derive(Clone)]
pub struct Ops {
    pub(super) pipelines: Arc<Pipelines>,
    pub(super) lanes: LaneExecution,
    /// Whether the device has simdgroup matrices. GPUs of Intel Macs do not, and use the kernels for few rows.
    pub(super) has_matrices: bool,
    pub(super) products: ProductKernels,
}

impl Ops {
    /// The operations on `device`. Compiles nothing yet. If the device's simdgroups do not have 32 threads, the first
    /// use of a kernel fails with [`Error::Unsupported`](crate::Error::Unsupported).
    ///
    /// # Errors
    ///
    /// None today.
    pub fn new(device: &Device) -> Result<Ops> {
        Ops::with_lane_execution(device, LaneExecution::of(device))
    }

    /// The operations on `device`, spread as for lanes that run in this way. The results are equal up to rounding.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::new`].
    pub fn with_lane_execution(device: &Device, lanes: LaneExecution) -> Result<Ops> {
        Ok(Ops::with_pipelines(Pipelines::new(device, lanes)))
    }

    /// The operations on `device` for a [`DispatchSequence`](crate::ops::DispatchSequence), which encoders take, too.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) if the device does not
    /// [execute](Device::supports_indirect_command_buffers) indirect command buffers.
    pub fn recordable(device: &Device) -> Result<Ops> {
        if !device.supports_indirect_command_buffers() {
            let message = format!(
                "{} does not execute indirect command buffers",
                device.name()
            );
            return Err(Error::Unsupported(Failure::new("Ops::recordable", message)));
        }
        let lanes = LaneExecution::of(device);
        Ok(Ops::with_pipelines(Pipelines::recordable(device, lanes)))
    }

    fn with_pipelines(pipelines: Pipelines) -> Ops {
        Ops {
            lanes: pipelines.lanes(),
            has_matrices: pipelines.device().supports_family(GpuFamily::Apple7),
            pipelines: Arc::new(pipelines),
            products: ProductKernels::default(),
        }
    }

    /// The same operations, sharing the compiled kernels, with `kernels` for the products with weights. A new [`Ops`] has
    /// [`ProductKernels::ByRows`].
    pub fn with_product_kernels(&self, kernels: ProductKernels) -> Ops {
        Ops {
            products: kernels,
            ..self.clone()
        }
    }

    /// The kernels that make the products with weights.
    pub fn product_kernels(&self) -> ProductKernels {
        self.products
    }

    /// The kernels that make a product of so many rows: [`Vector`](ProductKernels::Vector) or [`Matrix`](ProductKernels::Matrix).
    pub fn product_kernels_of(&self, rows: usize) -> ProductKernels {
        match self.products {
            _ if !self.has_matrices => ProductKernels::Vector,
            ProductKernels::ByRows if rows <= self.lanes.most_rows_for_vectors() => {
                ProductKernels::Vector
            }
            ProductKernels::ByRows => ProductKernels::Matrix,
            fixed => fixed,
        }
    }

    /// The device that the kernels are compiled for.
    pub fn device(&self) -> &Device {
        self.pipelines.device()
    }
}

impl fmt::Debug for Ops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ops")
            .field("device", self.device())
            .field("lanes", &self.lanes)
            .field("products", &self.products)
            .finish_non_exhaustive()
    }
}
