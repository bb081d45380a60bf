//! The side that is compared with: wgpu on a Vulkan that computes on the CPU, Mesa's. Nobody here wrote any of it.

use std::sync::Arc;
use std::sync::mpsc;

use wgpu::util::DeviceExt;

use crate::module::EntryPoint;
use crate::program::Program;

pub struct Vulkan {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pub name: String,
}

/// Buffers with no bytes of their own are read through one of this kind.
const READ_BACK: wgpu::BufferUsages =
    wgpu::BufferUsages::MAP_READ.union(wgpu::BufferUsages::COPY_DST);

impl Vulkan {
    pub fn new() -> Result<Vulkan, String> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        let adapter = adapters
            .into_iter()
            .find(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu)
            .ok_or("no Vulkan on the CPU: apt-get install mesa-vulkan-drivers libvulkan1")?;
        let wanted =
            wgpu::Features::SHADER_F16 | wgpu::Features::SHADER_INT64 | wgpu::Features::SHADER_F64;
        let descriptor = wgpu::DeviceDescriptor {
            required_features: adapter.features() & wanted,
            required_limits: adapter.limits(),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|error| error.to_string())?;
        let info = adapter.get_info();
        Ok(Vulkan {
            device,
            queue,
            name: format!("{}, {}", info.name, info.driver_info),
        })
    }

    /// Runs an entry point on buffers that hold `contents`: what they hold afterwards.
    pub fn launch(
        &self,
        entry: &EntryPoint,
        program: &Program,
        contents: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, String> {
        let scope = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let launched = self.encode(entry, program, contents);
        match pollster::block_on(scope.pop()) {
            Some(error) => Err(error.to_string()),
            None => self.read(&launched),
        }
    }

    fn encode(
        &self,
        entry: &EntryPoint,
        program: &Program,
        contents: &[Vec<u8>],
    ) -> Vec<wgpu::Buffer> {
        let device = &self.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(program.source.as_str().into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some(&entry.name),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::UNIFORM
            | wgpu::BufferUsages::COPY_SRC;
        let buffers: Vec<wgpu::Buffer> = contents
            .iter()
            .map(|contents| {
                device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                    label: None,
                    contents,
                    usage,
                })
            })
            .collect();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        let mut groups: Vec<u32> = entry.bindings.iter().map(|bound| bound.group).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            let entries: Vec<wgpu::BindGroupEntry<'_>> = entry
                .bindings
                .iter()
                .zip(&buffers)
                .filter(|(bound, _)| bound.group == group)
                .map(|(bound, buffer)| wgpu::BindGroupEntry {
                    binding: bound.binding,
                    resource: buffer.as_entire_binding(),
                })
                .collect();
            let bound = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(group),
                entries: &entries,
            });
            pass.set_bind_group(group, &bound, &[]);
        }
        let [x, y, z] = program.groups;
        pass.dispatch_workgroups(x, y, z);
        drop(pass);
        let copies = buffers
            .iter()
            .map(|buffer| {
                let copy = device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: buffer.size(),
                    usage: READ_BACK,
                    mapped_at_creation: false,
                });
                encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, buffer.size());
                copy
            })
            .collect();
        self.queue.submit([encoder.finish()]);
        copies
    }

    fn read(&self, copies: &[wgpu::Buffer]) -> Result<Vec<Vec<u8>>, String> {
        let (sender, receiver) = mpsc::channel();
        let sender = Arc::new(sender);
        for copy in copies {
            let sender = Arc::clone(&sender);
            copy.map_async(wgpu::MapMode::Read, .., move |mapped| {
                // Who receives has gone only after an error that is reported already.
                let _ = sender.send(mapped);
            });
        }
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| error.to_string())?;
        drop(sender);
        for mapped in receiver {
            mapped.map_err(|error| error.to_string())?;
        }
        copies
            .iter()
            .map(|copy| {
                let view = copy
                    .get_mapped_range(..)
                    .map_err(|error| error.to_string())?;
                Ok(view.to_vec())
            })
            .collect()
    }
}
