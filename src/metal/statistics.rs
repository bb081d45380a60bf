//! [`LiveObjects`]: how many objects of the bridge exist, for leak tests and monitoring.

use std::fmt;

use super::device::Device;
use crate::sys;

/// A kind of object that the bridge counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ObjectKind {
    Error,
    Device,
    Buffer,
    CommandQueue,
    CommandBuffer,
    ComputeEncoder,
    BlitEncoder,
    Library,
    Function,
    ConstantValues,
    ComputePipeline,
    SharedEvent,
    Memory,
    Transfer,
    Arena,
    ResidencySet,
    MpsKernel,
    IndirectCommandBuffer,
    DynamicLibrary,
    FunctionHandle,
    VisibleFunctionTable,
}

impl ObjectKind {
    /// Every kind.
    pub const ALL: [ObjectKind; sys::MTB_HANDLE_KIND_COUNT as usize] = [
        ObjectKind::Error,
        ObjectKind::Device,
        ObjectKind::Buffer,
        ObjectKind::CommandQueue,
        ObjectKind::CommandBuffer,
        ObjectKind::ComputeEncoder,
        ObjectKind::BlitEncoder,
        ObjectKind::Library,
        ObjectKind::Function,
        ObjectKind::ConstantValues,
        ObjectKind::ComputePipeline,
        ObjectKind::SharedEvent,
        ObjectKind::Memory,
        ObjectKind::Transfer,
        ObjectKind::Arena,
        ObjectKind::ResidencySet,
        ObjectKind::MpsKernel,
        ObjectKind::IndirectCommandBuffer,
        ObjectKind::DynamicLibrary,
        ObjectKind::FunctionHandle,
        ObjectKind::VisibleFunctionTable,
    ];

    fn to_sys(self) -> sys::mtb_handle_kind {
        match self {
            ObjectKind::Error => sys::MTB_HANDLE_ERROR,
            ObjectKind::Device => sys::MTB_HANDLE_DEVICE,
            ObjectKind::Buffer => sys::MTB_HANDLE_BUFFER,
            ObjectKind::CommandQueue => sys::MTB_HANDLE_QUEUE,
            ObjectKind::CommandBuffer => sys::MTB_HANDLE_COMMAND_BUFFER,
            ObjectKind::ComputeEncoder => sys::MTB_HANDLE_COMPUTE_ENCODER,
            ObjectKind::BlitEncoder => sys::MTB_HANDLE_BLIT_ENCODER,
            ObjectKind::Library => sys::MTB_HANDLE_LIBRARY,
            ObjectKind::Function => sys::MTB_HANDLE_FUNCTION,
            ObjectKind::ConstantValues => sys::MTB_HANDLE_CONSTANT_VALUES,
            ObjectKind::ComputePipeline => sys::MTB_HANDLE_PIPELINE,
            ObjectKind::SharedEvent => sys::MTB_HANDLE_EVENT,
            ObjectKind::Memory => sys::MTB_HANDLE_MEMORY,
            ObjectKind::Transfer => sys::MTB_HANDLE_TRANSFER,
            ObjectKind::Arena => sys::MTB_HANDLE_ARENA,
            ObjectKind::ResidencySet => sys::MTB_HANDLE_RESIDENCY_SET,
            ObjectKind::MpsKernel => sys::MTB_HANDLE_MPS_KERNEL,
            ObjectKind::IndirectCommandBuffer => sys::MTB_HANDLE_INDIRECT_COMMAND_BUFFER,
            ObjectKind::DynamicLibrary => sys::MTB_HANDLE_DYNAMIC_LIBRARY,
            ObjectKind::FunctionHandle => sys::MTB_HANDLE_FUNCTION_HANDLE,
            ObjectKind::VisibleFunctionTable => sys::MTB_HANDLE_VISIBLE_FUNCTION_TABLE,
        }
    }

    /// What the kind is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Error => "error",
            ObjectKind::Device => "device",
            ObjectKind::Buffer => "buffer",
            ObjectKind::CommandQueue => "command queue",
            ObjectKind::CommandBuffer => "command buffer",
            ObjectKind::ComputeEncoder => "compute encoder",
            ObjectKind::BlitEncoder => "blit encoder",
            ObjectKind::Library => "library",
            ObjectKind::Function => "function",
            ObjectKind::ConstantValues => "constant values",
            ObjectKind::ComputePipeline => "compute pipeline",
            ObjectKind::SharedEvent => "shared event",
            ObjectKind::Memory => "memory",
            ObjectKind::Transfer => "transfer",
            ObjectKind::Arena => "arena",
            ObjectKind::ResidencySet => "residency set",
            ObjectKind::MpsKernel => "MPS kernel",
            ObjectKind::IndirectCommandBuffer => "indirect command buffer",
            ObjectKind::DynamicLibrary => "dynamic library",
            ObjectKind::FunctionHandle => "function handle",
            ObjectKind::VisibleFunctionTable => "visible function table",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            ObjectKind::Error => "errors",
            ObjectKind::Device => "devices",
            ObjectKind::Buffer => "buffers",
            ObjectKind::CommandQueue => "command queues",
            ObjectKind::CommandBuffer => "command buffers",
            ObjectKind::ComputeEncoder => "compute encoders",
            ObjectKind::BlitEncoder => "blit encoders",
            ObjectKind::Library => "libraries",
            ObjectKind::Function => "functions",
            ObjectKind::ConstantValues => "constant values",
            ObjectKind::ComputePipeline => "compute pipelines",
            ObjectKind::SharedEvent => "shared events",
            ObjectKind::Memory => "memories",
            ObjectKind::Transfer => "transfers",
            ObjectKind::Arena => "arenas",
            ObjectKind::ResidencySet => "residency sets",
            ObjectKind::MpsKernel => "MPS kernels",
            ObjectKind::IndirectCommandBuffer => "indirect command buffers",
            ObjectKind::DynamicLibrary => "dynamic libraries",
            ObjectKind::FunctionHandle => "function handles",
            ObjectKind::VisibleFunctionTable => "visible function tables",
        }
    }
}

/// How many objects of each kind exist, and have ever been made, in the whole process. A committed command buffer, and
/// what it uses, exists until it has completed.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveObjects {
    live: [u64; ObjectKind::ALL.len()],
    made: [u64; ObjectKind::ALL.len()],
}

impl Device {
    /// Counts the objects of the whole process; all zero in a build without a Metal.
    pub fn live_objects() -> LiveObjects {
        let mut objects = LiveObjects::default();
        if cfg!(metal_backend) {
            for (index, kind) in ObjectKind::ALL.into_iter().enumerate() {
                // SAFETY: takes numbers and may be called from any thread.
                unsafe {
                    objects.live[index] = sys::mtb_live_handles(kind.to_sys());
                    objects.made[index] = sys::mtb_made_handles(kind.to_sys());
                }
            }
        }
        objects
    }
}

impl LiveObjects {
    /// Objects of this kind that exist.
    pub fn live(&self, kind: ObjectKind) -> u64 {
        self.live[kind as usize]
    }

    /// Objects of this kind that were ever made.
    pub fn made(&self, kind: ObjectKind) -> u64 {
        self.made[kind as usize]
    }

    /// Objects that exist, of all kinds.
    pub fn total(&self) -> u64 {
        self.live.iter().sum()
    }

    /// Whether as many of each kind exist as in `other`, whatever was made in between.
    pub fn same_live(&self, other: &LiveObjects) -> bool {
        self.live == other.live
    }
}

/// The kinds that exist, such as `1 device, 3 buffers`.
impl fmt::Display for LiveObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for kind in ObjectKind::ALL
            .into_iter()
            .filter(|&kind| self.live(kind) > 0)
        {
            let count = self.live(kind);
            let name = if count == 1 {
                kind.name()
            } else {
                kind.plural()
            };
            write!(f, "{separator}{count} {name}")?;
            separator = ", ";
        }
        if separator.is_empty() {
            f.write_str("none")
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for LiveObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = |&kind: &ObjectKind| (kind.name(), (self.live(kind), self.made(kind)));
        f.debug_map()
            .entries(ObjectKind::ALL.iter().map(entry))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_a_list() {
        let mut objects = LiveObjects::default();
        assert_eq!(objects.to_string(), "none");
        objects.live[ObjectKind::Device as usize] = 1;
        objects.live[ObjectKind::Library as usize] = 2;
        assert_eq!(objects.to_string(), "1 device, 2 libraries");
        assert_eq!(objects.total(), 3);
        assert!(!objects.same_live(&LiveObjects::default()));
    }

    #[test]
    fn every_kind_has_its_index() {
        for (index, kind) in ObjectKind::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, kind.to_sys() as usize), (index, index));
        }
    }
}
