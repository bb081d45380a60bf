//! Dynamic libraries: of sources and of files, in what order they are looked in, and what is refused.

use metal_bridge::{DynamicLibrary, LibraryType};
use metal_bridge_test_support::in_child;

use super::*;

const KERNEL: &str = "int changed(int x);
    kernel void change(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) { values[i] = changed(i); }";
const DOUBLING: &str = "int changed(int x) { return 2 * x; }";
const ADDING: &str = "int changed(int x) { return x + 1; }";

fn invalid(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument(_))
}

fn dynamic(source: &str, install_name: &str) -> DynamicLibrary {
    let options = CompileOptions::new().dynamic(install_name);
    let library = device().new_library_with_source(source, &options).unwrap();
    device().new_dynamic_library(&library).unwrap()
}

/// A pipeline of a kernel that was compiled with the one library and preloads the other.
fn pipeline_with(
    linked: Option<&DynamicLibrary>,
    preloaded: Option<&DynamicLibrary>,
) -> metal_bridge::Result<ComputePipeline> {
    let options = CompileOptions::new();
    let options = linked.map_or(options.clone(), |library| options.library(library));
    let library = device().new_library_with_source(KERNEL, &options)?;
    let descriptor = ComputePipelineDescriptor::new(&library.new_function("change")?);
    let descriptor = match preloaded {
        Some(library) => descriptor.preload(library),
        None => descriptor,
    };
    device().new_compute_pipeline_state_with_descriptor(&descriptor)
}

fn results_of(pipeline: &ComputePipeline) -> Buffer {
    let values = numbers();
    let mut commands = queue().command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_compute_pipeline_state(pipeline).unwrap();
    encoder.set_buffer(&values, 0, 0).unwrap();
    // SAFETY: one integer a thread, as many as the buffer has; `changed` has the type that the kernel declares.
    unsafe { encoder.dispatch_threads(COUNT, 32).unwrap() };
    encoder.end_encoding().unwrap();
    commands.commit().unwrap();
    values
}

#[test]
fn kernels_call_libraries_and_look_in_preloaded_ones_first() {
    if !device().supports_dynamic_libraries() {
        return;
    }
    let (doubling, adding) = (dynamic(DOUBLING, "/doubling"), dynamic(ADDING, "/adding"));
    assert_eq!(doubling.install_name(), "/doubling");
    assert_eq!(doubling.device(), device());
    assert_eq!(doubling, doubling.clone());
    assert_ne!(doubling, adding);
    let of_linked = pipeline_with(Some(&doubling), None).unwrap();
    let of_preloaded = pipeline_with(Some(&doubling), Some(&adding)).unwrap();
    // The pipelines keep what they call.
    drop((doubling, adding));
    assert_values(&results_of(&of_linked), |i| 2 * i);
    assert_values(&results_of(&of_preloaded), |i| i + 1);
    let alone = pipeline_with(None, None);
    assert_error(alone, |e| matches!(e, Error::Compile(_)), "changed(int)");
}

#[test]
fn libraries_come_back_from_files() {
    in_child(
        "functions::dynamic_libraries::libraries_come_back_from_files",
        || {
            if !device().supports_dynamic_libraries() {
                return;
            }
            let folder = std::env::temp_dir().join(format!("metal-bridge-{}", std::process::id()));
            std::fs::create_dir(&folder).unwrap();
            let path = folder.join("doubling.metallib");
            let unsupported = |e: &Error| matches!(e, Error::Unsupported(_));
            let not_found = |e: &Error| matches!(e, Error::NotFound(_));
            let load = || device().new_dynamic_library_with_file(&path);
            {
                let made = dynamic(DOUBLING, "@executable_path/doubling.metallib");
                assert_error(load(), not_found, "doubling.metallib");
                std::fs::write(&path, "damaged").unwrap();
                assert_error(load(), unsupported, "doubling.metallib");
                made.serialize_to_file(&path).unwrap();
                let missing = made.serialize_to_file(folder.join("none/here"));
                assert_error(missing, unsupported, "cannot be written");
                assert_error(made.serialize_to_file("a\0b"), invalid, "NUL");
                let a_folder = made.serialize_to_file(&folder);
                assert_error(a_folder, invalid, "is not a regular file");
                // Not the user's own folder.
                std::fs::create_dir(folder.join("~")).unwrap();
                std::env::set_current_dir(&folder).unwrap();
                made.serialize_to_file("~/x").unwrap();
                device().new_dynamic_library_with_file("~/x").unwrap();
                assert!(folder.join("~/x").exists());
                std::env::set_current_dir("/").unwrap();
            }
            let loaded = load().unwrap();
            std::fs::remove_dir_all(&folder).unwrap();
            assert_eq!(loaded.install_name(), "@executable_path/doubling.metallib");
            let pipeline = pipeline_with(Some(&loaded), None).unwrap();
            drop(loaded);
            assert_values(&results_of(&pipeline), |i| 2 * i);
            drop(pipeline);
            let live = Device::live_objects();
            let kind = metal_bridge::ObjectKind::DynamicLibrary;
            assert_eq!(live.live(kind), 0, "{live:?}");
        },
    );
}

#[test]
fn wrong_options_are_refused() {
    if !device().supports_dynamic_libraries() {
        return;
    }
    let compile = |options| device().new_library_with_source(DOUBLING, &options);
    let nameless = CompileOptions {
        library_type: LibraryType::Dynamic,
        ..CompileOptions::new()
    };
    assert_error(compile(nameless), invalid, "install name");
    let named = CompileOptions {
        install_name: Some("/name".to_owned()),
        ..CompileOptions::new()
    };
    assert_error(compile(named), invalid, "has no install name");
    assert_error(compile(CompileOptions::new().dynamic("")), invalid, "empty");
    assert_error(
        compile(CompileOptions::new().dynamic("a\0b")),
        invalid,
        "NUL",
    );
    let executable = compile(CompileOptions::new()).unwrap();
    let made = device().new_dynamic_library(&executable);
    assert_error(made, invalid, "the library is executable");
    let constant = "constant int c [[function_constant(0)]]; int changed(int x) { return x + c; }";
    let options = CompileOptions::new().dynamic("/constant");
    let with_constant = device()
        .new_library_with_source(constant, &options)
        .unwrap();
    let made = device().new_dynamic_library(&with_constant);
    assert_error(made, |e| matches!(e, Error::Compile(_)), "constant");

    let Some(other_device) = other_device() else {
        return;
    };
    let wrong_device = |e: &Error| matches!(e, Error::WrongDevice(_));
    let doubling = dynamic(DOUBLING, "/doubling");
    let options = CompileOptions::new().library(&doubling);
    let linked = other_device.new_library_with_source(KERNEL, &options);
    assert_error(linked, wrong_device, "dynamic library");
    let made = other_device.new_dynamic_library(&executable);
    assert_error(made, wrong_device, "the library belongs to");
}
