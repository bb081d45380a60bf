//! A module as naga reads it, and what each of its compute entry points has bound.

use naga::proc::Layouter;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{
    AddressSpace, ArraySize, GlobalVariable, Handle, Module, Scalar, ShaderStage, StorageAccess,
    Type, TypeInner,
};

use crate::program::Program;

pub struct Checked {
    pub module: Module,
    pub info: ModuleInfo,
    layouts: Layouter,
}

/// A variable that an entry point uses.
pub struct Binding {
    pub name: String,
    pub group: u32,
    pub binding: u32,
    pub written: bool,
    pub size: usize,
    /// Where in the buffer which numbers lie.
    pub numbers: Vec<(usize, Scalar)>,
}

pub struct EntryPoint {
    pub name: String,
    pub threads: [u32; 3],
    pub bindings: Vec<Binding>,
}

impl Checked {
    pub fn new(source: &str) -> Result<Checked, String> {
        let module =
            naga::front::wgsl::parse_str(source).map_err(|error| error.emit_to_string(source))?;
        let info = Validator::new(ValidationFlags::all(), Capabilities::all())
            .validate(&module)
            .map_err(|error| error.emit_to_string(source))?;
        let mut layouts = Layouter::default();
        layouts
            .update(module.to_ctx())
            .map_err(|error| error.to_string())?;
        Ok(Checked {
            module,
            info,
            layouts,
        })
    }

    /// Those for compute, and of each the reason where a test cannot bind what it wants.
    pub fn entry_points(&self, program: &Program) -> Vec<Result<EntryPoint, String>> {
        let mut entries = Vec::new();
        for (index, entry) in self.module.entry_points.iter().enumerate() {
            if entry.stage != ShaderStage::Compute {
                continue;
            }
            let used = self.info.get_entry_point(index);
            let bindings = self
                .module
                .global_variables
                .iter()
                .filter(|(handle, variable)| {
                    variable.binding.is_some() && !used[*handle].is_empty()
                })
                .map(|(_, variable)| self.binding(variable, program))
                .collect::<Result<_, _>>()
                .map_err(|reason| format!("{}: {reason}", entry.name));
            entries.push(bindings.map(|bindings| EntryPoint {
                name: entry.name.clone(),
                threads: entry.workgroup_size,
                bindings,
            }));
        }
        entries
    }

    fn binding(&self, variable: &GlobalVariable, program: &Program) -> Result<Binding, String> {
        let name = variable.name.clone().unwrap_or_default();
        let written = match variable.space {
            AddressSpace::Uniform => false,
            AddressSpace::Storage { access } => access.contains(StorageAccess::STORE),
            space => return Err(format!("{name} is in {space:?}")),
        };
        let binding = variable.binding.as_ref().ok_or("nothing is bound")?;
        let size = self.size(variable.ty, program.length);
        let mut numbers = Vec::new();
        self.numbers(variable.ty, 0, program.length, &mut numbers);
        Ok(Binding {
            name,
            group: binding.group,
            binding: binding.binding,
            written,
            // Every buffer of Vulkan's has a multiple of four bytes.
            size: size.next_multiple_of(16),
            numbers,
        })
    }

    fn size(&self, ty: Handle<Type>, length: u32) -> usize {
        match &self.module.types[ty].inner {
            TypeInner::Array {
                size: ArraySize::Dynamic,
                stride,
                ..
            } => *stride as usize * length as usize,
            TypeInner::Struct { members, .. } => match members.last() {
                Some(last) if self.is_open(last.ty) => {
                    last.offset as usize + self.size(last.ty, length)
                }
                _ => self.layouts[ty].size as usize,
            },
            _ => self.layouts[ty].size as usize,
        }
    }

    fn is_open(&self, ty: Handle<Type>) -> bool {
        let inner = &self.module.types[ty].inner;
        matches!(
            inner,
            TypeInner::Array {
                size: ArraySize::Dynamic,
                ..
            }
        )
    }

    /// The numbers of a type that lies at an offset, padding left out.
    fn numbers(
        &self,
        ty: Handle<Type>,
        offset: usize,
        length: u32,
        found: &mut Vec<(usize, Scalar)>,
    ) {
        match &self.module.types[ty].inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => found.push((offset, *scalar)),
            TypeInner::Vector { size, scalar } => {
                let width = usize::from(scalar.width);
                found.extend((0..*size as usize).map(|i| (offset + i * width, *scalar)));
            }
            TypeInner::Matrix {
                columns,
                rows,
                scalar,
            } => {
                let width = usize::from(scalar.width);
                let stride = width * if *rows as usize == 2 { 2 } else { 4 };
                for column in 0..*columns as usize {
                    let column = offset + column * stride;
                    found.extend((0..*rows as usize).map(|i| (column + i * width, *scalar)));
                }
            }
            TypeInner::Array { base, size, stride } => {
                let count = match size {
                    ArraySize::Constant(count) => count.get(),
                    _ => length,
                };
                for index in 0..count as usize {
                    self.numbers(*base, offset + index * *stride as usize, length, found);
                }
            }
            TypeInner::Struct { members, .. } => {
                for member in members {
                    self.numbers(member.ty, offset + member.offset as usize, length, found);
                }
            }
            _ => {}
        }
    }
}
