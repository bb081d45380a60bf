/* Dynamic libraries: of sources and of files, and in what order they are looked in. */
#include "../harness.h"
#include "metal_bridge_functions.h"

#include <stdlib.h>

static const char kernel_source[] =
    "int changed(int x);\n"
    "kernel void f(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ values[i] = changed(20); }\n";
static const char doubling[] = "int changed(int x) { return 2 * x; }\n";
static const char adding[] = "int changed(int x) { return x + 1; }\n";

static mtb_library *compile(const char *source, const mtb_compile_options *options) {
    mtb_library *library;
    MAKE(library, mtb_library_create_from_source(shared.device, source, strlen(source), options, &error));
    return library;
}

static mtb_dynamic_library *make_dynamic(const char *source, const char *install_name) {
    const mtb_compile_options options = {.library_type = MTB_LIBRARY_DYNAMIC, .install_name = install_name};
    mtb_library *library = compile(source, &options);
    mtb_dynamic_library *made;
    MAKE(made, mtb_dynamic_library_create(library, &error));
    mtb_library_release(library);
    CHECK(strcmp(mtb_dynamic_library_install_name(made), install_name) == 0);
    return made;
}

/* What `changed(20)` gives to a kernel that was compiled with one library, or none, and whose pipeline preloads
 * another, or none. Both libraries are released before the kernel runs. */
static int result_with(mtb_dynamic_library *linked, mtb_dynamic_library *preloaded) {
    const mtb_compile_options options = {.libraries = &linked, .library_count = linked != NULL};
    mtb_library *library = compile(kernel_source, &options);
    mtb_function *function;
    mtb_pipeline *pipeline;
    mtb_compute_encoder *encoder;
    MAKE(function, mtb_function_create(library, "f", NULL, &error));
    const mtb_pipeline_descriptor descriptor = {
        .function = function, .preloaded_libraries = &preloaded, .preloaded_library_count = preloaded != NULL};
    MAKE(pipeline, mtb_pipeline_create_with_descriptor(&descriptor, &error));
    mtb_function_release(function);
    mtb_library_release(library);
    mtb_dynamic_library_release(linked);
    mtb_dynamic_library_release(preloaded);
    mtb_command_buffer *command_buffer = make_command_buffer();
    mtb_buffer *values = make_buffer(4);
    MAKE(encoder, mtb_compute_encoder_create(command_buffer, MTB_DISPATCH_SERIAL, &error));
    CHECK_OK(mtb_compute_encoder_set_pipeline(encoder, pipeline, &error));
    CHECK_OK(mtb_compute_encoder_set_buffer(encoder, values, 0, 0, &error));
    CHECK_OK(mtb_compute_encoder_dispatch_threads(encoder, (mtb_size){1, 1, 1}, (mtb_size){1, 1, 1}, &error));
    mtb_compute_encoder_release(encoder);
    run(command_buffer);
    int result;
    memcpy(&result, mtb_buffer_contents(values), sizeof result);
    mtb_buffer_release(values);
    mtb_pipeline_release(pipeline);
    return result;
}

static void kernels_call_dynamic_libraries(void) {
    if (!mtb_device_supports_dynamic_libraries(shared.device)) return;
    CHECK(result_with(make_dynamic(doubling, "/doubling"), NULL) == 40);
    CHECK(result_with(NULL, make_dynamic(adding, "/adding")) == 21);
    /* Preloaded libraries come first. */
    CHECK(result_with(make_dynamic(doubling, "/doubling"), make_dynamic(adding, "/adding")) == 21);
}

static void dynamic_libraries_come_back_from_files(void) {
    if (!mtb_device_supports_dynamic_libraries(shared.device)) return;
    char path[] = "/tmp/metal-bridge-test-XXXXXX";
    CHECK(mkstemp(path) >= 0);
    mtb_dynamic_library *library = make_dynamic(doubling, "@executable_path/doubling");
    CHECK_FAILS(mtb_dynamic_library_create_from_file(shared.device, path, &error), MTB_UNSUPPORTED, path);
    CHECK_OK(mtb_dynamic_library_serialize(library, path, &error));
    CHECK_FAILS(mtb_dynamic_library_serialize(library, "/no/such/folder", &error), MTB_UNSUPPORTED, "/no/such/folder");
    CHECK_FAILS(mtb_dynamic_library_serialize(library, NULL, &error), MTB_INVALID_ARGUMENT, "the path");
    CHECK_FAILS(mtb_dynamic_library_serialize(NULL, path, &error), MTB_INVALID_ARGUMENT, "`library`");
    mtb_dynamic_library_release(library);
    MAKE(library, mtb_dynamic_library_create_from_file(shared.device, path, &error));
    CHECK(strcmp(mtb_dynamic_library_install_name(library), "@executable_path/doubling") == 0);
    CHECK(remove(path) == 0);
    CHECK(result_with(library, NULL) == 40);
    CHECK_FAILS(mtb_dynamic_library_create_from_file(shared.device, path, &error), MTB_NOT_FOUND, path);
    CHECK_FAILS(mtb_dynamic_library_create_from_file(shared.device, NULL, &error), MTB_INVALID_ARGUMENT, "the path");
    CHECK_FAILS(mtb_dynamic_library_create_from_file(NULL, path, &error), MTB_INVALID_ARGUMENT, "`device`");
}

/* A library whose own library has no file where its install name says. */
static void lost_dependencies_are_not_found(void) {
    if (!mtb_device_supports_dynamic_libraries(shared.device)) return;
    char path[] = "/tmp/metal-bridge-test-XXXXXX";
    CHECK(mkstemp(path) >= 0);
    mtb_dynamic_library *base = make_dynamic(adding, "/no/such/library"), *above;
    const mtb_compile_options options = {
        .library_type = MTB_LIBRARY_DYNAMIC, .install_name = "/above", .libraries = &base, .library_count = 1};
    mtb_library *library = compile("int changed(int x); int above(int x) { return changed(x); }", &options);
    MAKE(above, mtb_dynamic_library_create(library, &error));
    CHECK_OK(mtb_dynamic_library_serialize(above, path, &error));
    CHECK_FAILS(mtb_dynamic_library_create_from_file(shared.device, path, &error), MTB_NOT_FOUND, "/no/such/library");
    CHECK(remove(path) == 0);
    mtb_library_release(library);
    mtb_dynamic_library_release(above);
    mtb_dynamic_library_release(base);
}

#define CHECK_OPTIONS(options, status, text)                                                                        \
    CHECK_FAILS(mtb_library_create_from_source(shared.device, doubling, strlen(doubling), options, &error), status, \
                text)

static void wrong_options_are_refused(void) {
    if (!mtb_device_supports_dynamic_libraries(shared.device)) return;
    mtb_compile_options options = {.library_type = MTB_LIBRARY_DYNAMIC};
    CHECK_OPTIONS(&options, MTB_INVALID_ARGUMENT, "install name of a dynamic library is NULL");
    options.install_name = "";
    CHECK_OPTIONS(&options, MTB_INVALID_ARGUMENT, "empty");
    options.install_name = "\xff";
    CHECK_OPTIONS(&options, MTB_INVALID_ARGUMENT, "UTF-8");
    options.install_name = "/name";
    options.library_type = (mtb_library_type)2;
    CHECK_OPTIONS(&options, MTB_INVALID_ARGUMENT, "unknown library type 2");
    options.library_type = MTB_LIBRARY_EXECUTABLE;
    CHECK_OPTIONS(&options, MTB_INVALID_ARGUMENT, "an executable library has no install name");
    options = (mtb_compile_options){.library_count = 1};
    CHECK_OPTIONS(&options, MTB_INVALID_ARGUMENT, "options->libraries");
    mtb_dynamic_library *library = NULL;
    options.libraries = &library;
    CHECK_OPTIONS(&options, MTB_INVALID_ARGUMENT, "options->libraries");

    mtb_library *executable = compile(kernel_source, NULL);
    mtb_function *function;
    MAKE(function, mtb_function_create(executable, "f", NULL, &error));
    mtb_pipeline_descriptor descriptor = {.function = function};
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_COMPILE_FAILED, "changed(int)");
    descriptor.preloaded_libraries = &library;
    descriptor.preloaded_library_count = 1;
    CHECK_FAILS(mtb_pipeline_create_with_descriptor(&descriptor, &error), MTB_INVALID_ARGUMENT, "preloaded_libraries");
    CHECK_FAILS(mtb_dynamic_library_create(executable, &error), MTB_INVALID_ARGUMENT, "the library is executable");
    CHECK_FAILS(mtb_dynamic_library_create(NULL, &error), MTB_INVALID_ARGUMENT, "library");
    library = make_dynamic(doubling, "/doubling");
    mtb_dynamic_library_release(mtb_dynamic_library_retain(library));
    if (mtb_device_count() > 1) {
        mtb_device *far;
        MAKE(far, mtb_device_create_at(1, &error));
        CHECK_FAILS(mtb_library_create_from_source(far, doubling, strlen(doubling), &options, &error), MTB_WRONG_DEVICE,
                    "dynamic library");
        mtb_device_release(far);
    }
    mtb_dynamic_library_release(library);
    mtb_function_release(function);
    mtb_library_release(executable);
    /* A dynamic library cannot have function constants. */
    static const char constant[] = "constant int c [[function_constant(0)]]; int changed(int x) { return x + c; }";
    options = (mtb_compile_options){.library_type = MTB_LIBRARY_DYNAMIC, .install_name = "/constant"};
    mtb_library *with_constant = compile(constant, &options);
    CHECK_FAILS(mtb_dynamic_library_create(with_constant, &error), MTB_COMPILE_FAILED, "constant");
    mtb_library_release(with_constant);
    CHECK(mtb_dynamic_library_install_name(NULL) == NULL);
}

const test dynamic_library_tests[] = {
    {"dynamic libraries: kernels call them", kernels_call_dynamic_libraries},
    {"dynamic libraries: they come back from files", dynamic_libraries_come_back_from_files},
    {"dynamic libraries: lost dependencies are not found", lost_dependencies_are_not_found},
    {"dynamic libraries: wrong options are refused", wrong_options_are_refused},
    {NULL, NULL},
};
