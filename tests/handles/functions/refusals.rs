//! Each mistake with pipelines, handles, tables and their bindings is an error of its own.

use super::*;

fn invalid(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument(_))
}

fn wrong_device(error: &Error) -> bool {
    matches!(error, Error::WrongDevice(_))
}

fn out_of_range(error: &Error) -> bool {
    matches!(error, Error::OutOfRange(_))
}

#[test]
fn wrong_pipelines_and_tables_are_refused() {
    let Some(scene) = &*SCENE else { return };
    let make = |descriptor: &ComputePipelineDescriptor| {
        device().new_compute_pipeline_state_with_descriptor(descriptor)
    };
    let call = scene.library.new_function("call").unwrap();
    let plain = ComputePipelineDescriptor::new(&call);
    assert_error(make(&plain.clone().link(&call)), invalid, "`call` is not a");
    assert_error(
        make(&plain.clone().link_privately(&call)),
        invalid,
        "[[visible]]",
    );
    assert_error(
        device().new_compute_pipeline_state(&scene.doubled),
        invalid,
        "`doubled` is not a kernel",
    );

    let linked = plain.clone().link(&scene.doubled);
    for twice in [
        linked
            .clone()
            .link(&scene.library.new_function("doubled").unwrap()),
        linked.link_privately(&scene.doubled),
    ] {
        let two = "two functions with the name `doubled`";
        assert_error(make(&twice), invalid, two);
    }

    let not_found = |e: &Error| matches!(e, Error::NotFound(_));
    let unlinked = scene.library.new_function("doubled").unwrap();
    let handle = scene.call.function_handle(&unlinked);
    assert_error(handle, not_found, "mtb_function_handle_create");
    let no_table = scene.call.new_visible_function_table(0);
    assert_error(no_table, invalid, "zero");
    let large = scene.call.new_visible_function_table(usize::MAX);
    assert_error(large, out_of_range, "largest buffer");

    let other = make(&plain.clone().link(&scene.doubled)).unwrap();
    let table = other.new_visible_function_table(2).unwrap();
    let foreign = scene.call.function_handle(&scene.doubled).unwrap();
    let set = table.set_function(Some(&foreign), 1);
    assert_error(set, invalid, "another pipeline");
    assert_error(table.set_function(None, 2), out_of_range, "index 2");
    // A refused change has ended.
    let own = other.function_handle(&scene.doubled).unwrap();
    table.set_function(Some(&own), 1).unwrap();

    let Some(other_device) = other_device() else {
        return;
    };
    let far = Scene::new(other_device);
    let handle = scene.call.function_handle(&far.doubled);
    assert_error(handle, wrong_device, "function");
    let linked = make(&plain.link(&far.doubled));
    assert_error(linked, wrong_device, "linked function");
    let table = far.table(&far.doubled, &far.negative);
    let mut commands = queue().command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    let bound = encoder.set_visible_function_table(&table, 1);
    assert_error(bound, wrong_device, "visible function table");
    // The refused call does not use the table.
    table.set_function(None, 0).unwrap();
}

#[test]
fn wrong_bindings_are_refused() {
    let Some(scene) = &*SCENE else { return };
    let take_memory = scene.library.new_function("take_memory").unwrap();
    let memory = device().new_compute_pipeline_state(&take_memory).unwrap();
    let call = scene.library.new_function("call").unwrap();
    let alone = device().new_compute_pipeline_state(&call).unwrap();
    let foreign = alone.new_visible_function_table(2).unwrap();
    let table = scene.table(&scene.doubled, &scene.negative);
    let values = numbers();
    let mut commands = queue().command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_compute_pipeline_state(&scene.call).unwrap();
    encoder.set_buffer(&values, 0, 0).unwrap();
    let past = encoder.set_visible_function_table(&table, metal_bridge::MAX_BINDINGS);
    assert_error(past, out_of_range, "31");
    let launch = |encoder: &mut metal_bridge::ComputeEncoder<'_>| {
        // SAFETY: one integer a thread, as many as the buffers have; every launch but the last is refused.
        unsafe { encoder.dispatch_threads(COUNT, 32) }
    };
    let missing = |e: &Error| matches!(e, Error::MissingArgument(_));
    assert_error(launch(&mut encoder), missing, "no visible function table");
    encoder.set_buffer(&values, 0, 1).unwrap();
    assert_error(
        launch(&mut encoder),
        invalid,
        "a buffer is set at its index",
    );
    encoder.set_visible_function_table(&foreign, 1).unwrap();
    assert_error(launch(&mut encoder), invalid, "another pipeline");
    encoder.set_compute_pipeline_state(&memory).unwrap();
    let taken = "a visible function table is set at its index";
    assert_error(launch(&mut encoder), invalid, taken);
    encoder.set_compute_pipeline_state(&scene.call).unwrap();
    encoder.set_visible_function_table(&table, 1).unwrap();
    launch(&mut encoder).unwrap();
    encoder.end_encoding().unwrap();
    commands.commit().unwrap();
    assert_values(&values, |i| if i % 2 == 0 { 2 * i } else { -i });
}

#[cfg(software_metal)]
#[test]
fn a_failed_compilation_is_an_error() {
    use metal_bridge_test_support::{failures, in_child};

    in_child(
        "functions::refusals::a_failed_compilation_is_an_error",
        || {
            let failed = |e: &Error| matches!(e, Error::Compile(_));
            let library = device()
                .new_library_with_source(SOURCE, &CompileOptions::new())
                .unwrap();
            let function = |name| library.new_function(name).unwrap();
            let linked =
                ComputePipelineDescriptor::new(&function("call")).link(&function("doubled"));
            let make = || device().new_compute_pipeline_state_with_descriptor(&linked);
            failures::fail_compile(1);
            assert_error(make(), failed, "mtb_pipeline_create_with_descriptor");
            make().unwrap();
        },
    );
}

/// A device of a family without function pointers and dynamic libraries.
#[cfg(software_metal)]
#[test]
fn older_devices_refuse() {
    use metal_bridge_test_support::in_child_with;

    let family = [("SOFTWARE_METAL_FAMILY", "5")];
    in_child_with("functions::refusals::older_devices_refuse", &family, || {
        let unsupported = |e: &Error| matches!(e, Error::Unsupported(_));
        assert!(!device().supports_function_pointers());
        assert!(!device().supports_dynamic_libraries());
        let library = device()
            .new_library_with_source(SOURCE, &CompileOptions::new())
            .unwrap();
        let function = |name| library.new_function(name).unwrap();
        let (take_memory, doubled) = (function("take_memory"), function("doubled"));
        let linked = ComputePipelineDescriptor::new(&take_memory).link(&doubled);
        let made = device().new_compute_pipeline_state_with_descriptor(&linked);
        assert_error(made, unsupported, "has no function pointers");
        let pipeline = device().new_compute_pipeline_state(&take_memory).unwrap();
        let handle = pipeline.function_handle(&doubled);
        assert_error(handle, unsupported, "has no function pointers");
        let table = pipeline.new_visible_function_table(1);
        assert_error(table, unsupported, "has no function pointers");

        let options = CompileOptions::new().dynamic("/changed");
        let dynamic = device().new_library_with_source("int f(int x) { return x; }", &options);
        assert_error(dynamic, unsupported, "has no dynamic libraries");
        let made = device().new_dynamic_library(&library);
        assert_error(made, unsupported, "has no dynamic libraries");
        let loaded = device().new_dynamic_library_with_file("/dev/null");
        assert_error(loaded, unsupported, "has no dynamic libraries");
    });
}
