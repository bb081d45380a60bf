//! naga's translation of an entry point to Metal, and what its host code has to bind beside the module's buffers.

use naga::back::{PipelineConstants, msl, pipeline_constants};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::{AddressSpace, GlobalVariable, Module, ResourceBinding, ShaderStage};

use crate::module::{Checked, EntryPoint};

/// Where naga wants the lengths of open arrays: behind all other buffers.
pub const SIZES: u8 = 30;

/// As on a system that was new when naga's version was.
const LANGUAGE: (u8, u8) = (3, 1);

pub struct Translation {
    pub source: String,
    /// The name that naga gives the kernel.
    pub function: String,
    /// Bytes of every buffer that ends with an open array.
    pub lengths: Vec<u32>,
    /// Bytes of every variable in workgroup memory, which are arguments of the kernel.
    pub memory: Vec<usize>,
}

impl Translation {
    pub fn new(
        checked: &Checked,
        entry: &EntryPoint,
        bounds: BoundsCheckPolicy,
    ) -> Result<Translation, String> {
        let stage = (ShaderStage::Compute, entry.name.as_str());
        let constants = PipelineConstants::default();
        let (module, info) = pipeline_constants::process_overrides(
            &checked.module,
            &checked.info,
            Some(stage),
            &constants,
        )
        .map_err(|error| error.to_string())?;
        let pipeline = msl::PipelineOptions {
            entry_point: Some((ShaderStage::Compute, entry.name.clone())),
            ..msl::PipelineOptions::default()
        };
        let (source, names) = msl::write_string(&module, &info, &options(entry, bounds), &pipeline)
            .map_err(|error| error.to_string())?;
        let index = module
            .entry_points
            .iter()
            .position(|found| found.name == entry.name)
            .ok_or("naga has lost the entry point")?;
        let function = names
            .entry_point_names
            .into_iter()
            .find_map(Result::ok)
            .ok_or("naga names no entry point")?;
        let used = info.get_entry_point(index);
        let variables = || module.global_variables.iter();
        Ok(Translation {
            source,
            function,
            lengths: variables()
                .filter(|(_, variable)| has_open_length(&module, variable))
                .map(|(_, variable)| length(entry, variable))
                .collect(),
            memory: variables()
                .filter(|(handle, variable)| {
                    variable.space == AddressSpace::WorkGroup && !used[*handle].is_empty()
                })
                .map(|(_, variable)| module.types[variable.ty].inner.size(module.to_ctx()) as usize)
                .collect(),
        })
    }
}

fn options(entry: &EntryPoint, policy: BoundsCheckPolicy) -> msl::Options {
    let resources = entry.bindings.iter().enumerate().map(|(index, bound)| {
        let binding = ResourceBinding {
            group: bound.group,
            binding: bound.binding,
        };
        let target = msl::BindTarget {
            buffer: Some(index as u8),
            mutable: bound.written,
            ..msl::BindTarget::default()
        };
        (binding, target)
    });
    let resources = msl::EntryPointResources {
        resources: resources.collect(),
        immediates_buffer: None,
        sizes_buffer: Some(SIZES),
    };
    msl::Options {
        lang_version: LANGUAGE,
        per_entry_point_map: [(entry.name.clone(), resources)].into_iter().collect(),
        fake_missing_bindings: false,
        bounds_check_policies: BoundsCheckPolicies {
            index: policy,
            buffer: policy,
            image_load: policy,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        ..msl::Options::default()
    }
}

fn has_open_length(module: &Module, variable: &GlobalVariable) -> bool {
    let inner = &module.types[variable.ty].inner;
    inner.needs_host_buffer_byte_size(&module.types)
}

fn length(entry: &EntryPoint, variable: &GlobalVariable) -> u32 {
    let is_bound_at = |group, binding| {
        let binding = ResourceBinding { group, binding };
        variable.binding.as_ref() == Some(&binding)
    };
    let mut bindings = entry.bindings.iter();
    bindings
        .find(|bound| is_bound_at(bound.group, bound.binding))
        .map_or(0, |bound| bound.size as u32)
}
