use metal_bridge::{
    ArgumentAccess, ArgumentKind, Error, FunctionConstantValues, LanguageVersion, MathMode,
};

use crate::*;

fn compile_error(error: &Error) -> bool {
    matches!(error, Error::Compile(_))
}

fn compile(source: &str, options: &CompileOptions) -> metal_bridge::Result<Library> {
    device().new_library_with_source(source, options)
}

#[test]
fn libraries_name_their_functions() {
    let mut names = LIBRARY.function_names();
    names.sort();
    assert_eq!(
        names,
        [
            "add",
            "increment",
            "increment_second",
            "line",
            "reverse",
            "scale"
        ]
    );
    assert_eq!(LIBRARY.device(), device());
    let function = LIBRARY.new_function("add").unwrap();
    assert_eq!((function.name(), function.device()), ("add", device()));
}

#[test]
fn what_does_not_compile_says_where() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\nkernel void broken(device float *x [[buffer(0)]]) {\n    \
                  x[0] = undeclared;\n}\n";
    let error = compile(source, &CompileOptions::new()).unwrap_err();
    assert!(compile_error(&error), "{error:?}");
    let log = error.failure().unwrap().message();
    assert!(log.contains(":4:") && log.contains("undeclared"), "{log}");
    // The next one compiles.
    compile(KERNELS, &CompileOptions::new()).unwrap();
}

#[test]
fn options_reach_the_compiler() {
    let source = "kernel void k(device int *x [[buffer(0)]]) { x[0] = VALUE; }";
    assert_error(
        compile(source, &CompileOptions::new()),
        compile_error,
        "VALUE",
    );
    let options = CompileOptions::new()
        .define("VALUE", "12 + __METAL_VERSION__")
        .language_version(LanguageVersion::new(2, 4))
        .math_mode(MathMode::Safe);
    let library = compile(source, &options).unwrap();
    let pipeline = device()
        .new_compute_pipeline_state(&library.new_function("k").unwrap())
        .unwrap();
    let result = device()
        .new_buffer_with_data(&[0i32], StorageMode::Shared)
        .unwrap();
    let mut commands = queue().command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_compute_pipeline_state(&pipeline).unwrap();
    encoder.set_buffer(&result, 0, 0).unwrap();
    // SAFETY: the kernel writes the one integer.
    unsafe { encoder.dispatch_threads(1, 1).unwrap() };
    encoder.end_encoding().unwrap();
    commands.commit().unwrap().wait().unwrap();
    assert_eq!(*result.wait_read::<i32>().unwrap(), [12 + 240]);

    let nul = CompileOptions::new().define("A\0B", "1");
    assert_error(
        compile(source, &nul),
        |e| matches!(e, Error::InvalidArgument(_)),
        "NUL at byte 1",
    );
}

#[test]
fn constants_are_fixed_by_index_and_by_name() {
    let (by_index, by_name) = (FunctionConstantValues::new().set(0, 3.0f32).clone(), {
        let mut values = FunctionConstantValues::new();
        values.set_named("factor", 5.0f32);
        values
    });
    let values = shared(&[1.0; 8]);
    for constants in [by_index, by_name] {
        let function = LIBRARY
            .new_function_with_constants("scale", &constants)
            .unwrap();
        let pipeline = device().new_compute_pipeline_state(&function).unwrap();
        let mut commands = queue().command_buffer().unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        encoder.set_compute_pipeline_state(&pipeline).unwrap();
        encoder.set_buffer(&values, 0, 0).unwrap();
        // SAFETY: a float a thread.
        unsafe { encoder.dispatch_threads(8, 8).unwrap() };
        drop(encoder);
        commands.commit().unwrap().wait().unwrap();
    }
    assert_eq!(*values.wait_read::<f32>().unwrap(), [15.0; 8]);
}

#[test]
fn bad_functions_are_refused() {
    let not_found = |e: &Error| matches!(e, Error::NotFound(_));
    assert_error(LIBRARY.new_function("missing"), not_found, "missing");
    assert_error(
        LIBRARY.new_function("a\0"),
        |e| matches!(e, Error::InvalidArgument(_)),
        "NUL",
    );
    let empty = FunctionConstantValues::new();
    assert_error(
        LIBRARY.new_function_with_constants("missing", &empty),
        not_found,
        "missing",
    );
    let mut named = FunctionConstantValues::new();
    named.set_named("a\0", true);
    let made = LIBRARY.new_function_with_constants("scale", &named);
    assert_error(made, |e| matches!(e, Error::InvalidArgument(_)), "NUL");
    // The constant of `scale` has no value: some Metals find out when the function is made, others with the pipeline.
    let scale = LIBRARY
        .new_function("scale")
        .and_then(|function| device().new_compute_pipeline_state(&function));
    assert_error(scale, compile_error, "factor");
}

#[test]
fn what_is_not_a_library_is_refused() {
    let missing = device().new_library_with_file("/no/such/file.metallib");
    assert_error(
        missing,
        |e| matches!(e, Error::NotFound(_)),
        "/no/such/file.metallib",
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("garbage.metallib");
    std::fs::write(&file, b"this is not a library").unwrap();
    assert!(device().new_library_with_file(&file).is_err());
    assert!(
        device()
            .new_library_with_data(b"this is not a library")
            .is_err()
    );
    assert!(device().new_library_with_data(b"").is_err());
}

#[test]
fn pipelines_tell_of_their_kernel() {
    let line = pipeline("line");
    assert_eq!((line.function_name(), line.device()), ("line", device()));
    assert_eq!(line.thread_execution_width(), 32);
    assert!(line.max_total_threads_per_threadgroup() >= 256);
    assert_eq!(line.static_threadgroup_memory_length(), 0);
    let argument = |name: &str| {
        line.arguments()
            .iter()
            .find(|argument| argument.name == name)
            .unwrap()
    };
    let (constants, values) = (argument("line"), argument("values"));
    assert_eq!(
        (constants.kind, constants.index, constants.data_size),
        (ArgumentKind::Buffer, 0, 8)
    );
    assert_eq!(
        (constants.access, values.access),
        (ArgumentAccess::ReadOnly, ArgumentAccess::ReadWrite)
    );
    assert!(values.is_used && values.index == 1);
    let reverse = pipeline("reverse");
    let copy = reverse
        .arguments()
        .iter()
        .find(|argument| argument.name == "copy")
        .unwrap();
    assert_eq!(
        (copy.kind, copy.index),
        (ArgumentKind::ThreadgroupMemory, 0)
    );
}

#[test]
fn several_threads_compile_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..3 {
            scope.spawn(move || {
                let options = CompileOptions::new().define("VALUE", thread.to_string());
                let source = "kernel void k(device int *x [[buffer(0)]]) { x[0] = VALUE; }";
                assert_eq!(compile(source, &options).unwrap().function_names(), ["k"]);
            });
        }
    });
}
